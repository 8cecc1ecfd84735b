import { expect, test } from 'vitest'
import { pageSurroundings } from '../../../../src/backend/surroundings'

const shown = (persisted: boolean) => Object.assign(new Event('pageshow'), { persisted })

test('a page doubts its connection when the network or the page comes back, not when it is shown for the first time', () => {
  let doubts = 0
  const end = pageSurroundings().onDoubt(() => (doubts += 1))
  window.dispatchEvent(shown(false))
  expect(doubts).toBe(0)
  window.dispatchEvent(shown(true))
  window.dispatchEvent(new Event('online'))
  expect(doubts).toBe(2)
  end()
  window.dispatchEvent(new Event('online'))
  expect(doubts).toBe(2)
})

test('it hears of being hidden and of leaving', () => {
  const heard: string[] = []
  const surroundings = pageSurroundings()
  surroundings.onVisibility(() => heard.push('visibility'))
  surroundings.onLeaving(() => heard.push('leaving'))
  document.dispatchEvent(new Event('visibilitychange'))
  window.dispatchEvent(new Event('pagehide'))
  expect(heard).toEqual(['visibility', 'leaving'])
})
