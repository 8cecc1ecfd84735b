import { describe, expect, test } from 'vitest'
import type { ListEntry } from '../../../../server/contract/listing'
import { groupsOf, holdStill, type Around } from '../../../../src/sessions/grouping'

// A Wednesday, noon, in the zone of the machine: groups follow local days.
const NOW = new Date(2026, 10, 18, 12, 0, 0).getTime()
const at = (days: number, hour = 12) => new Date(2026, 10, 18 - days, hour, 0, 0).getTime()

let made = 0
function entry(part: Partial<ListEntry> = {}): ListEntry {
  made++
  return {
    id: `ses_${made}`, rev: made, title: `Chat ${made}`, profile: 'default', workspace: '/w', agent: null, model: null, pinned: false, archived: false,
    createdAt: 0, lastAt: NOW, count: 2, state: 'idle', questions: 0, ticks: [], ...part,
  }
}
const online: Around = { now: NOW, offline: false, saved: () => true }
const shape = (entries: ListEntry[], around = online) => groupsOf(entries, around).map((group) => [group.id, group.entries.map((one) => one.id)])

describe('groups of the chat list', () => {
  test('a chat stands in the first group that fits, in the order of the design', () => {
    const needs = entry({ state: 'asking', questions: 1, pinned: true })
    const working = entry({ state: 'working', pinned: true })
    const pinned = entry({ pinned: true, lastAt: at(100) })
    const today = entry({ lastAt: at(0, 0) })
    const yesterday = entry({ lastAt: at(1, 0) })
    const thisWeek = entry({ lastAt: at(2, 0) })
    const lastWeek = entry({ lastAt: at(3, 23) })
    const earlier = entry({ lastAt: at(10) })
    expect(shape([earlier, lastWeek, thisWeek, yesterday, today, pinned, working, needs])).toEqual([
      ['needs', [needs.id]],
      ['working', [working.id]],
      ['pinned', [pinned.id]],
      ['today', [today.id]],
      ['yesterday', [yesterday.id]],
      ['thisWeek', [thisWeek.id]],
      ['lastWeek', [lastWeek.id]],
      ['earlier', [earlier.id]],
    ])
  })

  test('the edges of days and weeks belong to the later side', () => {
    const lastOfWeekBefore = entry({ lastAt: at(9, 23) })
    const firstOfLastWeek = entry({ lastAt: at(9, 0) })
    const before = entry({ lastAt: at(10, 23) })
    expect(shape([lastOfWeekBefore, firstOfLastWeek, before])).toEqual([
      ['lastWeek', [lastOfWeekBefore.id, firstOfLastWeek.id]],
      ['earlier', [before.id]],
    ])
  })

  test('yesterday wins over this week on a Monday, where yesterday was last week', () => {
    const monday = new Date(2026, 10, 16, 9).getTime()
    const sunday = entry({ lastAt: new Date(2026, 10, 15, 20).getTime() })
    const saturday = entry({ lastAt: new Date(2026, 10, 14, 20).getTime() })
    expect(shape([sunday, saturday], { ...online, now: monday })).toEqual([['yesterday', [sunday.id]], ['lastWeek', [saturday.id]]])
  })

  test('the newest stands first, and an archived chat nowhere', () => {
    const older = entry({ lastAt: NOW - 2000 })
    const newer = entry({ lastAt: NOW - 1000 })
    expect(shape([older, newer, entry({ archived: true })])).toEqual([['today', [newer.id, older.id]]])
  })

  test('offline tells what can be read from what cannot, and nothing claims to work', () => {
    const here = entry({ state: 'working' })
    const notHere = entry({ state: 'asking', questions: 1 })
    expect(shape([here, notHere], { now: NOW, offline: true, saved: (id) => id === here.id })).toEqual([['here', [here.id]], ['notHere', [notHere.id]]])
  })
})

describe('a list under the pointer', () => {
  test('keeps every chat in its place while its content moves on', () => {
    const a = entry({ lastAt: NOW - 1000 })
    const b = entry({ lastAt: NOW - 2000 })
    const before = groupsOf([a, b], online)
    const moved = { ...b, lastAt: NOW, state: 'working' as const, title: 'New title' }
    const held = holdStill(before, groupsOf([a, moved], online))
    expect(held.map((group) => [group.id, group.entries.map((one) => one.id)])).toEqual([['today', [a.id, b.id]]])
    expect(held[0]!.entries[1]).toBe(moved)
  })

  test('lets new chats in where they belong and deleted ones out', () => {
    const a = entry({ lastAt: NOW - 1000 })
    const b = entry({ lastAt: NOW - 2000 })
    const born = entry({ state: 'working' })
    const held = holdStill(groupsOf([a, b], online), groupsOf([b, born], online))
    expect(held.map((group) => [group.id, group.entries.map((one) => one.id)])).toEqual([['working', [born.id]], ['today', [b.id]]])
  })
})
