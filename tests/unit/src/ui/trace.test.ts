import { describe, expect, test } from 'vitest'
import { placeOf } from '../../../../src/ui/popover'
import { mergeTicks, tickWidth, TRACE_LIMIT, type TraceStep } from '../../../../src/ui/ticks'

describe('the trace', () => {
  test('width follows the logarithm of the duration, within its bounds', () => {
    expect(tickWidth(0)).toBe(3)
    expect(tickWidth(1000)).toBe(7)
    expect(tickWidth(7000)).toBe(15)
    expect(tickWidth(3_600_000)).toBe(28)
  })
  test('more steps than fit become one tick of their summed duration, failed if one of them was', () => {
    const step = (state: TraceStep['state'], ms: number): TraceStep => ({ kind: 'tool', state, ms })
    const steps = [step('failed', 10), ...Array.from({ length: TRACE_LIMIT + 4 }, () => step('done', 100)), { kind: 'tool', state: 'live' } as TraceStep]
    const shown = mergeTicks(steps)
    expect(shown).toHaveLength(TRACE_LIMIT)
    expect(shown[0]).toEqual({ kind: 'tool', state: 'failed', ms: 610 })
    expect(shown.at(-1)!.state).toBe('live')
  })
})

describe('the place of a float', () => {
  const view = { width: 1000, height: 800 }
  test('hangs below where there is room, else above', () => {
    expect(placeOf({ left: 100, right: 200, top: 50, bottom: 80 }, { width: 200, height: 300 }, view, 'start').top).toBe(86)
    expect(placeOf({ left: 100, right: 200, top: 700, bottom: 730 }, { width: 200, height: 300 }, view, 'start').top).toBe(394)
  })
  test('never leaves the view', () => {
    expect(placeOf({ left: 950, right: 990, top: 50, bottom: 80 }, { width: 200, height: 300 }, view, 'start').left).toBe(794)
    expect(placeOf({ left: 0, right: 40, top: 50, bottom: 80 }, { width: 200, height: 300 }, view, 'end').left).toBe(6)
  })
})
