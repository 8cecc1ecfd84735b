import { describe, expect, test } from 'vitest'
import { comparePos, isPathSafeId, makeMint, posAfter } from '../../../../server/contract/ids'

describe('positions', () => {
  test('each one stands behind the one before, by code unit, over every change of width', () => {
    let last = ''
    for (let i = 0; i < 60_000; i++) {
      const next = posAfter(last)
      if (comparePos(last, next) >= 0 || !(last < next)) throw new Error(`${next} does not stand behind ${last}`)
      last = next
    }
    expect(last).toMatch(/^[0-9a-z]+$/)
  })

  test('a key placed between two others does not disturb what is appended later', () => {
    const a = posAfter('')
    const b = posAfter(a)
    const between = `${a}V`
    expect([b, between, a].sort(comparePos)).toEqual([a, between, b])
    expect(comparePos(between, posAfter(between))).toBeLessThan(0)
  })
})

describe('the minter', () => {
  test('never gives an id twice, also when the clock stands still or goes back and chance repeats itself', () => {
    const times = [5, 5, 5, 4, 3, 9]
    const mint = makeMint(() => times.shift() ?? 9, () => 0)
    const ids = Array.from({ length: 2000 }, () => mint('row'))
    expect(new Set(ids).size).toBe(2000)
    expect([...ids].sort(comparePos)).toEqual(ids)
  })

  test('makes ids that sort by birth and are safe as a path part', () => {
    let now = 1_700_000_000_000
    const mint = makeMint(() => (now += 3), Math.random)
    const ids = Array.from({ length: 500 }, () => mint('trn'))
    expect([...ids].sort(comparePos)).toEqual(ids)
    expect(ids.every(isPathSafeId)).toBe(true)
    expect(ids[0]).toMatch(/^trn_/)
  })
})

test('foreign ids are taken only where they cannot leave a folder', () => {
  expect(['abc', 'A-b_9'].every(isPathSafeId)).toBe(true)
  expect(['', '.', '..', 'a/b', 'a.b', 'ä', 'a b', 'x'.repeat(129), 7, null, undefined].some(isPathSafeId)).toBe(false)
})
