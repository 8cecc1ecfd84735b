// @vitest-environment node
import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import { expect, test, vi } from 'vitest'
import { emptyTranscript, untouched } from '../../../../server/contract/fold'
import type { SessionHead, Transcript } from '../../../../server/contract/session'
import type { Changes } from '../../../../server/contract/wire'
import { openShelf } from '../../../../src/cache/shelf'
import { ChatKeeper } from '../../../../src/sync/chat-keeper'
import type { Shared } from '../../../../src/sync/shared'
import { FakeTimers } from '../../../support/fake-timers'

const head = { id: 'ses_a', title: 'A' } as SessionHead
const answer = (from: string, seq: number): Changes => ({ store: 'one', session: head, rows: [], turns: [], retracted: [], from, seq, cursor: `c${seq}` })

/** A keeper of a chat that is in memory, and in the copy, from '15' on. `asked`: how often a catch-up was wished. */
async function keeping(flushed = true) {
  globalThis.indexedDB = new IDBFactory()
  const timers = new FakeTimers()
  const copies = await openShelf({ user: 'local', profile: 'default' }, timers.after).open('one')
  const value: Transcript = { ...emptyTranscript(), session: head, from: '15', seq: 5 }
  const seen = { asked: 0, saved: 0 }
  const shared = { clock: { now: timers.now, after: timers.after, idle: () => () => undefined }, copies: () => copies, wrote: () => undefined, lastGood: () => 0 }
  const keeper = new ChatKeeper(shared as unknown as Shared, 'ses_a', () => value, () => `c${value.seq}`, { saved: () => void seen.saved++, removed: () => undefined, behind: () => void seen.asked++ })
  keeper.window(untouched(), '15', 'window')
  if (flushed) await keeper.flush()
  return { keeper, value, copies, seen, timers }
}

test('a chat without a copy gets one at once; what comes later is written together', async () => {
  const { keeper, value, copies, seen, timers } = await keeping(false)
  await timers.advance(0)
  await vi.waitFor(() => expect(seen.saved).toBe(1))
  value.seq = 6
  keeper.note(untouched())
  await timers.advance(999)
  expect(await copies.page('ses_a')).toMatchObject({ value: { cursor: 'c5' } })
  await timers.advance(1)
  await vi.waitFor(() => expect(seen.saved).toBe(2))
  expect(await copies.page('ses_a')).toMatchObject({ value: { cursor: 'c6' } })
  copies.close()
})

test('an answer does not bring up to date what the copy has grown by while it was under way', async () => {
  const { keeper, copies, seen } = await keeping()
  await copies.saveOlder('ses_a', { rows: [], turns: [], from: '12', upTo: '15', seq: 5 })
  keeper.from = '12'
  keeper.answer(answer('15', 7), 'c5')
  expect([keeper.behind, seen.asked]).toEqual(['c5', 1])
  await keeper.flush()
  expect(await copies.page('ses_a')).toMatchObject({ value: { behind: true, cursor: 'c5' } })
  keeper.answer(answer('15', 8), 'c5')
  expect([keeper.behind, seen.asked]).toEqual(['c5', 2])
  keeper.answer(answer('12', 8), 'c5')
  expect([keeper.behind, seen.asked]).toEqual([null, 2])
  await keeper.flush()
  expect(await copies.page('ses_a')).toMatchObject({ value: { behind: false, cursor: 'c5' } })
  copies.close()
})

test('an answer that was read before the last event further back brings the copy as far as it was read, and no further', async () => {
  const { keeper, value, copies, seen } = await keeping()
  keeper.behind = 'c5'
  value.missed = 9
  keeper.answer(answer('15', 7), 'c5')
  expect([keeper.behind, seen.asked]).toEqual(['c7', 1])
  keeper.answer(answer('15', 9), 'c7')
  expect([keeper.behind, seen.asked]).toEqual([null, 1])
  copies.close()
})

test('who finds that another tab has moved the copy takes over what that one had still to bring', async () => {
  const { keeper, copies, seen } = await keeping()
  const record = { session: 'ses_a', head, rows: [], turns: [], removed: [], last: [], lastFrom: '', lastTurns: [], queue: { items: [], seq: 0 }, missed: 0, seq: 6, savedAt: 1 }
  await copies.saveChat({ ...record, from: '11', cursor: 'c4', behind: true, replace: 'window' })
  await keeper.reread()
  expect([keeper.from, keeper.behind, seen.asked]).toEqual(['11', 'c4', 1])
  copies.close()
})
