import type { Timers } from '../agents/port'

/** What the watchdog looks at: both are asked when its time comes, never pushed. */
export interface Watched {
  /** Monotonic ms of the last event that proves life. */
  readonly lastEventAt: number
  /** True while the agent waits for a tool or a person; then silence proves nothing. */
  readonly waits: boolean
}

/**
 * Calls `silent` once when nothing has come from an agent for `budget` ms while it waited for its model (agents.md §4). One timer at a
 * time, whatever the number of events. Returns what ends the watch.
 */
export function watch(timers: Timers, budget: number, watched: Watched, silent: () => void): () => void {
  let ended = false
  let cancel = (): void => undefined
  let heldUntil = 0
  const look = (): void => {
    if (ended) return
    const now = timers.monotonic()
    if (watched.waits) heldUntil = now
    const left = Math.max(watched.lastEventAt, heldUntil) + budget - now
    if (left <= 0) {
      ended = true
      silent()
    } else cancel = timers.after(left, look)
  }
  look()
  return () => {
    ended = true
    cancel()
  }
}
