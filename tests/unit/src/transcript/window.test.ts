import { createRoot, createSignal } from 'solid-js'
import { expect, test } from 'vitest'
import type { TurnCell } from '../../../../src/transcript/model'
import { createTurnWindow, FIRST_ROWS, MOST_ROWS, type TurnWindow } from '../../../../src/transcript/window'

const turn = (i: number, rows = 2): TurnCell => ({ id: `t${i}`, turn: () => undefined, question: () => undefined, parts: () => [], size: () => rows, length: () => 0 })
const turns = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => turn(from + i))

function inRoot(first: TurnCell[], run: (shown: TurnWindow, set: (turns: TurnCell[]) => void) => void): void {
  createRoot((dispose) => {
    const [all, set] = createSignal<TurnCell[]>(first)
    run(createTurnWindow(all), (next) => void set(next))
    dispose()
  })
}
const ids = (shown: TurnWindow) => [shown.shown()[0]?.id, shown.shown().at(-1)?.id]
const rows = (shown: TurnWindow) => shown.shown().reduce((sum, cell) => sum + cell.size(), 0)

test('a chat opens with its newest rows, and a new turn joins them', () => {
  inRoot(turns(0, 1000), (shown, set) => {
    expect(ids(shown)).toEqual(['t970', 't999'])
    expect(rows(shown)).toBe(FIRST_ROWS)
    shown.trim()
    set(turns(0, 1001))
    expect(ids(shown)).toEqual(['t970', 't1000'])
  })
})

test('older windows that are folded in above do not change what is shown', () => {
  inRoot(turns(500, 600), (shown, set) => {
    shown.older()
    const before = ids(shown)
    set(turns(0, 600))
    expect(ids(shown)).toEqual(before)
  })
})

test('going up adds steps until the first turn, never more than the limit, and the far end can be had back', () => {
  inRoot(turns(0, 1000), (shown) => {
    let steps = 0
    while (shown.older()) {
      steps++
      expect(rows(shown)).toBeLessThanOrEqual(MOST_ROWS)
    }
    expect(steps).toBeGreaterThan(10)
    expect(shown.shown()[0]!.id).toBe('t0')
    expect(shown.atEnd()).toBe(false)
    while (shown.newer()) expect(rows(shown)).toBeLessThanOrEqual(MOST_ROWS)
    expect(shown.shown().at(-1)!.id).toBe('t999')
    expect(shown.shown()[0]!.id).not.toBe('t0')
    shown.reset()
    expect(ids(shown)).toEqual(['t970', 't999'])
    expect(shown.atEnd()).toBe(true)
  })
})

test('a turn anywhere can be shown, and one that is shown changes nothing', () => {
  inRoot(turns(0, 1000), (shown) => {
    expect(shown.include('t10')).toBe(true)
    expect(shown.shown().some((cell) => cell.id === 't10')).toBe(true)
    expect(rows(shown)).toBeLessThanOrEqual(MOST_ROWS)
    const before = ids(shown)
    shown.include('t12')
    expect(ids(shown)).toEqual(before)
    expect(shown.include('nowhere')).toBe(false)
  })
})

test('while the end is followed, turns at the head leave once there are too many', () => {
  inRoot(turns(0, 40), (shown, set) => {
    shown.trim()
    set(turns(0, 400))
    expect(rows(shown)).toBeGreaterThan(MOST_ROWS)
    shown.trim()
    expect(rows(shown)).toBeLessThanOrEqual(MOST_ROWS)
    expect(shown.shown().at(-1)!.id).toBe('t399')
  })
})

test('one turn larger than the limit is shown whole', () => {
  inRoot([turn(0), turn(1, MOST_ROWS * 2)], (shown) => {
    shown.trim()
    expect(ids(shown)).toEqual(['t1', 't1'])
    shown.older()
    expect(shown.shown().some((cell) => cell.id === 't0')).toBe(true)
  })
})

test('an empty chat shows nothing and takes its first turn', () => {
  inRoot([], (shown, set) => {
    expect(shown.shown()).toEqual([])
    expect(shown.older()).toBe(false)
    set([turn(0)])
    expect(ids(shown)).toEqual(['t0', 't0'])
  })
})
