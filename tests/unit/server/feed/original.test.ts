import { expect, it } from 'vitest'
import type { Draft } from '../../../../server/contract/events'
import { tellRun } from '../../../../server/feed/original'
import { settle } from '../../../support/fake-timers'
import { feedRig, keptOutlet, turnOf } from './rig'

const thought: Draft = { type: 'row.opened', kind: 'thought', row: 'tht', n: 2, pos: '11', turn: 'trn_a', run: 'run_a', text: 'a' }
const grew = (at0: number, text: string): Draft => ({ type: 'row.grew', row: 'tht', run: 'run_a', at0, text })

async function live() {
  const rig = await feedRig()
  await rig.make('ses_a')
  await rig.add('ses_a', ...turnOf('a'))
  const outlet = keptOutlet()
  const over = tellRun({ store: rig.store, feed: rig.feed, timers: rig.timers, full: () => Promise.resolve(null) }, { outlet, session: 'ses_a', run: 'run_a', startedSeq: 3 })
  await settle()
  return { ...rig, outlet, over }
}

it('tells what is thought ten times a second at most, whole, with the id of its last part', async () => {
  const { add, timers, outlet, feed, over } = await live()
  await add('ses_a', thought)
  for (let i = 1; i <= 40; i++) {
    await add('ses_a', grew(i, 'b'))
    await timers.advance(25)
  }
  await timers.advance(100)
  const frames = outlet.frames()
  expect(frames.map((frame) => frame.data.text).join('')).toBe(`a${'b'.repeat(40)}`)
  expect(frames.length).toBeGreaterThanOrEqual(9)
  expect(frames.length).toBeLessThanOrEqual(12)
  expect(frames.at(-1)!.id).toBe(`run_a:${16 * (44 - 3 + 1)}`)
  feed.end()
  await over
})

it('case 106: words thought at 0, 30 and 60 ms are one event at 0 and one at 100, and none is lost', async () => {
  const { add, timers, outlet, feed, over } = await live()
  const told = () => outlet.frames().map((frame) => frame.data.text)
  await add('ses_a', thought)
  await settle()
  expect(told()).toEqual(['a'])
  for (const [i, text] of ['b', 'c'].entries()) {
    await timers.advance(30)
    await add('ses_a', grew(i + 1, text))
    await settle()
  }
  await timers.advance(39)
  expect(told()).toEqual(['a'])
  await timers.advance(1)
  expect(told()).toEqual(['a', 'bc'])
  feed.end()
  await over
})

it('tells the rest of a thought before what follows it', async () => {
  const { add, outlet, feed, over } = await live()
  await add('ses_a', thought, grew(1, 'b'), { type: 'row.closed', row: 'tht', run: 'run_a', state: 'done', duration: 1 }, { type: 'row.opened', kind: 'answer', row: 'ans', n: 3, pos: '12', turn: 'trn_a', run: 'run_a', text: 'So:' })
  await settle()
  expect(outlet.frames().map((frame) => [frame.event, frame.data.text])).toEqual([['reasoning', 'a'], ['reasoning', 'b'], ['token', 'So:']])
  feed.end()
  await over
})

it('shows life by a comment every five seconds while nothing happens', async () => {
  const { timers, outlet, feed, over } = await live()
  await timers.advance(20_000)
  expect(outlet.comments()).toBe(4)
  expect(outlet.frames()).toEqual([])
  feed.end()
  await over
  expect(timers.pending).toBe(0)
})

it('leaves nothing behind when its reader goes', async () => {
  const { timers, outlet, feed, over } = await live()
  outlet.leave()
  await over
  expect(feed.stats()).toMatchObject({ readers: 0, streams: 0 })
  // The feed's own beat is all that is left.
  expect(timers.pending).toBe(1)
})

it('case 114: a reader whose cursor stands in what was pruned gets one recovery signal and no tail; one behind it gets the tail; one without a cursor the settled end', async () => {
  const { store, feed, timers, add, over, outlet } = await live()
  await add(
    'ses_a', thought, grew(1, 'b'), { type: 'row.closed', row: 'tht', run: 'run_a', state: 'done', duration: 1 },
    { type: 'row.opened', kind: 'answer', row: 'ans', n: 3, pos: '12', turn: 'trn_a', run: 'run_a', text: 'So' }, { type: 'row.closed', row: 'ans', run: 'run_a', state: 'done', duration: 1 },
    { type: 'run.settled', run: 'run_a', turn: 'trn_a', outcome: 'completed', timings: { total: 1 } },
  )
  await over
  const whole = outlet.frames()
  await timers.advance(1000)
  expect(await store.prune({ settledBefore: timers.now(), limit: 100 })).toBeGreaterThan(0)
  const again = async (cursor?: string) => {
    const kept = keptOutlet()
    await tellRun({ store, feed, timers, full: () => Promise.resolve(null) }, { outlet: kept, session: 'ses_a', run: 'run_a', startedSeq: 3, ...(cursor === undefined ? {} : { cursor }) })
    return kept.frames()
  }
  expect((await again()).map((frame) => frame.event)).toEqual(['done', 'stream_end'])
  expect((await again('run_other:17')).map((frame) => frame.event)).toEqual(['done', 'stream_end'])
  for (const frame of whole.slice(0, 2)) {
    const told = await again(frame.id)
    expect(told).toEqual([{ event: 'apperror', data: expect.objectContaining({ type: 'interrupted', recovery_control: true, session_id: 'ses_a', stream_id: 'run_a' }) }])
  }
  const done = whole.findIndex((frame) => frame.event === 'done')
  expect((await again(whole[done]!.id)).map((frame) => frame.event)).toEqual(['stream_end'])
  expect(await again(whole.at(-1)!.id)).toEqual([])
})
