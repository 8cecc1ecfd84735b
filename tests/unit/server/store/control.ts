import { afterEach, describe, expect, test } from 'vitest'
import type { Draft } from '../../../../server/contract/events'
import { emptyTranscript, fold, merge } from '../../../../server/contract/fold'
import type { Transcript } from '../../../../server/contract/session'
import type { Committed, Store } from '../../../../server/store/port'
import { Chat } from '../../../support/chat'
import type { Harness } from './contract'

/** What any implementation of the store's port must do for the queue, for questions, read marks and a log that is pruned. */
export function controlContract(name: string, make: () => Promise<Harness>): void {
  describe(`the store's port, control: ${name}`, { timeout: 20_000 }, () => {
    const harnesses: Harness[] = []
    afterEach(async () => {
      for (const harness of harnesses.splice(0)) await harness.dispose()
    })
    const fresh = async (): Promise<{ harness: Harness; store: Store; chat: Chat }> => {
      const harness = await make()
      harnesses.push(harness)
      const store = await harness.open()
      const chat = new Chat('ses_a')
      await store.append(chat.created())
      return { harness, store, chat }
    }
    const items = async (store: Store) => (await store.window('ses_a', { limit: 1 }))!.queue!.items.map(({ id, text }) => `${id} ${text}`)

    describe('the queue', () => {
      const added = (item: string, text: string, before?: string): Draft => ({ type: 'queue.added', item, text, by: 'person', ...(before && { before }) })

      test('keeps order and words through every verb and a reopening, and is in what an actor is handed', async () => {
        const { harness, store, chat } = await fresh()
        await store.append(chat.append([added('que_1', 'one'), added('que_2', 'two \u0000 \ud83d'), added('que_3', 'three')]))
        await store.append(chat.append([{ type: 'queue.moved', item: 'que_3', before: 'que_1', send: true }]))
        await store.append(chat.append([{ type: 'queue.changed', item: 'que_1', text: 'one, changed' }, added('que_4', 'four', 'que_2')]))
        await store.append(chat.append([{ type: 'queue.combined', items: ['que_1', 'que_4'], text: 'one and four' }]))
        expect(await items(store)).toEqual(['que_3 three', 'que_1 one and four', 'que_2 two \u0000 \ud83d'])
        await store.append(chat.append([{ type: 'queue.removed', items: ['que_1'] }]))
        const { queue } = (await store.load('ses_a'))!.tail
        expect(queue).toMatchObject({ seq: chat.seq, items: [{ id: 'que_3', send: true, by: 'person', addedAt: 1000 }, { id: 'que_2', text: 'two \u0000 \ud83d' }] })
        await store.close()
        const again = await harness.open()
        expect((await again.load('ses_a'))!.tail.queue).toEqual(queue)
        await again.append(chat.append([added('que_5', 'first of all', 'que_3')]))
        expect(await items(again)).toEqual(['que_5 first of all', 'que_3 three', 'que_2 two \u0000 \ud83d'])
        expect((await again.list({ profile: 'default', limit: 1 })).entries).toMatchObject([{ queued: 3 }])
      })

      test('travels whole when any of it changed after the cursor, else not at all', async () => {
        const { store, chat } = await fresh()
        const reader = emptyTranscript()
        merge(reader, (await store.window('ses_a', { limit: 5 }))!, 'window')
        const cursors = [await store.head()]
        for (const drafts of [[added('que_1', 'one')], [added('que_2', 'two')], [{ type: 'session.changed', title: 'New' }], [{ type: 'queue.removed', items: ['que_1', 'que_2'] }]] satisfies Draft[][]) {
          await store.append(chat.append(drafts))
          cursors.push(await store.head())
          const [before, now] = cursors.slice(-2).map(String) as [string, string]
          const changes = (await store.changes('ses_a', { after: before, from: '', limit: 5 }))!
          expect('queue' in changes).toBe(drafts[0]!.type.startsWith('queue'))
          expect(await store.changes('ses_a', { after: now, from: '', limit: 5 })).not.toHaveProperty('queue')
          merge(reader, changes, 'after')
          expect(reader.queue).toEqual((await store.load('ses_a'))!.tail.queue)
        }
        expect(reader.queue.items).toEqual([])
        for (const cursor of cursors.slice(0, 4)) expect((await store.changes('ses_a', { after: String(cursor), from: '', limit: 5 }))!.queue).toEqual({ items: [], seq: chat.seq })
      })

      test('gives an item to its turn in one append, and says which sessions wait', async () => {
        const { store, chat } = await fresh()
        const other = new Chat('ses_b')
        await store.append(other.created())
        expect(await store.queued()).toEqual([])
        await store.append(chat.append([added('que_1', 'one')]))
        await store.append(other.append([added('que_9', 'nine')]))
        expect(await store.queued()).toEqual(['ses_a', 'ses_b'])
        await store.append(chat.append([
          { type: 'queue.taken', item: 'que_1', turn: 'trn_1' },
          { type: 'turn.admitted', turn: 'trn_1', key: 'que_1', row: 'row_1', ...chat.place(), text: 'one', source: 'queue' },
          { type: 'run.started', run: 'run_1', turn: 'trn_1', generation: 1, attempt: 1, cause: 'sent', agent: { kind: 'scripted', name: 'S' }, model: null },
        ], { generation: 1 }))
        expect(await store.queued()).toEqual(['ses_b'])
        expect(await store.window('ses_a', { limit: 5 })).toMatchObject({ queue: { items: [] }, rows: [{ text: 'one', source: 'queue' }] })
        await store.append(other.append([{ type: 'session.deleted' }]))
        expect(await store.queued()).toEqual([])
        expect((await store.load('ses_b'))!.tail.queue).toEqual({ items: [], seq: 0 })
      })

      test('refuses an append that names an item which does not wait, and keeps what waits', async () => {
        const { store, chat } = await fresh()
        await store.append(chat.append([added('que_1', 'one')]))
        const bad = chat.append([{ type: 'queue.removed', items: ['que_1'] }, { type: 'queue.changed', item: 'que_1', text: 'too late' }])
        await expect(store.append(bad)).rejects.toMatchObject({ why: 'sequence' })
        chat.undo(bad)
        expect(await items(store)).toEqual(['que_1 one'])
        await store.append(chat.append([added('que_2', 'two')]))
        expect(await items(store)).toEqual(['que_1 one', 'que_2 two'])
      })
    })

    describe('read marks', () => {
      test('move the entry and nothing else, and reach the feed as an entry without events', async () => {
        const { harness, store, chat } = await fresh()
        const told: Committed[] = []
        store.onCommit((batch) => told.push(...batch))
        await store.append(chat.admitted('trn_1', 'x'))
        await store.append(chat.settled('trn_1'))
        const before = await store.head()
        const window = await store.window('ses_a', { limit: 5 })
        expect(await store.markRead('ses_a', chat.seq)).toBe(true)
        expect(told.at(-1)).toMatchObject({ rev: before + 1, session: 'ses_a', profile: 'default', events: [], entry: { rev: before + 1, read: chat.seq, settled: chat.seq } })
        expect(await store.head()).toBe(before + 1)
        expect(await store.window('ses_a', { limit: 5 })).toEqual({ ...window, cursor: String(before + 1) })
        for (const session of ['ses_a', undefined]) {
          expect(await store.since({ after: before, upTo: before + 1, ...(session && { session }), profile: 'default', limit: 9 })).toEqual([told.at(-1)])
        }
        expect((await store.list({ profile: 'default', limit: 9, after: String(before) })).entries).toEqual([told.at(-1)!.entry])
        await store.append(chat.append([{ type: 'session.changed', title: 'Later' }]))
        expect(told.at(-1)!.entry).toMatchObject({ title: 'Later', read: chat.seq - 1 })
        await store.append(chat.append([{ type: 'session.changed', title: 'Later' }]))
        expect(told.at(-1)).not.toHaveProperty('entry')
        await store.close()
        const again = await harness.open()
        expect((await again.list({ profile: 'default', limit: 9 })).entries).toMatchObject([{ title: 'Later', read: chat.seq - 2 }])
        const renamed = await again.append(chat.append([{ type: 'session.changed', title: 'Last' }]))
        expect(renamed.entry).toMatchObject({ read: chat.seq - 3 })
        await again.close()
      })

      test('never go back or beyond the end, and are refused for what is not there', async () => {
        const { store, chat } = await fresh()
        expect(await store.markRead('ses_a', 1000)).toBe(true)
        const head = await store.head()
        for (const seq of [1, 0, 1000]) expect(await store.markRead('ses_a', seq)).toBe(true)
        expect(await store.head()).toBe(head)
        expect((await store.list({ profile: 'default', limit: 9 })).entries).toMatchObject([{ read: 1, rev: head }])
        expect(await store.markRead('ses_other', 1)).toBe(false)
        await store.append(chat.append([{ type: 'session.deleted' }]))
        expect(await store.markRead('ses_a', 2)).toBe(false)
        expect(await store.list({ profile: 'default', limit: 9, after: '0' })).toMatchObject({ entries: [], removed: ['ses_a'] })
      })

      test('take their place among appends: one order of revisions, whatever waits together', async () => {
        const { store, chat } = await fresh()
        const revs: number[] = []
        store.onCommit((batch) => revs.push(...batch.map(({ rev }) => rev)))
        await Promise.all([
          store.append(chat.admitted('trn_1', 'x')), store.markRead('ses_a', 99), store.append(chat.settled('trn_1')), store.markRead('ses_a', 99), store.markRead('ses_a', 99),
          store.append(chat.append([{ type: 'session.changed', title: 'T' }])),
        ])
        expect(revs).toEqual([2, 3, 4, 5, 6])
        expect((await store.list({ profile: 'default', limit: 9 })).entries).toMatchObject([{ rev: 6, read: 4, settled: 4 }])
      })
    })

    describe('questions', () => {
      const asking = async () => {
        const made = await fresh()
        await made.store.append(made.chat.admitted('trn_1', 'x'))
        return { ...made, run: made.chat.run('trn_1') }
      }
      const question = (chat: Chat, run: string, row: string): Draft => ({ type: 'row.opened', row, ...chat.place(), turn: 'trn_1', run, kind: 'question' })

      test('keep a value of the agent beside them as long as they are open, in no answer of the store but the actor\'s', async () => {
        const { harness, store, chat, run } = await asking()
        const ids = ['apr_1', 'apr_2', 'clr_1', 'sec_1', 'clr_2']
        const raised: Draft[] = [
          question(chat, run, 'row_1'), { type: 'approval.raised', approval: 'apr_1', row: 'row_1', run, request: { action: 'A', tool: 't', choices: [{ id: 'y', kind: 'once' }] } },
          question(chat, run, 'row_2'), { type: 'approval.raised', approval: 'apr_2', row: 'row_2', run, request: { action: 'B', tool: 't', choices: [{ id: 'y', kind: 'once' }] } },
          question(chat, run, 'row_3'), { type: 'clarify.raised', clarify: 'clr_1', row: 'row_3', run, request: { question: 'Which?', choices: [], free: true } },
          question(chat, run, 'row_4'), { type: 'secret.raised', secret: 'sec_1', row: 'row_4', run, request: { kind: 'sudo', prompt: 'Password' } },
          question(chat, run, 'row_5'), { type: 'clarify.raised', clarify: 'clr_2', row: 'row_5', run, request: { question: 'Why?', choices: [], free: true } },
        ]
        await store.append(chat.append(raised, { beside: ids.map((id) => ({ id, foreign: `foreign \u0000 of ${id}` })) }))
        const kept = async (from: Store) => (await from.load('ses_a'))!.beside.map(({ id }) => id).sort()
        expect((await store.load('ses_a'))!.beside).toContainEqual({ id: 'clr_1', foreign: 'foreign \u0000 of clr_1' })
        expect(await kept(store)).toEqual([...ids].sort())
        const seen = [await store.window('ses_a', { limit: 9 }), await store.changes('ses_a', { after: '0', from: '', limit: 9 }), await store.list({ profile: 'default', limit: 9 }), await store.events('ses_a', { afterSeq: 0, limit: 99 }), await store.since({ after: 0, upTo: await store.head(), session: 'ses_a', profile: 'default', limit: 9 })]
        expect(JSON.stringify(seen)).not.toContain('foreign')
        await store.append(chat.append([{ type: 'approval.decided', approval: 'apr_1', row: 'row_1', run, choice: 'y', kind: 'once', by: 'person' }, { type: 'secret.answered', secret: 'sec_1', row: 'row_4', run, given: true }]))
        expect(await kept(store)).toEqual(['apr_2', 'clr_1', 'clr_2'])
        await store.close()
        const again = await harness.open()
        await again.append(chat.append([
          { type: 'clarify.retired', clarify: 'clr_1', row: 'row_3', run, why: 'expired' }, { type: 'clarify.raised', clarify: 'clr_3', row: 'row_3', run, request: { question: 'Which?', choices: [], free: true } },
        ], { beside: [{ id: 'clr_3', foreign: 'again' }] }))
        expect(await kept(again)).toEqual(['apr_2', 'clr_2', 'clr_3'])
        await again.append(chat.append([
          { type: 'approval.retired', approval: 'apr_2', row: 'row_2', run, why: 'run_ended' }, { type: 'clarify.retired', clarify: 'clr_2', row: 'row_5', run, why: 'run_ended' },
          { type: 'clarify.retired', clarify: 'clr_3', row: 'row_3', run, why: 'run_ended' }, ...[1, 2, 3, 4, 5].map((n): Draft => ({ type: 'row.closed', row: `row_${n}`, run, state: 'cancelled', duration: 1 })),
          { type: 'run.settled', run, turn: 'trn_1', outcome: 'interrupted', timings: { total: 1 } },
        ]))
        expect(await kept(again)).toEqual([])
        await again.close()
      })

      test('that were never raised leave no value behind once the run is over', async () => {
        const { store, chat } = await asking()
        await store.append({ ...chat.opened('trn_1', 'row_1'), beside: [{ id: 'apr_never', foreign: 'value' }] })
        await store.append(chat.closed('trn_1', 'row_1'))
        await store.append(chat.settled('trn_1'))
        expect((await store.load('ses_a'))!.beside).toEqual([])
      })

      test.each([
        ['clarifying question', { type: 'clarify.raised', clarify: 'q', row: 'row_1', run: 'run_ses_a_trn_1', request: { question: 'Which?', choices: ['a'], free: false } }, { type: 'clarify.answered', clarify: 'q', row: 'row_1', run: 'run_ses_a_trn_1', answer: 'a' }],
        ['secret', { type: 'secret.raised', secret: 'q', row: 'row_1', run: 'run_ses_a_trn_1', request: { kind: 'secret', prompt: 'Key', env: 'KEY' } }, { type: 'secret.retired', secret: 'q', row: 'row_1', run: 'run_ses_a_trn_1', why: 'expired' }],
      ] satisfies [string, Draft, Draft][])('an open %s keeps its run from settling, whatever became of its row', async (_, raised, over) => {
        const { store, chat, run } = await asking()
        await store.append(chat.append([question(chat, run, 'row_1'), raised]))
        expect((await store.list({ profile: 'default', limit: 1 })).entries).toMatchObject([{ questions: 1, state: 'asking' }])
        await store.append(chat.closed('trn_1', 'row_1'))
        const early = chat.settled('trn_1')
        await expect(store.append(early)).rejects.toMatchObject({ why: 'open_rows' })
        chat.undo(early)
        await store.append(chat.append([over]))
        await store.append(chat.settled('trn_1'))
        expect((await store.list({ profile: 'default', limit: 1 })).entries).toMatchObject([{ questions: 0, state: 'idle' }])
      })
    })

    test('a run that takes up after a restart opens closed rows again, of any turn, also in a store that was opened anew, and they grow on', async () => {
      const { harness, store, chat } = await fresh()
      await store.append(chat.admitted('trn_1', 'x'))
      await store.append(chat.opened('trn_1', 'row_1', 'The end '))
      await store.append(chat.closed('trn_1', 'row_1'))
      await store.append(chat.settled('trn_1', 'interrupted'))
      await store.close()
      const again = await harness.open()
      const again1: Draft = { type: 'run.started', run: 'run_2', turn: 'trn_1', generation: 2, attempt: 2, cause: 'reattached', agent: { kind: 'scripted', name: 'S' }, model: null, reopens: ['row_1'] }
      await expect(again.append({ ...chat.append([{ ...again1, reopens: ['row_other'] }], { generation: 2 }) })).rejects.toMatchObject({ why: 'sequence' })
      chat.seq--
      await again.append(chat.append([again1, { type: 'row.grew', row: 'row_1', run: 'run_2', at0: 8, text: 'and ' }], { generation: 2 }))
      await again.append(chat.append([{ type: 'row.grew', row: 'row_1', run: 'run_2', at0: 12, text: 'on' }], { generation: 2 }))
      const early = chat.append([{ type: 'run.settled', run: 'run_2', turn: 'trn_1', outcome: 'completed', timings: { total: 1 } }], { generation: 2 })
      await expect(again.append(early)).rejects.toMatchObject({ why: 'open_rows' })
      chat.undo(early)
      expect((await again.window('ses_a', { limit: 1 }))!.rows).toMatchObject([{ id: 'row_1', state: 'live', run: 'run_2', text: 'The end and on' }])
      await again.append(chat.append([{ type: 'row.cut', row: 'row_1', run: 'run_2', keep: 8, why: 'superseded' }, { type: 'row.grew', row: 'row_1', run: 'run_2', at0: 8, text: 'anew' }], { generation: 2 }))
      await again.append(chat.append([{ type: 'row.closed', row: 'row_1', run: 'run_2', state: 'done', duration: 9 }, { type: 'run.settled', run: 'run_2', turn: 'trn_1', outcome: 'completed', timings: { total: 1 } }], { generation: 2 }))
      expect((await again.window('ses_a', { limit: 1 }))!.rows).toMatchObject([{ state: 'done', text: 'The end anew' }])
      expect(fold(emptyTranscript(), await again.events('ses_a', { afterSeq: 0, limit: 99 })).rows).toEqual((await again.load('ses_a'))!.tail.rows)
      await again.close()
    })

    describe('pruning', () => {
      /** Three turns; run i settles at i × 1000. */
      const three = async () => {
        const made = await fresh()
        const { store, chat } = made
        const seen: { rev: number; value: Transcript }[] = []
        const note = async () => seen.push({ rev: await store.head(), value: fold(emptyTranscript(), await store.events('ses_a', { afterSeq: 0, limit: 999 })) })
        for (const i of [1, 2, 3]) {
          const [turn, row] = [`trn_${i}`, `row_${i}`]
          await store.append(chat.admitted(turn, `question ${i}`, { at: i * 1000 - 10 }))
          await store.append(chat.opened(turn, row, 'answer '))
          await note()
          for (const text of ['one ', 'two ', 'three']) await store.append(chat.grew(turn, row, 7 + { 'one ': 0, 'two ': 4, three: 8 }[text]!, text, { urgency: 'now' }))
          await store.append(chat.append([{ type: 'usage.reported', run: chat.run(turn), turn, usage: { input: i } }]))
          await store.append(chat.append([
            { type: 'row.closed', row, run: chat.run(turn), state: 'done', duration: 5 },
            { type: 'run.settled', run: chat.run(turn), turn, outcome: 'completed', timings: { total: 1 } },
          ], { at: i * 1000 }))
          await note()
        }
        return { ...made, seen }
      }
      const types = async (store: Store) => (await store.events('ses_a', { afterSeq: 0, limit: 999 })).map(({ type }) => type)

      test('takes the row events of runs that settled long ago, and no other; nothing that is read changes', async () => {
        const { harness, store, seen } = await three()
        const read = async (from: Store) => [await from.window('ses_a', { limit: 99 }), await from.load('ses_a'), await from.list({ profile: 'default', limit: 9 }), await Promise.all(seen.map(({ rev }) => from.changes('ses_a', { after: String(rev), from: '', limit: 9 })))]
        const before = await read(store)
        expect(await store.prune({ settledBefore: 1000, limit: 100 })).toBe(0)
        expect(await store.prune({ settledBefore: 2001, limit: 100 })).toBe(10)
        expect(await store.prune({ settledBefore: 2001, limit: 100 })).toBe(0)
        const kept = ['turn.admitted', 'run.started', 'usage.reported', 'run.settled']
        const whole = ['turn.admitted', 'run.started', 'row.opened', 'row.grew', 'row.grew', 'row.grew', 'usage.reported', 'row.closed', 'run.settled']
        expect(await types(store)).toEqual(['session.created', ...kept, ...kept, ...whole])
        expect(await read(store)).toEqual(before)
        expect(await store.check()).toMatchObject({ ok: true })
        await store.close()
        const again = await harness.open()
        expect(await read(again)).toEqual(before)
        expect(await again.prune({ settledBefore: Infinity, limit: 100 })).toBe(5)
        expect(await read(again)).toEqual(before)
        await again.close()
      })

      test('answers a cursor behind which something is gone with null, a later one with all that came since', async () => {
        const { store, chat, seen } = await three()
        await store.prune({ settledBefore: 1001, limit: 100 })
        const head = await store.head()
        for (const { rev, value } of seen) {
          const replayed = await store.since({ after: rev, upTo: head, session: 'ses_a', profile: 'default', limit: 99 })
          expect(replayed === null).toBe(rev < seen[1]!.rev)
          if (replayed) expect(fold(value, replayed.flatMap(({ events }) => events)).seq).toBe(chat.seq)
          expect(await store.since({ after: rev, upTo: head, profile: 'default', limit: 99 })).not.toBeNull()
        }
        const pruned = await Promise.all(['trn_1', 'trn_2'].map(async (turn) => (await store.run(chat.run(turn)))!.pruned))
        expect(pruned).toEqual([true, undefined])
      })

      test('goes on where it ended: each call removes at most what it was asked for, those of the oldest run first', async () => {
        const { store, chat } = await three()
        const gone: number[] = []
        for (;;) {
          const went = await store.prune({ settledBefore: Infinity, limit: 2 })
          if (went === 0) break
          gone.push(went)
        }
        expect(gone).toEqual([2, 2, 2, 2, 2, 2, 2, 1])
        expect(await types(store)).not.toContain('row.grew')
        expect((await store.run(chat.run('trn_3')))!.pruned).toBe(true)
      })

      test('leaves rows that belong to no run, also where they were opened while one was live', async () => {
        const { store, chat } = await fresh()
        await store.append(chat.admitted('trn_1', 'x'))
        await store.append(chat.append([{ type: 'row.opened', row: 'row_n', ...chat.place(), turn: 'trn_1', kind: 'notice', notice: { code: 'told' } }]))
        await store.append(chat.opened('trn_1', 'row_1'))
        await store.append(chat.closed('trn_1', 'row_1'))
        await store.append(chat.settled('trn_1'))
        expect(await store.prune({ settledBefore: Infinity, limit: 100 })).toBe(2)
        expect((await store.events('ses_a', { afterSeq: 3, limit: 9 })).map((event) => ('row' in event ? event.row : event.type))).toEqual(['row_n', 'run.settled'])
      })

      test('leaves a live run alone, and what comes after it goes on', async () => {
        const { store, chat } = await three()
        await store.append(chat.admitted('trn_4', 'question 4', { at: 1 }))
        await store.append(chat.opened('trn_4', 'row_4', 'text'))
        expect(await store.prune({ settledBefore: Infinity, limit: 100 })).toBe(15)
        expect((await types(store)).slice(-3)).toEqual(['turn.admitted', 'run.started', 'row.opened'])
        await store.append(chat.grew('trn_4', 'row_4', 4, ' more', { urgency: 'now' }))
        await store.append(chat.closed('trn_4', 'row_4'))
        await store.append(chat.settled('trn_4'))
        expect(await store.window('ses_a', { limit: 1 })).toMatchObject({ rows: [{ text: 'text more', state: 'done' }] })
        const deleted = await store.append(chat.append([{ type: 'session.deleted' }]))
        expect(await store.prune({ settledBefore: Infinity, limit: 100 })).toBe(0)
        for (const after of [0, deleted.rev - 1]) expect(await store.since({ after, upTo: deleted.rev, session: 'ses_a', profile: 'default', limit: 9 })).toMatchObject([{ removed: true, events: [{ type: 'session.deleted' }] }])
      })
    })
  })
}
