import { describe, expect, test } from 'vitest'
import { Group, type Timers } from '../../../../server/store/group'
import type { Append, Committed } from '../../../../server/store/port'
import type { BatchAnswer } from '../../../../server/store/protocol'
import type { Verdict } from '../../../../server/store/write/writer'

/** A writer that commits when told, and a clock that ticks when told. */
function bench() {
  const batches: string[][] = []
  const told: string[][] = []
  const timers = new Map<number, { run: () => void; ms: number }>()
  let answer: (value: BatchAnswer) => void = () => {}
  let fail: (error: unknown) => void = () => {}
  let rev = 0
  let next = 0
  const clock: Timers = { set: (run, ms) => (timers.set(++next, { run, ms }), next), clear: (timer) => timers.delete(timer as number) }
  const group = new Group({
    timers: clock,
    interval: 30,
    commit: (entries) => {
      batches.push(entries.map(({ session }) => session))
      return new Promise((resolve, reject) => {
        answer = resolve
        fail = reject
      })
    },
    committed: (batch) => told.push(batch.map(({ session }) => session)),
  })
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    group, batches, told, timers, settle,
    commit: async (verdicts?: Verdict[]) => {
      answer({ verdicts: verdicts ?? batches.at(-1)!.map(() => ({ state: 'accepted', accepted: { rev: ++rev, profile: 'default' } })), ms: 1, bytes: 0 })
      await settle()
    },
    fail: async (error: unknown) => {
      fail(error)
      await settle()
    },
    tick: () => {
      for (const [id, { run }] of timers) {
        timers.delete(id)
        run()
      }
    },
  }
}
const append = (session: string, urgency: Append['urgency'] = 'now'): Append => ({ session, expectSeq: 1, events: [], urgency })

describe('group commit', () => {
  test('joins appends made in one go', async () => {
    const { group, batches, commit, settle } = bench()
    const both = Promise.all([group.append(append('a')), group.append(append('b'))])
    await settle()
    expect(batches).toEqual([['a', 'b']])
    await commit()
    expect((await both).map(({ rev }) => rev)).toEqual([1, 2])
  })

  test('gathers what comes while the writer is busy and commits it together', async () => {
    const { group, batches, commit, settle } = bench()
    const all = [group.append(append('a'))]
    await settle()
    all.push(group.append(append('b', 'soon')), group.append(append('c')), group.append(append('d', 'soon')))
    expect(group.waiting).toBe(3)
    await commit()
    expect(batches).toEqual([['a'], ['b', 'c', 'd']])
    await commit()
    await Promise.all(all)
    expect(group.waiting).toBe(0)
  })

  test('lets growth wait for one tick, set once', async () => {
    const { group, batches, timers, commit, tick, settle } = bench()
    const all = [group.append(append('a', 'soon')), group.append(append('b', 'soon'))]
    await settle()
    expect(batches).toEqual([])
    expect([...timers.values()].map(({ ms }) => ms)).toEqual([30])
    tick()
    await settle()
    expect(batches).toEqual([['a', 'b']])
    await commit()
    await Promise.all(all)
    const next = group.append(append('c', 'soon'))
    expect(timers.size).toBe(1)
    group.hasten()
    await settle()
    expect(timers.size).toBe(0)
    await commit()
    await next
  })

  test('keeps waiting growth for its tick when only growth came during a commit', async () => {
    const { group, batches, commit, tick, settle } = bench()
    const first = group.append(append('a'))
    await settle()
    const grown = group.append(append('b', 'soon'))
    await commit()
    await first
    expect(batches).toEqual([['a']])
    tick()
    await settle()
    expect(batches).toEqual([['a'], ['b']])
    await commit()
    await grown
  })

  test('tells the listener of what committed before anything resolves, and rejects the rest by its own reason', async () => {
    const { group, told, commit, settle } = bench()
    const order: string[] = []
    const a = group.append(append('a')).then((committed: Committed) => order.push(`resolved ${committed.session} after ${told.length}`))
    const b = group.append(append('b')).catch((error: { why: string }) => order.push(`refused ${error.why} after ${told.length}`))
    await settle()
    await commit([{ state: 'accepted', accepted: { rev: 1, profile: 'default' } }, { state: 'refused', why: 'sequence' }])
    await Promise.all([a, b])
    expect(told).toEqual([['a']])
    expect(order).toEqual(['resolved a after 1', 'refused sequence after 1'])
  })

  test('goes on after the writer failed', async () => {
    const { group, commit, fail, settle } = bench()
    const first = group.append(append('a'))
    await settle()
    const second = group.append(append('b'))
    const failed = expect(first).rejects.toThrow('gone')
    await fail(new Error('gone'))
    await failed
    await commit()
    await expect(second).resolves.toMatchObject({ session: 'b' })
  })
})
