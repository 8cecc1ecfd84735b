import { describe, expect, it } from 'vitest'
import type { Draft } from '../../../../server/contract/events'
import { tellSession } from '../../../../server/feed/session-stream'
import { settle } from '../../../support/fake-timers'
import { feedRig, keptOutlet, turnOf } from './rig'
import type { Rig } from './rig'

const settled = (name: string): Draft => ({ type: 'run.settled', run: `run_${name}`, turn: `trn_${name}`, outcome: 'completed', timings: { total: 1 } })
const stopping: Draft = { type: 'run.stopping', run: 'run_a', turn: 'trn_a', by: 'person' }
const from = (source: 'queue' | 'agent' | 'wakeup', name = 'a'): Draft[] => turnOf(name).map((draft) => (draft.type === 'turn.admitted' ? { ...draft, source } : draft))

async function rigged() {
  const rig = await feedRig()
  await rig.make('ses_a')
  return rig
}
async function subscribe(rig: Rig, known?: number) {
  const outlet = keptOutlet()
  const over = tellSession({ feed: rig.feed, timers: rig.timers }, { outlet, session: 'ses_a', ...(known === undefined ? {} : { known }), load: () => rig.store.load('ses_a') })
  await settle()
  return { outlet, over, names: () => outlet.frames().map((frame) => frame.event) }
}

describe('case 142', () => {
  const filled = async () => {
    const rig = await rigged()
    const answer: Draft[] = [2, 3, 4, 5, 6].map((n) => ({ type: 'row.opened', kind: 'answer', row: `ans_${n}`, n, pos: `1${n}`, turn: 'trn_a', run: 'run_a', text: 'x', state: 'done' }))
    await rig.add('ses_a', ...turnOf('a'), ...answer, settled('a'))
    return rig
  }
  it.each([[4, ['initial', 'session-updated']], [6, ['initial']], [7, ['initial']], [undefined, ['initial']]])('a reader that has %j of six messages is told %j', async (known, names) => {
    const reader = await subscribe(await filled(), known)
    expect(reader.names()).toEqual(names)
    const [initial, updated] = reader.outlet.frames()
    expect(initial!.data).toEqual({ session_id: 'ses_a' })
    if (updated) expect(updated.data).toEqual({ session_id: 'ses_a', message_count: 6, known_count: 4, source: 'subscribe' })
  })
  it('a run that is being stopped is never offered for attaching', async () => {
    const rig = await rigged()
    await rig.add('ses_a', ...from('queue'))
    expect((await subscribe(rig)).names()).toEqual(['initial', 'server_turn_started'])
    await rig.add('ses_a', stopping)
    expect((await subscribe(rig)).names()).toEqual(['initial'])
  })
})

it.each(['queue', 'agent', 'wakeup'] as const)('a turn that began by itself (%s) is told when it begins, and as recovered to who subscribes later', async (source) => {
  const rig = await rigged()
  const live = await subscribe(rig)
  await rig.add('ses_a', ...from(source))
  await settle()
  const late = await subscribe(rig)
  const frame = { session_id: 'ses_a', stream_id: 'run_a', pending_started_at: expect.any(Number), source }
  expect(live.outlet.frames()[1]).toEqual({ event: 'server_turn_started', data: frame })
  expect(late.outlet.frames()[1]).toEqual({ event: 'server_turn_started', data: { ...frame, recovered: true } })
  await rig.add('ses_a', settled('a'))
  expect((await subscribe(rig)).names()).toEqual(['initial'])
})

it('a turn that a person started is not told: whoever started it has its stream', async () => {
  const rig = await rigged()
  const live = await subscribe(rig)
  await rig.add('ses_a', ...turnOf('a'))
  await settle()
  expect(live.names()).toEqual(['initial'])
})

it('a run that goes on after a restart of the server is told, whoever started its turn', async () => {
  const rig = await rigged()
  await rig.add('ses_a', ...turnOf('a'), { type: 'run.settled', run: 'run_a', turn: 'trn_a', outcome: 'interrupted', timings: { total: 1 } })
  const live = await subscribe(rig)
  await rig.store.append({
    session: 'ses_a', expectSeq: 5, generation: 2, urgency: 'now',
    events: [{ type: 'run.started', run: 'run_b', turn: 'trn_a', generation: 2, attempt: 2, cause: 'reattached', agent: { kind: 'scripted', name: 'S' }, model: null, session: 'ses_a', seq: 5, at: 1 }],
  })
  await settle()
  expect(live.outlet.frames()[1]).toMatchObject({ event: 'server_turn_started', data: { stream_id: 'run_b', source: 'reattached' } })
  expect((await subscribe(rig)).outlet.frames()[1]!.data).toMatchObject({ stream_id: 'run_b', recovered: true })
})

it('a reader that fell behind while it listens is told when the run has ended, once for each number', async () => {
  const rig = await rigged()
  const reader = await subscribe(rig, 0)
  await rig.add('ses_a', ...turnOf('a'))
  await settle()
  expect(reader.names()).toEqual(['initial'])
  await rig.add('ses_a', settled('a'))
  await settle()
  expect(reader.outlet.frames().at(-1)).toEqual({ event: 'session-updated', data: { session_id: 'ses_a', message_count: 1, known_count: 0, source: 'settled' } })
  await rig.add('ses_a', { type: 'session.changed', title: 'B', titleBy: 'person' })
  await settle()
  expect(reader.names()).toHaveLength(2)
})

it('ends with its chat, with its reader and with the server, and leaves nothing behind', async () => {
  const rig = await rigged()
  const [one, two, three] = [await subscribe(rig), await subscribe(rig), await subscribe(rig)]
  one.outlet.leave()
  await one.over
  expect(rig.feed.stats().streams).toBe(2)
  await rig.add('ses_a', { type: 'session.deleted' })
  await Promise.all([two.over, three.over])
  expect(rig.feed.stats().streams).toBe(0)
  expect(rig.timers.pending).toBe(1)
})
