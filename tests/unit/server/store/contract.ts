import { afterEach, describe, expect, test } from 'vitest'
import { emptyTranscript, fold, merge } from '../../../../server/contract/fold'
import type { Append, Committed, Store } from '../../../../server/store/port'
import { Chat } from '../../../support/chat'

/** How the suite gets a store. `clock` is the store's; `open` again after `close` opens the same data. */
export interface Harness {
  open(): Promise<Store>
  /** Server's ms, for receipts. */
  clock: { now: number }
  dispose(): Promise<void>
}

const DAY = 24 * 3600 * 1000

/** What any implementation of the store's port must do (spec/log.md §2, §5, §7; DESIGN laws 1, 5, 6, 7). */
export function storeContract(name: string, make: () => Promise<Harness>): void {
  describe(`the store's port: ${name}`, { timeout: 20_000 }, () => {
    const harnesses: Harness[] = []
    afterEach(async () => {
      for (const harness of harnesses.splice(0)) await harness.dispose()
    })
    const fresh = async (): Promise<{ harness: Harness; store: Store }> => {
      const harness = await make()
      harnesses.push(harness)
      return { harness, store: await harness.open() }
    }
    const refused = (store: Store, append: Append, why: string) => expect(store.append(append)).rejects.toMatchObject({ name: 'StoreRefusal', why })

    describe('appending', () => {
      test('answers a rising revision over all sessions, tells the listener first, and survives reopening', async () => {
        const { harness, store } = await fresh()
        const told: Committed[] = []
        store.onCommit((batch) => told.push(...batch))
        const [a, b] = [new Chat('ses_a'), new Chat('ses_b')]
        let answered = 0
        for (const append of [a.created(), b.created(), a.admitted('trn_1', 'hello'), b.admitted('trn_1', 'hi')]) {
          const committed = await store.append(append)
          expect(told.at(-1)).toEqual(committed)
          expect(committed.rev).toBeGreaterThan(answered)
          answered = committed.rev
        }
        expect(await store.head()).toBe(answered)
        const before = await store.window('ses_a', { limit: 10 })
        await store.close()
        const again = await harness.open()
        expect(again.id).toBe(store.id)
        expect(await again.head()).toBe(answered)
        expect(await again.window('ses_a', { limit: 10 })).toEqual(before)
        await again.close()
      })

      test('joins what waits, in order, and drops a refused entry alone', async () => {
        const { store } = await fresh()
        const told: number[] = []
        store.onCommit((batch) => told.push(...batch.map(({ rev }) => rev)))
        const chats = ['ses_a', 'ses_b', 'ses_c'].map((id) => new Chat(id))
        const bad = new Chat('ses_b')
        const results = await Promise.allSettled([...chats.map((chat) => store.append(chat.created())), store.append(bad.created()), store.append(chats[0]!.admitted('trn_1', 'x'))])
        expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
        const revs = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.rev] : []))
        expect(told).toEqual(revs)
        expect(revs).toEqual([...revs].sort((x, y) => x - y))
        expect((await store.load('ses_a'))!.seq).toBe(3)
      })

      test('holds back growth until it is hastened or something urgent comes', async () => {
        const { store } = await fresh()
        const chat = new Chat('ses_a')
        for (const append of [chat.created(), chat.admitted('trn_1', 'x'), chat.opened('trn_1', 'row_1')]) await store.append(append)
        const grown = store.append(chat.grew('trn_1', 'row_1', 0, 'soon'))
        expect(store.stats().waiting).toBe(1)
        store.hasten()
        await grown
        expect((await store.window('ses_a', { limit: 1 }))!.rows[0]).toMatchObject({ id: 'row_1', text: 'soon' })
        const later = store.append(chat.grew('trn_1', 'row_1', 4, ' and later'))
        await Promise.all([store.append(new Chat('ses_b').created()), later])
        expect((await store.window('ses_a', { limit: 1 }))!.rows[0]!.text).toBe('soon and later')
      })

      test('refuses what does not follow on the sequence, and changes nothing by it', async () => {
        const { store } = await fresh()
        const chat = new Chat('ses_a')
        await store.append(chat.created())
        const before = await store.load('ses_a')
        const append = chat.admitted('trn_1', 'x')
        await refused(store, { ...append, expectSeq: 3, events: append.events.map((event) => ({ ...event, seq: event.seq + 1 })) }, 'sequence')
        await refused(store, { ...append, events: append.events.map((event) => ({ ...event, seq: event.seq + 1 })) }, 'sequence')
        await refused(store, { ...append, expectSeq: 1 }, 'sequence')
        expect(await store.load('ses_a')).toEqual(before)
        await store.append(append)
        await refused(store, append, 'sequence')
      })

      test('takes an append whole or not at all, and goes on from what stood', async () => {
        const { store } = await fresh()
        const chat = new Chat('ses_a')
        for (const append of [chat.created(), chat.admitted('trn_1', 'x'), chat.opened('trn_1', 'row_1', 'text')]) await store.append(append)
        const before = [await store.load('ses_a'), await store.window('ses_a', { limit: 9 }), await store.list({ profile: 'default', limit: 9 })]
        const run = chat.run('trn_1')
        const half = chat.append([
          { type: 'session.changed', title: 'Half' },
          { type: 'row.grew', row: 'row_1', run, at0: 4, text: ' more' },
          { type: 'row.closed', row: 'row_unknown', run, state: 'done', duration: 1 },
        ], { context: { add: [{ message: 'half', rows: ['row_1'], turn: 'trn_1' }] } })
        await refused(store, half, 'sequence')
        chat.undo(half)
        expect([await store.load('ses_a'), await store.window('ses_a', { limit: 9 }), await store.list({ profile: 'default', limit: 9 })]).toEqual(before)
        expect(await store.context('ses_a')).toEqual([])
        await store.append(chat.grew('trn_1', 'row_1', 4, ' and on', { urgency: 'now' }))
        expect((await store.window('ses_a', { limit: 1 }))!.rows[0]!.text).toBe('text and on')
        expect((await store.load('ses_a'))!.head.title).toBe('A chat')
      })

      test('knows sessions by their creation', async () => {
        const { store } = await fresh()
        const chat = new Chat('ses_a')
        const created = chat.created()
        await refused(store, chat.admitted('trn_1', 'x'), 'unknown_session')
        await store.append(created)
        await refused(store, created, 'exists')
        expect(await store.load('ses_other')).toBeNull()
        expect(await store.window('ses_other', { limit: 5 })).toBeNull()
        expect(await store.changes('ses_other', { after: '0', from: '', limit: 5 })).toBeNull()
      })
    })

    describe('runs', () => {
      const started = async (store: Store): Promise<Chat> => {
        const chat = new Chat('ses_a')
        await store.append(chat.created())
        await store.append(chat.admitted('trn_1', 'x'))
        return chat
      }

      test('fences late writes of an older generation and of a settled run', async () => {
        const { store } = await fresh()
        const chat = await started(store)
        await store.append(chat.opened('trn_1', 'row_1', 'text'))
        const late = chat.grew('trn_1', 'row_1', 4, ' late', { urgency: 'now' })
        await refused(store, { ...late, generation: 0 }, 'stale_generation')
        await refused(store, { ...late, generation: 2 }, 'stale_generation')
        chat.undo(late)
        await store.append(chat.closed('trn_1', 'row_1'))
        await store.append(chat.settled('trn_1'))
        const after = chat.opened('trn_1', 'row_2', 'too late')
        await refused(store, after, 'stale_generation')
        chat.undo(after)
        await store.append(chat.admitted('trn_2', 'next'))
        await refused(store, { ...after, expectSeq: chat.seq + 1, events: after.events.map((event) => ({ ...event, seq: chat.seq + 1 })), generation: 2 }, 'stale_generation')
        expect((await store.window('ses_a', { limit: 10 }))!.rows.map(({ text }) => text)).toEqual(['x', 'text', 'next'])
      })

      test('starts no second run while one is live', async () => {
        const { store } = await fresh()
        const chat = await started(store)
        await refused(store, chat.admitted('trn_2', 'y'), 'stale_generation')
      })

      test('does not settle a run while a row of it is live or a question of it is open', async () => {
        const { store } = await fresh()
        const chat = await started(store)
        await store.append(chat.opened('trn_1', 'row_1', 'text'))
        const early = chat.settled('trn_1')
        await refused(store, early, 'open_rows')
        chat.undo(early)
        await store.append(chat.closed('trn_1', 'row_1'))
        await store.append(chat.asked('trn_1', 'row_2', 'apr_1'))
        await store.append(chat.closed('trn_1', 'row_2'))
        const asking = chat.settled('trn_1')
        await refused(store, asking, 'open_rows')
        chat.undo(asking)
        const settle = chat.append([
          { type: 'approval.retired', approval: 'apr_1', row: 'row_2', run: chat.run('trn_1'), why: 'run_ended' },
          { type: 'run.settled', run: chat.run('trn_1'), turn: 'trn_1', outcome: 'cancelled', timings: { total: 1 } },
        ])
        await store.append(settle)
        expect(await store.unsettled()).toEqual([])
      })

      test('finds live runs and the place of a run without reading histories', async () => {
        const { store } = await fresh()
        const chat = await started(store)
        expect(await store.unsettled()).toEqual(['ses_a'])
        const found = (await store.run(chat.run('trn_1')))!
        expect(found).toMatchObject({ session: 'ses_a', startedSeq: 3, run: { state: 'running', attempt: 1 } })
        await store.append(chat.settled('trn_1', 'failed'))
        expect(await store.unsettled()).toEqual([])
        expect((await store.run(chat.run('trn_1')))!.run).toMatchObject({ state: 'settled', outcome: 'failed' })
        expect(await store.run('run_other')).toBeNull()
      })

      test('takes a new run of an earlier turn', async () => {
        const { harness, store } = await fresh()
        const chat = await started(store)
        await store.append(chat.settled('trn_1', 'failed'))
        await store.append(chat.admitted('trn_2', 'y'))
        await store.append(chat.settled('trn_2'))
        await store.close()
        const again = await harness.open()
        await again.append(chat.append([{ type: 'run.started', run: 'run_again', turn: 'trn_1', generation: 3, attempt: 2, cause: 'retried', agent: { kind: 'scripted', name: 'S' }, model: null }], { generation: 3 }))
        await again.append(chat.append([{ type: 'row.opened', row: 'row_again', ...chat.place(), turn: 'trn_1', run: 'run_again', kind: 'answer', text: 'now' }], { generation: 3 }))
        expect((await again.run('run_again'))!.run.attempt).toBe(2)
        expect((await again.window('ses_a', { limit: 1 }))!).toMatchObject({ rows: [{ id: 'row_again' }], turns: [{ id: 'trn_1', runs: [{}, { id: 'run_again' }] }] })
        await again.close()
      })

      test('hands an actor what it needs to go on', async () => {
        const { store } = await fresh()
        const chat = await started(store)
        await store.append(chat.opened('trn_1', 'row_1', 'one'))
        await store.append(chat.closed('trn_1', 'row_1'))
        await store.append(chat.settled('trn_1'))
        await store.append(chat.admitted('trn_2', 'y'))
        const state = (await store.load('ses_a'))!
        expect(state).toMatchObject({ deleted: false, seq: chat.seq, generation: 2, n: 3, head: { id: 'ses_a', count: 3 } })
        expect([...state.tail.rows.keys()]).toEqual(['row_trn_2'])
        expect(state.tail.from).toBe(state.pos)
        expect(fold(state.tail, chat.opened('trn_2', 'row_2', 'two').events).rows.get('row_2')!.text).toBe('two')
      })
    })

    describe('reading', () => {
      const long = async (store: Store): Promise<Chat> => {
        const chat = new Chat('ses_a')
        await store.append(chat.created())
        for (let i = 0; i < 5; i++) {
          await store.append(chat.admitted(`trn_${i}`, `question ${i}`))
          await store.append(chat.opened(`trn_${i}`, `row_${i}`, `answer ${i}`))
          await store.append(chat.closed(`trn_${i}`, `row_${i}`))
          await store.append(chat.settled(`trn_${i}`))
        }
        return chat
      }

      test('pages backwards through windows that know their turns and where they begin', async () => {
        const { store } = await fresh()
        const chat = await long(store)
        const texts: string[][] = []
        let before: string | undefined
        do {
          const window = (await store.window('ses_a', { limit: 3, ...(before === undefined ? {} : { before }) }))!
          texts.unshift(window.rows.map(({ text }) => text))
          expect(window).toMatchObject({ store: store.id, seq: chat.seq, cursor: String(await store.head()), retracted: [] })
          expect(new Set(window.turns.map(({ id }) => id))).toEqual(new Set(window.rows.map(({ turn }) => turn)))
          before = window.from
        } while (before !== '')
        expect(texts.flat()).toEqual(Array.from({ length: 5 }, (_, i) => [`question ${i}`, `answer ${i}`]).flat())
        expect(texts.map((rows) => rows.length)).toEqual([1, 3, 3, 3])
      })

      test('catches up from any cursor, and leaves out rows before the reader\'s part', async () => {
        const { store } = await fresh()
        const chat = await long(store)
        const part = emptyTranscript()
        const window = (await store.window('ses_a', { limit: 3 }))!
        merge(part, window, 'window')
        await store.append(chat.append([{ type: 'rows.retracted', rows: ['row_0', 'row_4'], turns: [], why: 'truncate', counted: 2 }]))
        await store.append(chat.append([{ type: 'session.changed', title: 'Renamed' }]))
        const changes = (await store.changes('ses_a', { after: window.cursor, from: window.from, limit: 60 }))!
        expect(new Set(changes.retracted)).toEqual(new Set(['row_0', 'row_4']))
        expect(changes.rows).toEqual([])
        merge(part, changes, 'after')
        expect([...part.rows.values()].map(({ text }) => text)).toEqual(['answer 3', 'question 4'])
        expect(part.session!.title).toBe('Renamed')
        const all = (await store.changes('ses_a', { after: '0', from: window.from, limit: 60 }))!
        expect(all.rows.map(({ id }) => id)).toEqual(['row_3', 'row_trn_4'])
      })

      test('gives out no cursor of which the listener has not been told', async () => {
        const { store } = await fresh()
        const chat = new Chat('ses_a')
        let told = 0
        store.onCommit((batch) => (told = batch.at(-1)!.rev))
        await store.append(chat.created())
        for (let i = 0; i < 100; i++) {
          const appended = store.append(chat.append([{ type: 'session.changed', title: `Title ${i}` }]))
          const ahead: number[] = []
          const look = (cursor: string) => Number(cursor) > told && ahead.push(Number(cursor))
          await Promise.all([appended, ...Array.from({ length: 5 }, async () => look((await store.window('ses_a', { limit: 1 }))!.cursor)), store.list({ profile: 'default', limit: 1 }).then(({ cursor }) => look(cursor))])
          expect(ahead).toEqual([])
        }
      })

      test('answers a cursor that it never gave out with a window', async () => {
        const { store } = await fresh()
        await long(store)
        for (const after of ['999999', 'abc', '-1', '']) {
          const changes = (await store.changes('ses_a', { after, from: '', limit: 4 }))!
          expect(changes.reset).toBe(true)
          expect(changes.rows).toHaveLength(4)
          expect((await store.list({ profile: 'default', limit: 5, after })).reset).toBe(true)
        }
      })

      test('replays the open session whole and of the others only their last entry', async () => {
        const { store } = await fresh()
        const chat = await long(store)
        const other = new Chat('ses_b')
        const foreign = new Chat('ses_c', 'work')
        const after = await store.head()
        for (const append of [other.created(), foreign.created(), chat.admitted('trn_9', 'again'), other.append([{ type: 'session.changed', title: 'Other' }])]) await store.append(append)
        const upTo = await store.head()
        const replay = (await store.since({ after, upTo, session: 'ses_a', profile: 'default', limit: 100 }))!
        expect(replay.map(({ session, events, entry }) => ({ session, events: events.length, title: entry?.title }))).toEqual([
          { session: 'ses_a', events: 2, title: 'A chat' },
          { session: 'ses_b', events: 0, title: 'Other' },
        ])
        expect(replay.map(({ rev }) => rev)).toEqual([upTo - 1, upTo])
        expect(await store.since({ after: upTo + 1, upTo: upTo + 2, profile: 'default', limit: 100 })).toBeNull()
        // In pages: a full one says that more may follow.
        const paged: Committed[] = []
        for (let from = 0, page: Committed[]; (page = (await store.since({ after: from, upTo, session: 'ses_a', profile: 'default', limit: 3 }))!).length > 0; from = page.at(-1)!.rev) paged.push(...page)
        expect(paged).toEqual(await store.since({ after: 0, upTo, session: 'ses_a', profile: 'default', limit: 100 }))
        expect(paged.flatMap(({ events }) => events)).toEqual(await store.events('ses_a', { afterSeq: 0, limit: 1000 }))
        expect(await store.events('ses_a', { afterSeq: 3, limit: 2 })).toMatchObject([{ seq: 4 }, { seq: 5 }])
      })
    })

    test('replays the events of one revision together, however many', async () => {
      const { store } = await fresh()
      const chat = new Chat('ses_a')
      await store.append(chat.created())
      const many = await store.append(chat.append(Array.from({ length: 450 }, (_, i) => ({ type: 'session.changed', title: `Title ${i}` }))))
      await store.append(chat.append([{ type: 'session.changed', title: 'Last' }]))
      const page = (await store.since({ after: 1, upTo: await store.head(), session: 'ses_a', profile: 'default', limit: 1 }))!
      expect(page.map(({ rev, events }) => [rev, events.length])).toEqual([[many.rev, 450]])
      const upTo = (await store.since({ after: 0, upTo: many.rev, session: 'ses_a', profile: 'default', limit: 9 }))!
      expect(upTo.map(({ events }) => events.length)).toEqual([1, 450])
    })

    describe('the chat list', () => {
      test('pages from the newest on, per profile, without a gap where clocks tie', async () => {
        const { store } = await fresh()
        const mine = Array.from({ length: 7 }, (_, i) => new Chat(`ses_${i}`))
        for (const [i, chat] of mine.entries()) await store.append(chat.created({ at: 1000 + Math.floor(i / 3) }))
        await store.append(new Chat('ses_work', 'work').created())
        const ids: string[] = []
        for (let before: string | undefined; ; ) {
          const page = await store.list({ profile: 'default', limit: 2, ...(before === undefined ? {} : { before }) })
          ids.push(...page.entries.map(({ id }) => id))
          before = page.entries.at(-1)?.id
          if (!page.more) break
        }
        expect(ids).toEqual(['ses_6', 'ses_5', 'ses_4', 'ses_3', 'ses_2', 'ses_1', 'ses_0'])
        expect((await store.list({ profile: 'work', limit: 10 })).entries.map(({ id }) => id)).toEqual(['ses_work'])
      })

      test('moves an entry only when a field of it changed', async () => {
        const { store } = await fresh()
        const chat = new Chat('ses_a')
        await store.append(chat.created())
        const admitted = await store.append(chat.admitted('trn_1', 'x'))
        expect(admitted.entry).toMatchObject({ id: 'ses_a', rev: admitted.rev, state: 'working', count: 1 })
        await store.append(chat.opened('trn_1', 'row_1'))
        const cursor = String(await store.head())
        const grown = await store.append(chat.grew('trn_1', 'row_1', 0, 'words', { urgency: 'now' }))
        expect(grown).not.toHaveProperty('entry')
        expect((await store.list({ profile: 'default', limit: 5, after: cursor })).entries).toEqual([])
        await store.append(chat.append([{ type: 'session.changed', title: 'A chat' }]))
        expect((await store.list({ profile: 'default', limit: 5, after: cursor })).entries).toEqual([])
        await store.append(chat.append([{ type: 'session.changed', title: 'Another' }]))
        expect((await store.list({ profile: 'default', limit: 5, after: cursor })).entries).toMatchObject([{ title: 'Another', rev: await store.head() }])
      })

      test('catches up in pages, with tombstones', async () => {
        const { store } = await fresh()
        const chats = Array.from({ length: 5 }, (_, i) => new Chat(`ses_${i}`))
        for (const chat of chats) await store.append(chat.created())
        await store.append(chats[1]!.append([{ type: 'session.deleted' }]))
        const entries: string[] = []
        const removed: string[] = []
        for (let after = '0'; ; ) {
          const page = await store.list({ profile: 'default', limit: 2, after })
          entries.push(...page.entries.map(({ id }) => id))
          removed.push(...page.removed)
          after = page.cursor
          if (!page.more) break
        }
        expect(entries).toEqual(['ses_0', 'ses_2', 'ses_3', 'ses_4'])
        expect(removed).toEqual(['ses_1'])
      })
    })

    describe('leaving', () => {
      test('a deleted session leaves a tombstone and nothing that was said', async () => {
        const { harness, store } = await fresh()
        const chat = new Chat('ses_a')
        await store.append(chat.created())
        await store.append(chat.admitted('trn_1', 'a secret', { receipt: { profile: 'default', route: 'start', key: 'k', bodyHash: 'h', status: 200, body: { title: 'secret' } }, context: { add: [{ message: 'secret', rows: ['row_trn_1'], turn: 'trn_1' }] } }))
        await store.append(chat.settled('trn_1'))
        const deleted = await store.append(chat.append([{ type: 'session.deleted' }]))
        expect(deleted.removed).toBe(true)
        expect(await store.window('ses_a', { limit: 5 })).toBeNull()
        expect(await store.changes('ses_a', { after: '0', from: '', limit: 5 })).toBeNull()
        expect(await store.load('ses_a')).toMatchObject({ deleted: true, head: { id: 'ses_a', profile: 'default' }, seq: chat.seq })
        expect(await store.context('ses_a')).toEqual([])
        expect(await store.run(chat.run('trn_1'))).toBeNull()
        expect(JSON.stringify([await store.events('ses_a', { afterSeq: 0, limit: 99 }), await store.since({ after: 0, upTo: await store.head(), session: 'ses_a', profile: 'default', limit: 99 })])).not.toContain('secret')
        expect((await store.list({ profile: 'default', limit: 5 })).entries).toEqual([])
        const next = chat.created()
        await refused(store, { ...next, expectSeq: 1 }, 'deleted')
        await refused(store, next, 'deleted')
        await store.close()
        const again = await harness.open()
        expect(await again.load('ses_a')).toMatchObject({ deleted: true })
        await again.close()
      })

      test('retracted rows take their context with them, and a turn of which nothing is left', async () => {
        const { store } = await fresh()
        const chat = new Chat('ses_a')
        const item = (message: string, rows: string[], turn: string) => ({ message, rows, turn })
        await store.append(chat.created())
        await store.append(chat.admitted('trn_1', 'first', { context: { add: [item('system', [], 'trn_1'), item('first', ['row_trn_1'], 'trn_1')] } }))
        await store.append(chat.settled('trn_1'))
        await store.append(chat.admitted('trn_2', 'second', { context: { add: [item('second', ['row_trn_2'], 'trn_2')] } }))
        await store.append({ ...chat.opened('trn_2', 'row_2', 'answer'), context: { add: [item('both', ['row_trn_2', 'row_2'], 'trn_2')] } })
        await store.append(chat.closed('trn_2', 'row_2'))
        await store.append(chat.settled('trn_2'))
        await store.append(chat.append([{ type: 'rows.retracted', rows: ['row_trn_2'], turns: [], why: 'edit', counted: 1 }]))
        expect((await store.context('ses_a')).map(({ message }) => message)).toEqual(['system', 'first', 'both'])
        await store.append(chat.append([{ type: 'rows.retracted', rows: ['row_2'], turns: ['trn_2'], why: 'edit', counted: 1 }]))
        expect((await store.context('ses_a')).map(({ message }) => message)).toEqual(['system', 'first'])
        await store.append({ ...chat.append([{ type: 'session.changed', title: 'Later' }]), context: { add: [item('too late', ['row_2'], 'trn_2')] } })
        expect((await store.context('ses_a')).map(({ message }) => message)).toEqual(['system', 'first'])
        const state = (await store.load('ses_a'))!
        expect([...state.tail.turns.keys()]).toEqual(['trn_1'])
        expect((await store.list({ profile: 'default', limit: 1 })).entries[0]).toMatchObject({ count: 1, outcome: 'completed' })
        const place = chat.place()
        expect(place.n).toBe(state.n + 1)
        expect(place.pos > state.pos).toBe(true)
      })
    })

    describe('receipts', () => {
      const receipt = (bodyHash: string, key = 'key_1', route = 'chat/start') => ({ profile: 'default', route, key, bodyHash, status: 200, body: { run: 'run_1' } })

      test('stand with the append that writes them, and decide a race between two', async () => {
        const { store } = await fresh()
        const [a, b] = [new Chat('ses_a'), new Chat('ses_b')]
        await store.append(a.created())
        await store.append(b.created())
        const first = store.append(a.admitted('trn_1', 'x', { receipt: receipt('hash') }))
        const second = store.append(b.admitted('trn_1', 'x', { receipt: receipt('hash') }))
        await first
        await expect(second).rejects.toMatchObject({ why: 'key_reused', receipt: { bodyHash: 'hash', status: 200, body: { run: 'run_1' } } })
        await expect(store.append({ ...a.settled('trn_1'), receipt: receipt('other hash') })).rejects.toMatchObject({ why: 'key_reused', receipt: { bodyHash: 'hash' } })
        expect(await store.receipt({ profile: 'default', route: 'chat/start', key: 'key_1' })).toEqual({ bodyHash: 'hash', status: 200, body: { run: 'run_1' } })
        for (const scope of [{ profile: 'work', route: 'chat/start', key: 'key_1' }, { profile: 'default', route: 'other', key: 'key_1' }, { profile: 'default', route: 'chat/start', key: 'key_2' }]) expect(await store.receipt(scope)).toBeNull()
        expect((await store.load('ses_b'))!.seq).toBe(1)
      })

      test('of a refused entry are not kept', async () => {
        const { store } = await fresh()
        await refused(store, { ...new Chat('ses_none').admitted('trn_1', 'x'), receipt: receipt('hash') }, 'unknown_session')
        expect(await store.receipt({ profile: 'default', route: 'chat/start', key: 'key_1' })).toBeNull()
      })

      test('answer for thirty days', async () => {
        const { harness, store } = await fresh()
        const chat = new Chat('ses_a')
        await store.append(chat.created({ receipt: receipt('hash') }))
        harness.clock.now += 29 * DAY
        expect(await store.receipt(receipt(''))).not.toBeNull()
        harness.clock.now += 2 * DAY
        expect(await store.receipt(receipt(''))).toBeNull()
        await store.append(chat.admitted('trn_1', 'x', { receipt: receipt('another') }))
        expect(await store.receipt(receipt(''))).toMatchObject({ bodyHash: 'another' })
      })
    })

    test('text comes back unit by unit, also half a character and a NUL', async () => {
      const { store } = await fresh()
      const chat = new Chat('ses_a')
      const odd = ['\ud83d', '\ude00 \u0000 ', '\ufeff"\\\u2028', '雪']
      await store.append(chat.created())
      await store.append(chat.admitted('trn_1', odd.join('')))
      await store.append(chat.opened('trn_1', 'row_1'))
      let length = 0
      for (const text of odd) {
        await store.append(chat.grew('trn_1', 'row_1', length, text, { urgency: 'now' }))
        length += text.length
        expect((await store.window('ses_a', { limit: 1 }))!.rows[0]!.text).toBe(odd.join('').slice(0, length))
      }
      await store.append(chat.closed('trn_1', 'row_1'))
      expect((await store.window('ses_a', { limit: 2 }))!.rows.map(({ text }) => text)).toEqual([odd.join(''), odd.join('')])
    })

    test('remembers the processes of tools across a restart', async () => {
      const { harness, store } = await fresh()
      const process = { pid: 4711, startTime: '123456', bootId: 'boot', session: 'ses_a', run: 'run_1' }
      await store.noteProcess(process)
      await store.noteProcess({ ...process, pid: 4712 })
      await store.forgetProcess(4712)
      await store.close()
      const again = await harness.open()
      expect(await again.processes()).toEqual([process])
      await again.close()
    })

    test('commits what waits when it closes, and takes nothing more', async () => {
      const { harness, store } = await fresh()
      const chat = new Chat('ses_a')
      const waiting = store.append({ ...chat.created(), urgency: 'soon' })
      await store.close()
      await expect(waiting).resolves.toMatchObject({ session: 'ses_a' })
      await expect(store.append(new Chat('ses_b').created())).rejects.toMatchObject({ name: 'StoreFault', kind: 'closed' })
      await expect(store.load('ses_a')).rejects.toMatchObject({ kind: 'closed' })
      const again = await harness.open()
      expect((await again.load('ses_a'))!.seq).toBe(1)
      expect(await again.check()).toMatchObject({ ok: true })
      await again.close()
    })
  })
}
