import { expect, it } from 'vitest'
import type { Draft } from '../../../../server/contract/events'
import { joined, tellList } from '../../../../server/feed/list-stream'
import type { ListNews } from '../../../../server/feed/list-stream'
import { settle } from '../../../support/fake-timers'
import { feedRig, keptOutlet, turnOf } from './rig'

async function open() {
  const rig = await feedRig()
  const outlet = keptOutlet()
  const over = tellList({ feed: rig.feed, timers: rig.timers }, { outlet, profile: 'default' })
  await settle()
  const reasons = async () => {
    await settle()
    return outlet.frames().splice(0).map((frame) => [frame.event, frame.data.reason, frame.data.session_id])
  }
  return { ...rig, outlet, over, reasons }
}

const question = (approval: string): Draft[] => [
  { type: 'row.opened', kind: 'question', row: 'qst', n: 2, pos: '11', turn: 'trn_a', run: 'run_a' },
  { type: 'approval.raised', approval, row: 'qst', run: 'run_a', request: { action: 'Run it', tool: 'shell', choices: [{ id: 'yes', kind: 'once' }] } },
]

it('says why the list changed, once for each change that the list shows', async () => {
  const { make, add, store, reasons, outlet } = await open()
  const steps: [string, () => Promise<unknown>][] = [
    ['session_new', () => make('ses_a')],
    ['session_rename', () => add('ses_a', { type: 'session.changed', title: 'B', titleBy: 'person' })],
    ['session_changed', () => add('ses_a', ...turnOf('a'))],
    ['attention_pending', () => add('ses_a', ...question('apr'))],
    ['attention_resolved', () => add('ses_a', { type: 'approval.decided', approval: 'apr', row: 'qst', run: 'run_a', choice: 'yes', kind: 'once', by: 'person' }, { type: 'row.closed', row: 'qst', run: 'run_a', state: 'done', duration: 1 })],
    ['session_changed', () => add('ses_a', { type: 'run.settled', run: 'run_a', turn: 'trn_a', outcome: 'completed', timings: { total: 1 } })],
    ['session_changed', () => store.markRead('ses_a', 1000)],
    ['session_delete', () => add('ses_a', { type: 'session.deleted' })],
  ]
  for (const [i, [reason, step]] of steps.entries()) {
    await step()
    expect((await reasons())[i]).toEqual(['sessions_changed', reason, 'ses_a'])
  }
  expect(outlet.frames()).toHaveLength(steps.length)
  const versions = outlet.frames().map((frame) => Number(frame.data.version))
  expect(versions).toEqual([...versions].sort((a, b) => a - b))
  expect(new Set(versions).size).toBe(versions.length)
})

it('a question that nobody answered any more is cleared; steps of a run are not told', async () => {
  const { make, add, reasons } = await open()
  await make('ses_a')
  await add('ses_a', ...turnOf('a'))
  await reasons()
  await add('ses_a', { type: 'row.opened', kind: 'thought', row: 'tht', n: 2, pos: '105', turn: 'trn_a', run: 'run_a', text: 'x' }, { type: 'row.closed', row: 'tht', run: 'run_a', state: 'done', duration: 1 })
  expect(await reasons()).toHaveLength(2)
  await add('ses_a', ...question('apr').map((draft) => ('n' in draft ? { ...draft, n: 3 } : draft)))
  await add('ses_a', { type: 'approval.retired', approval: 'apr', row: 'qst', run: 'run_a', why: 'expired' }, { type: 'row.closed', row: 'qst', run: 'run_a', state: 'cancelled', duration: 1 })
  expect((await reasons()).slice(2).map(([, reason]) => reason)).toEqual(['attention_pending', 'attention_cleared'])
})

it('is of one profile', async () => {
  const { make, reasons } = await open()
  await make('ses_theirs', 'amber')
  expect(await reasons()).toEqual([])
})

it('one frame at most waits for a reader that takes nothing: news of one chat replace each other, of two become one of the whole list', async () => {
  const rig = await feedRig()
  let free = () => {}
  const outlet = { ...keptOutlet(), drained: () => new Promise<void>((resolve) => (free = resolve)) }
  void tellList({ feed: rig.feed, timers: rig.timers }, { outlet, profile: 'default' })
  await rig.make('ses_a')
  await rig.add('ses_a', { type: 'session.changed', title: 'B', titleBy: 'person' })
  free()
  await settle()
  expect(outlet.frames().map(({ data }) => [data.reason, data.session_id])).toEqual([['session_new', 'ses_a']])
  await rig.add('ses_a', { type: 'session.changed', title: 'C', titleBy: 'person' })
  await rig.make('ses_b')
  await rig.add('ses_b', { type: 'session.changed', title: 'D', titleBy: 'person' })
  free()
  await settle()
  expect(outlet.frames().slice(1).map(({ data }) => data)).toEqual([{ type: 'sessions_changed', version: await rig.store.head(), reason: 'session_changed' }])
  rig.feed.end()
  free()
})

it('joining forgets no scope: what is about the whole list stays so', () => {
  const news = (session_id: string | undefined, reason: string, version: number): ListNews => ({ type: 'sessions_changed', version, reason, ...(session_id ? { session_id, profile: 'default' } : {}) })
  const whole = joined(news('a', 'session_rename', 1), news('b', 'session_new', 2))
  expect(whole).toEqual({ type: 'sessions_changed', version: 2, reason: 'session_changed' })
  expect(joined(whole, news('b', 'session_pin', 3))).toEqual({ type: 'sessions_changed', version: 3, reason: 'session_changed' })
  expect(joined(news('a', 'session_rename', 1), news('a', 'session_pin', 2))).toEqual(news('a', 'session_pin', 2))
})
