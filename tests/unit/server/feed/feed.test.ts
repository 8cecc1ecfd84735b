import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Committed } from '../../../../server/store/port'
import { settle } from '../../../support/fake-timers'
import type { ModelStore } from '../../../support/model-store'
import { feedRig, keptOutlet, turnOf } from './rig'

describe('the feed', () => {
  it('beats every five seconds, without an id, with the same bytes for everybody', async () => {
    const { feed, timers } = await feedRig()
    const [a, b] = [keptOutlet(), keptOutlet()]
    feed.open({ outlet: a, profile: 'default' })
    feed.open({ outlet: b, profile: 'default' })
    await timers.advance(15_000)
    expect(a.frames().map((frame) => frame.event)).toEqual(['synced', 'beat', 'beat', 'beat'])
    expect(a.frames()[1]).toEqual({ event: 'beat', data: { now: timers.now() - 10_000 } })
    expect(a.bytes[3]).toBe(b.bytes[3])
  })

  it('shares the bytes of an entry between all who have the chat open, and another form between all others', async () => {
    const { feed, make, add } = await feedRig()
    await make('ses_a')
    const inside = [keptOutlet(), keptOutlet()]
    const outside = [keptOutlet(), keptOutlet()]
    for (const outlet of inside) feed.open({ outlet, profile: 'default', session: 'ses_a' })
    for (const outlet of outside) feed.open({ outlet, profile: 'default', session: 'ses_b' })
    await settle()
    const before = feed.stats().encoded
    await add('ses_a', ...turnOf('a'))
    expect(inside[0]!.bytes.at(-1)).toBe(inside[1]!.bytes.at(-1))
    expect(outside[0]!.bytes.at(-1)).toBe(outside[1]!.bytes.at(-1))
    expect(inside[0]!.frames().at(-1)!.data).toMatchObject({ events: [{ type: 'turn.admitted' }, { type: 'run.started' }], entry: { state: 'working' } })
    expect(outside[0]!.frames().at(-1)!.data).not.toHaveProperty('events')
    expect(feed.stats().encoded - before).toBe(2)
  })

  it('tells those who have another chat open nothing of mere growth', async () => {
    const { feed, make, add } = await feedRig()
    await make('ses_a')
    await add('ses_a', ...turnOf('a'), { type: 'row.opened', kind: 'answer', row: 'ans', n: 2, pos: '11', turn: 'trn_a', run: 'run_a', text: 'x' })
    const outlet = keptOutlet()
    feed.open({ outlet, profile: 'default', session: 'ses_other' })
    await settle()
    await add('ses_a', { type: 'row.grew', row: 'ans', run: 'run_a', at0: 1, text: 'y' })
    expect(outlet.frames().map((frame) => frame.event)).toEqual(['synced'])
  })

  it('case 130: a reader and a listener that throw hinder neither the commit nor anybody else, and are reported', async () => {
    const { feed, make, add, reported } = await feedRig()
    await make('ses_a')
    const broken = { ...keptOutlet(), send: () => { throw new Error('broken outlet') } }
    const outlet = keptOutlet()
    feed.open({ outlet, profile: 'default', session: 'ses_a' })
    feed.watch('ses_a', () => { throw new Error('broken listener') })
    const heard: number[] = []
    feed.watch('ses_a', (entry) => heard.push(entry.rev))
    await settle()
    feed.open({ outlet: broken, profile: 'default', session: 'ses_a' })
    await settle()
    reported.length = 0
    await add('ses_a', ...turnOf('a'))
    await add('ses_a', { type: 'run.settled', run: 'run_a', turn: 'trn_a', outcome: 'completed', timings: { total: 1 } })
    expect(outlet.frames().map((frame) => frame.event)).toEqual(['synced', 'change', 'change'])
    expect(heard).toHaveLength(2)
    expect(reported.length).toBeGreaterThanOrEqual(2)
  })

  it('a mark that a chat was read reaches every reader as its list entry alone, live and in a replay', async () => {
    const { feed, store, make, add } = await feedRig()
    await make('ses_a')
    await add('ses_a', ...turnOf('a'), { type: 'run.settled', run: 'run_a', turn: 'trn_a', outcome: 'completed', timings: { total: 1 } })
    const before = String(await store.head())
    const readers = [keptOutlet(), keptOutlet()]
    feed.open({ outlet: readers[0]!, profile: 'default', session: 'ses_a' })
    feed.open({ outlet: readers[1]!, profile: 'default' })
    await settle()
    expect(await store.markRead('ses_a', 4)).toBe(true)
    const late = keptOutlet()
    feed.open({ outlet: late, profile: 'default', session: 'ses_a', after: before })
    await settle()
    for (const outlet of [...readers, late]) {
      const change = outlet.frames().find((frame) => frame.event === 'change')!
      expect(Object.keys(change.data).sort()).toEqual(['entry', 'session'])
      expect(change.data.entry).toMatchObject({ id: 'ses_a', settled: 4, read: 4 })
    }
  })

  it('never tells one profile of another, live or in a replay', async () => {
    const { feed, make } = await feedRig()
    const live = keptOutlet()
    feed.open({ outlet: live, profile: 'default' })
    await make('ses_theirs', 'amber')
    const late = keptOutlet()
    feed.open({ outlet: late, profile: 'default', after: '0' })
    await settle()
    expect([...live.frames(), ...late.frames()].map((frame) => frame.event)).toEqual(['synced', 'synced'])
  })

  it('resets a reader whose history is not to be had, and goes on live', async () => {
    const { feed, make } = await feedRig((store) => Object.assign(store, { since: () => Promise.resolve(null) }))
    await make('ses_a')
    const outlet = keptOutlet()
    feed.open({ outlet, profile: 'default', after: '0' })
    await settle()
    await make('ses_b')
    expect(outlet.frames().map((frame) => [frame.event, frame.id])).toEqual([['reset', '1'], ['synced', '1'], ['change', '2']])
  })

  it('ends a reader whose history cannot be read, and says so in the log', async () => {
    const fault = new Error('the disk failed')
    const { feed, make, reported } = await feedRig((store) => Object.assign(store, { since: () => Promise.reject(fault) }))
    await make('ses_a')
    const outlet = keptOutlet()
    feed.open({ outlet, profile: 'default', after: '0' })
    await settle()
    expect(outlet.closed).toBe(true)
    expect(reported).toEqual([fault])
    expect(feed.stats().readers).toBe(0)
  })

  it('sends no sign of life to a reader that has not taken what it was sent', async () => {
    const { feed, timers } = await feedRig()
    const [a, b] = [keptOutlet(), keptOutlet()]
    for (const outlet of [a, b]) feed.open({ outlet, profile: 'default' })
    a.idle = false
    await timers.advance(5000)
    a.idle = true
    await timers.advance(5000)
    const beats = [a, b].map((outlet) => outlet.frames().filter((frame) => frame.event === 'beat').length)
    expect(beats).toEqual([1, 2])
  })

  it('ends all streams, and takes no new one', async () => {
    const { feed, timers } = await feedRig()
    const [a, b] = [keptOutlet(), keptOutlet()]
    feed.open({ outlet: a, profile: 'default' })
    feed.end()
    feed.open({ outlet: b, profile: 'default' })
    expect([a.closed, b.closed, timers.pending]).toEqual([true, true, 0])
  })

  it('tells every reader each entry once and in order, whenever it came and wherever it stood (generated)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.record({ do: fc.constant('commit' as const), chat: fc.integer({ min: 0, max: 2 }) }), fc.record({ do: fc.constant('open' as const), chat: fc.integer({ min: 0, max: 2 }), behind: fc.integer({ min: 0, max: 6 }) }), fc.record({ do: fc.constant('turn' as const) })), { minLength: 5, maxLength: 40 }), async (steps) => {
        // Reads of the store take time, so that commits fall between a registration and the end of its replay.
        const slow = (store: ModelStore) => {
          const since = store.since.bind(store)
          store.since = async (opts) => {
            await new Promise((resolve) => setImmediate(resolve))
            const page = await since({ ...opts, limit: Math.min(opts.limit, 200) })
            await new Promise((resolve) => setImmediate(resolve))
            return page
          }
          return store
        }
        const { feed, store, make, add } = await feedRig(slow)
        const committed: Committed[] = []
        for (const chat of [0, 1, 2]) {
          feed.watch(`ses_${chat}`, (entry) => committed.push(entry))
          await make(`ses_${chat}`)
        }
        const readers: { outlet: ReturnType<typeof keptOutlet>; chat: string; after: number }[] = []
        for (const step of steps) {
          if (step.do === 'turn') await new Promise((resolve) => setImmediate(resolve))
          else if (step.do === 'commit') await add(`ses_${step.chat}`, { type: 'session.changed', title: `t${committed.length}`, titleBy: 'person' })
          else {
            const after = Math.max(0, (await store.head()) - step.behind)
            const outlet = keptOutlet()
            readers.push({ outlet, chat: `ses_${step.chat}`, after })
            feed.open({ outlet, profile: 'default', session: `ses_${step.chat}`, after: String(after) })
          }
        }
        for (let i = 0; i < 20; i++) await settle()
        const head = await store.head()
        for (const { outlet, chat, after } of readers) {
          const frames = outlet.frames().filter((frame) => frame.event === 'change')
          const ids = frames.map((frame) => Number(frame.id))
          expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
          // Of its own chat every event, of the others at least the newest entry.
          const events = frames.filter((frame) => frame.data.session === chat).flatMap((frame) => frame.data.events as { seq: number }[])
          expect(events).toEqual(committed.filter((entry) => entry.session === chat && entry.rev > after).flatMap((entry) => entry.events))
          for (const other of ['ses_0', 'ses_1', 'ses_2']) {
            const newest = committed.findLast((entry) => entry.session === other)!
            if (newest.rev > after) expect(frames.findLast((frame) => frame.data.session === other)!.id).toBe(String(newest.rev))
          }
          expect(outlet.frames().filter((frame) => frame.event === 'synced')).toHaveLength(1)
          expect(head).toBe(committed.at(-1)!.rev)
        }
        feed.end()
      }),
      { numRuns: 150 },
    )
  })
})
