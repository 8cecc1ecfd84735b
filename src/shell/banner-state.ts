import { createEffect, createSignal, onCleanup, untrack, type Accessor } from 'solid-js'
import type { Connection } from '../sync/port'

/** What the page says of its connection: nothing, that it is lost (after a while, so that short gaps stay silent), that it is back (briefly). */
export type BannerState = { show: 'nothing' } | { show: 'lost'; since: number; attempt: number } | { show: 'back' }

export const LOST_AFTER_MS = 1500
export const BACK_FOR_MS = 2000

/** `later` runs once after some ms and returns its cancel. */
export function createBanner(connection: Accessor<Connection>, later: (ms: number, run: () => void) => () => void): Accessor<BannerState> {
  const [state, set] = createSignal<BannerState>({ show: 'nothing' })
  const down = () => {
    const now = connection()
    return now.state === 'reconnecting' || now.state === 'offline' ? now : null
  }
  let waiting: (() => void) | undefined
  const stop = () => {
    waiting?.()
    waiting = undefined
  }
  createEffect(() => {
    const lost = down()
    const shown = untrack(state)
    if (lost) {
      const show = (): BannerState => ({ show: 'lost', since: lost.since, attempt: lost.attempt })
      if (shown.show === 'lost') set(show())
      else if (!waiting || shown.show === 'back') {
        stop()
        waiting = later(LOST_AFTER_MS, () => {
          waiting = undefined
          const still = untrack(down)
          if (still) set({ show: 'lost', since: still.since, attempt: still.attempt })
        })
      }
      return
    }
    if (connection().state !== 'connected') return
    stop()
    if (shown.show !== 'lost') return
    set({ show: 'back' })
    waiting = later(BACK_FOR_MS, () => {
      waiting = undefined
      set({ show: 'nothing' })
    })
  })
  onCleanup(stop)
  return state
}
