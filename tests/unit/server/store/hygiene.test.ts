import { expect, test } from 'vitest'
import { makeHygiene } from '../../../../server/store/hygiene'
import { Chat } from '../../../support/chat'
import { FakeTimers } from '../../../support/fake-timers'
import { ModelStore } from '../../../support/model-store'

const DAY = 24 * 3600 * 1000

/** A store whose one run settled now, with as many pieces of growth as are asked for. */
async function rig(growths: number, more: { keepMs?: number; every?: number } = {}) {
  const timers = new FakeTimers()
  const store = new ModelStore({ after: (ms, then) => void timers.after(ms, then), clock: timers.now })
  const chat = new Chat('ses_a')
  await store.append(chat.created())
  await store.append(chat.admitted('trn_1', 'x'))
  await store.append(chat.opened('trn_1', 'row_1'))
  await store.append(chat.append(Array.from({ length: growths }, (_, i) => ({ type: 'row.grew' as const, row: 'row_1', run: chat.run('trn_1'), at0: i, text: 'y' }))))
  await store.append(chat.closed('trn_1', 'row_1'))
  await store.append(chat.append([{ type: 'run.settled', run: chat.run('trn_1'), turn: 'trn_1', outcome: 'completed', timings: { total: 1 } }], { at: timers.now() }))
  const faults: unknown[] = []
  const calls: number[] = []
  const prune = store.prune.bind(store)
  store.prune = async (opts) => {
    const gone = await prune(opts)
    calls.push(gone)
    return gone
  }
  const hygiene = makeHygiene({ store, timers, report: (error) => faults.push(error), ...more })
  const left = async () => (await store.events('ses_a', { afterSeq: 0, limit: 99_999 })).filter(({ type }) => type.startsWith('row.')).length
  return { timers, store, hygiene, faults, calls, left, prune }
}

test('row events stay for thirty days and go within an hour after, in steps that leave the writer time', async () => {
  const { timers, hygiene, calls, left } = await rig(1200)
  hygiene.start()
  await timers.advance(30 * DAY - 1)
  expect(await left()).toBe(1202)
  calls.length = 0
  await timers.advance(3600 * 1000 + 1000)
  expect(await left()).toBe(0)
  expect(calls.filter((gone) => gone > 0)).toEqual([500, 500, 202])
  await hygiene.stop()
  expect(timers.pending).toBe(0)
})

test('how long they stay is a choice, also for ever', async () => {
  const day = await rig(3, { keepMs: DAY })
  day.hygiene.start()
  await day.timers.advance(DAY + 3600 * 1000)
  expect(await day.left()).toBe(0)
  const always = await rig(3, { keepMs: Infinity })
  always.hygiene.start()
  await always.timers.advance(400 * DAY)
  expect(await always.left()).toBe(5)
  expect(always.calls).toEqual([])
})

test('a step that fails is told and tried again; one that is under way ends before the store closes', async () => {
  const { timers, store, hygiene, faults, left, prune } = await rig(3, { keepMs: DAY, every: 60_000 })
  store.prune = () => Promise.reject(new Error('the disk failed'))
  hygiene.start()
  await timers.advance(2 * DAY)
  expect(faults.length).toBeGreaterThan(1)
  expect(await left()).toBe(5)
  let go: () => void = () => {}
  store.prune = (opts) => new Promise<void>((resolve) => (go = resolve)).then(() => prune(opts))
  await timers.advance(60_000)
  let ended = false
  const stopped = hygiene.stop().then(() => (ended = true))
  await timers.advance(60_000)
  expect(ended).toBe(false)
  go()
  await stopped
  expect(await left()).toBe(0)
  await timers.advance(DAY)
  expect(timers.pending).toBe(0)
})
