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

it('tells the rest of a thought before what follows it', async () => {
  const { add, outlet, feed, over } = await live()
  await add('ses_a', thought, grew(1, 'b'), { type: 'row.closed', row: 'tht', run: 'run_a', state: 'done', duration: 1 }, { type: 'row.opened', kind: 'answer', row: 'ans', n: 3, pos: '12', turn: 'trn_a', run: 'run_a', text: 'So:' })
  await settle()
  expect(outlet.frames().map((frame) => [frame.event, frame.data.text])).toEqual([['reasoning', 'ab'], ['token', 'So:']])
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
