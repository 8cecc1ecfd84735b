import { describe, expect, test } from 'vitest'
import { sideWidth, SIDE } from '../../../../src/shell/divider'
import { makeSwipe, SWIPE } from '../../../../src/shell/swipe'

const draw = (...points: [number, number][]) => {
  const swipe = makeSwipe()
  const begun = swipe.start(...points[0]!)
  const moves = points.slice(1).map((point) => swipe.move(...point))
  return { begun, moves, back: swipe.end() }
}

describe('a swipe from the edge', () => {
  test('goes back once it is long enough, and the screen follows the finger', () => {
    expect(draw([10, 300], [16, 301], [40, 303], [90, 310])).toEqual({ begun: true, moves: [null, 30, 80], back: true })
    expect(draw([10, 300], [40, 303], [60, 303]).back).toBe(false)
  })
  test('begins at the edge only', () => {
    expect(draw([SWIPE.edge + 1, 300], [200, 300])).toEqual({ begun: false, moves: [null], back: false })
  })
  test('is scrolling when it goes down first, and is lost when it goes down far', () => {
    expect(draw([10, 300], [14, 315], [200, 315]).back).toBe(false)
    expect(draw([10, 300], [60, 300], [120, 300 + SWIPE.vertical + 1], [200, 300])).toMatchObject({ moves: [50, null, null], back: false })
  })
  test('a finger that returns does not go back', () => {
    expect(draw([10, 300], [120, 300], [15, 300]).back).toBe(false)
  })
})

describe('the width of the sidebar', () => {
  test('stays within its limits, and what is no number is none', () => {
    expect([sideWidth('300'), sideWidth('10'), sideWidth('9999')]).toEqual([300, SIDE.min, SIDE.max])
    expect([sideWidth(null), sideWidth(''), sideWidth('wide')]).toEqual([null, null, null])
  })
})
