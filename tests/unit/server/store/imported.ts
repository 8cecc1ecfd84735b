import { afterEach, describe, expect, test } from 'vitest'
import type { ImportBatch } from '../../../../server/contract/fold'
import { posBehind } from '../../../../server/contract/ids'
import type { Row } from '../../../../server/contract/rows'
import type { Append, Store } from '../../../../server/store/port'
import { Chat } from '../../../support/chat'
import type { Harness } from './contract'

/** What any store must do with rows that come from an agent's own store (spec/log.md §3–5, agents.md §7). */
export function importContract(name: string, make: () => Promise<Harness>): void {
  describe(`rows of a foreign store: ${name}`, { timeout: 20_000 }, () => {
    const harnesses: Harness[] = []
    afterEach(async () => {
      for (const harness of harnesses.splice(0)) await harness.dispose()
    })
    const fresh = async (): Promise<{ harness: Harness; store: Store; chat: Chat }> => {
      const harness = await make()
      harnesses.push(harness)
      const store = await harness.open()
      const chat = new Chat('ses_a')
      for (const append of [chat.created(), chat.admitted('trn_1', 'here'), chat.opened('trn_1', 'row_1', 'said here'), chat.closed('trn_1', 'row_1'), chat.settled('trn_1')]) await store.append(append)
      return { harness, store, chat }
    }
    const foreignRow = (row: string, ours: string | null) => ({ store: 'theirs', session: 'one', row, ours })
    const refused = async (store: Store, chat: Chat, append: Append, why: string): Promise<void> => {
      await expect(store.append(append)).rejects.toMatchObject({ name: 'StoreRefusal', why })
      chat.undo(append)
    }

    test('stand between the rows around them, count, and are told to a reader that catches up', async () => {
      const { harness, store, chat } = await fresh()
      const cursor = String(await store.head())
      const before = chat.place()
      const answer = posBehind(before.pos, 2)
      await store.append(imported(chat, answer))
      const window = (await store.window('ses_a', { limit: 10 }))!
      expect(window.rows.map(({ id }) => id)).toEqual(['row_trn_1', 'row_1', 'theirs_0', 'theirs_1'])
      expect(window.session).toMatchObject({ count: 4, lastAt: 5000 })
      const changes = (await store.changes('ses_a', { after: cursor, from: '', limit: 10 }))!
      expect(changes.rows.map(({ id, seq }) => [id, seq])).toEqual([['theirs_0', chat.seq], ['theirs_1', chat.seq]])
      expect(changes.turns.map(({ id, runs }) => [id, runs])).toEqual([['trn_theirs', []]])
      expect((await store.list({ profile: 'default', limit: 1 })).entries[0]).toMatchObject({ count: 4, state: 'idle', line: { kind: 'answer', text: 'said elsewhere 1' } })
      expect(await store.imported('ses_a', chat.seq)).toEqual({ turns: changes.turns, rows: changes.rows })
      expect(await store.imported('ses_a', chat.seq - 1)).toEqual({ turns: [], rows: [] })
      await store.close()
      const again = await harness.open()
      expect(await again.window('ses_a', { limit: 10 })).toEqual(window)
      // Places and numbers go on above them.
      const state = (await again.load('ses_a'))!
      expect([state.n, state.pos]).toEqual([window.rows.at(-1)!.n, window.rows.at(-1)!.pos])
      await again.close()
    })

    test('come before a turn that has begun meanwhile: its run goes on, and settles', async () => {
      const { store, chat } = await fresh()
      const behind = (await store.load('ses_a'))!.pos
      await store.append(chat.admitted('trn_2', 'next'))
      await store.append(imported(chat, posBehind(behind, 2)))
      for (const append of [chat.opened('trn_2', 'row_2', 'the next answer'), chat.closed('trn_2', 'row_2'), chat.settled('trn_2')]) await store.append(append)
      const { rows } = (await store.window('ses_a', { limit: 10 }))!
      expect(rows.map(({ id }) => id)).toEqual(['row_trn_1', 'row_1', 'theirs_0', 'theirs_1', 'row_trn_2', 'row_2'])
      expect((await store.load('ses_a'))!.head.count).toBe(6)
    })

    test('replace a half answer in the same commit, and that one is gone for every reader', async () => {
      const { store, chat } = await fresh()
      const cursor = String(await store.head())
      await store.append(imported(chat, posBehind(chat.place().pos, 2), { replaced: ['row_1'] }))
      expect((await store.window('ses_a', { limit: 10 }))!.rows.map(({ id }) => id)).toEqual(['row_trn_1', 'theirs_0', 'theirs_1'])
      expect((await store.changes('ses_a', { after: cursor, from: '', limit: 10 }))!.retracted).toEqual(['row_1'])
      expect((await store.load('ses_a'))!.head.count).toBe(3)
    })

    test('are refused where the batch is not what its event says, is open, is missing, or is too large for one commit', async () => {
      const { store, chat } = await fresh()
      const places = posBehind(chat.place().pos, 2)
      const wrong = (change: (append: Append) => void, at = places): Promise<void> => {
        const append = imported(chat, at)
        change(append)
        return refused(store, chat, append, 'sequence')
      }
      await wrong((append) => (append.imported = { turns: [], rows: [] }))
      await wrong((append) => delete append.imported)
      await wrong(({ imported: batch }) => (batch!.rows[1] = { ...batch!.rows[1]!, state: 'live' }))
      await wrong(({ imported: batch }) => (batch!.rows[1] = { ...batch!.rows[1]!, turn: 'trn_nowhere' }))
      await wrong(() => undefined, posBehind(places[1]!, 201))
      expect((await store.window('ses_a', { limit: 10 }))!.rows).toHaveLength(2)
      await store.append(imported(chat, places))
      expect((await store.window('ses_a', { limit: 10 }))!.rows).toHaveLength(4)
    })

    test('are known for ever: no append brings one twice, in this chat or in another, also after it was retracted and after the chat was deleted', async () => {
      const { harness, store, chat } = await fresh()
      const places = posBehind(chat.place().pos, 6)
      await store.append({ ...imported(chat, places.slice(0, 2)), foreign: [foreignRow('1', 'theirs_0'), foreignRow('2', 'theirs_1'), foreignRow('3', null)] })
      const sorted = async (of: Store) => (await of.foreign('ses_a')).map(({ row, ours }) => [row, ours]).sort()
      expect(await sorted(store)).toEqual([['1', 'theirs_0'], ['2', 'theirs_1'], ['3', null]])
      const { store: theirs, session } = foreignRow('1', null)
      expect((await store.foreign('ses_a', { store: theirs, session, rows: ['3', '1', 'none'] })).map(({ row }) => row).sort()).toEqual(['1', '3'])
      for (const among of [{ store: 'other', session, rows: ['1'] }, { store: theirs, session: 'other', rows: ['1'] }, { store: theirs, session, rows: [] }]) expect(await store.foreign('ses_a', among)).toEqual([])
      expect(await store.foreign('ses_none', { store: theirs, session, rows: ['1'] })).toEqual([])
      // To say the same again is no import.
      await store.append({ ...chat.append([{ type: 'session.changed', title: 'Same' }]), foreign: [foreignRow('1', 'theirs_0'), foreignRow('3', null)] })
      await refused(store, chat, { ...imported(chat, places.slice(2, 4), { ids: 2 }), foreign: [foreignRow('2', 'theirs_3')] }, 'mapped')
      await refused(store, chat, { ...imported(chat, places.slice(2, 4), { ids: 2 }), foreign: [foreignRow('3', 'theirs_3')] }, 'mapped')
      await store.append(chat.append([{ type: 'rows.retracted', rows: ['theirs_0', 'theirs_1'], turns: ['trn_theirs'], why: 'edit', counted: 2 }]))
      expect(await sorted(store)).toEqual([['1', null], ['2', null], ['3', null]])
      await refused(store, chat, { ...imported(chat, places.slice(2, 4), { ids: 2 }), foreign: [foreignRow('1', 'theirs_2')] }, 'mapped')
      const other = new Chat('ses_b')
      await store.append(other.created())
      await refused(store, other, { ...imported(other, places.slice(0, 2), { ids: 8 }), foreign: [foreignRow('1', 'theirs_8')] }, 'mapped')
      expect(await store.foreign('ses_b')).toEqual([])
      await store.append(chat.append([{ type: 'session.deleted' }]))
      await store.close()
      const again = await harness.open()
      expect((await again.window('ses_b', { limit: 5 }))!.rows).toEqual([])
      await refused(again, other, { ...imported(other, places.slice(0, 2), { ids: 8 }), foreign: [foreignRow('1', 'theirs_8')] }, 'mapped')
      await again.close()
    })

    test('a row that is retracted in the append that would map it is known as gone', async () => {
      const { store, chat } = await fresh()
      await store.append({ ...chat.append([{ type: 'rows.retracted', rows: ['row_1'], turns: [], why: 'superseded', counted: 1 }]), foreign: [foreignRow('1', 'row_trn_1'), foreignRow('2', 'row_1')] })
      expect((await store.foreign('ses_a')).map(({ row, ours }) => [row, ours]).sort()).toEqual([['1', 'row_trn_1'], ['2', null]])
    })
  })
}

/** An append that imports one turn of a user row and answers at these places. */
function imported(chat: Chat, places: readonly string[], more: { replaced?: string[]; ids?: number } = {}): Append {
  const { ids = 0, replaced = [] } = more
  const turn = ids ? `trn_theirs_${ids}` : 'trn_theirs'
  const seq = chat.seq + 1
  const rows = places.map((pos, i): Row => {
    const base = { id: `theirs_${ids + i}`, n: 100 + ids + i, turn, pos, seq, at: 5000, state: 'done' as const, text: `said elsewhere ${ids + i}` }
    return i === 0 ? { ...base, kind: 'user', source: 'person' } : { ...base, kind: 'answer' }
  })
  const batch: ImportBatch = { turns: [{ id: turn, row: rows[0]!.id, pos: places[0]!, source: 'person', admittedAt: 5000, runs: [], seq }], rows }
  return chat.append([{
    type: 'rows.imported', source: 'hermes', turns: 1, rows: rows.length, first: places[0]!, last: places.at(-1)!, replaced, counted: rows.length - replaced.length, lastAt: 5000,
  }], { imported: batch })
}
