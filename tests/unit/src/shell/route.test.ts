import { createRoot, createSignal } from 'solid-js'
import { describe, expect, test } from 'vitest'
import { BACK_FOR_MS, createBanner, LOST_AFTER_MS } from '../../../../src/shell/banner-state'
import { parseRoute } from '../../../../src/shell/route'
import type { Connection } from '../../../../src/sync/port'
import { isOurScript } from '../../../../src/trusted'

describe('routes', () => {
  test('known paths lead somewhere, others to a page that says so', () => {
    expect(parseRoute('/')).toEqual({ name: 'home' })
    expect(parseRoute('/session/ses_1')).toEqual({ name: 'session', id: 'ses_1' })
    expect(parseRoute('/settings/appearance')).toEqual({ name: 'appearance' })
    for (const path of ['/session', '/session/..%2f', '/session/a/b', '/settings/other', '/nowhere']) expect(parseRoute(path)).toEqual({ name: 'missing' })
  })
})

describe('scripts of the page', () => {
  const origin = 'http://localhost:8787'
  test('are our two workers and nothing else', () => {
    expect(isOurScript('/sw.js', origin)).toBe(true)
    expect(isOurScript('/assets/worker-B1x_9.js', origin)).toBe(true)
    for (const url of ['/assets/index-B1x.js', 'https://evil.example/sw.js', '//evil.example/sw.js', '/sw.js?x=1', 'data:text/javascript,1', '/api/session', '/sw.js/../api/media']) {
      expect(isOurScript(url, origin), url).toBe(false)
    }
  })
})

describe('the banner', () => {
  function rig() {
    let now = 0
    let timers: { at: number; run: () => void }[] = []
    const later = (ms: number, run: () => void) => {
      const timer = { at: now + ms, run }
      timers.push(timer)
      return () => {
        timers = timers.filter((one) => one !== timer)
      }
    }
    const pass = (ms: number) => {
      now += ms
      const due = timers.filter((timer) => timer.at <= now)
      timers = timers.filter((timer) => timer.at > now)
      for (const timer of due) timer.run()
    }
    const [connection, set] = createSignal<Connection>({ state: 'connected', since: 0 })
    const [banner, dispose] = createRoot((dispose) => [createBanner(connection, later), dispose] as const)
    return { banner, set, pass, dispose }
  }

  test('stays silent over a short gap', () => {
    const { banner, set, pass, dispose } = rig()
    set({ state: 'reconnecting', since: 1, attempt: 1 })
    pass(LOST_AFTER_MS - 1)
    set({ state: 'connected', since: 2 })
    pass(LOST_AFTER_MS)
    expect(banner().show).toBe('nothing')
    dispose()
  })

  test('appears after a while, counts attempts, says briefly that it is back, and leaves', () => {
    const { banner, set, pass, dispose } = rig()
    set({ state: 'reconnecting', since: 1, attempt: 1 })
    pass(LOST_AFTER_MS)
    expect(banner()).toEqual({ show: 'lost', since: 1, attempt: 1 })
    set({ state: 'offline', since: 1, attempt: 2 })
    expect(banner()).toEqual({ show: 'lost', since: 1, attempt: 2 })
    set({ state: 'connected', since: 9 })
    expect(banner().show).toBe('back')
    pass(BACK_FOR_MS)
    expect(banner().show).toBe('nothing')
    dispose()
  })

  test('a further attempt does not start the wait anew', () => {
    const { banner, set, pass, dispose } = rig()
    set({ state: 'reconnecting', since: 1, attempt: 1 })
    pass(LOST_AFTER_MS - 100)
    set({ state: 'reconnecting', since: 1, attempt: 2 })
    pass(100)
    expect(banner()).toMatchObject({ show: 'lost', attempt: 2 })
    dispose()
  })
})
