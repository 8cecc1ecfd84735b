import { expect, test } from 'vitest'
import type { Event } from '../../../../server/contract/events'
import { Backlog } from '../../../../src/sync/backlog'

const events = (count: number) => Array.from({ length: count }, (_, seq) => ({ seq }) as Event)

test('what waited is handed over once, in order', () => {
  const backlog = new Backlog()
  const [first, second] = events(2)
  backlog.add([first!])
  backlog.add([second!])
  expect(backlog.take()).toEqual([first, second])
  expect(backlog.take()).toEqual([])
})

test('when too much waits, the next hand-over says that some was let go, and the one after starts anew', () => {
  const backlog = new Backlog()
  backlog.add(events(2000))
  backlog.add(events(1))
  backlog.add(events(3))
  expect(backlog.take()).toBeNull()
  backlog.add(events(2))
  expect(backlog.take()).toHaveLength(2)
})

test('what a gap left over is in front of what comes next', () => {
  const backlog = new Backlog()
  const [first, second] = events(2)
  backlog.keep([first!])
  backlog.add([second!])
  expect(backlog.take()).toEqual([first, second])
})
