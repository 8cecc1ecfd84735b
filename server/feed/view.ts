import type { Timers } from '../agents/port'
import { BEAT_MS } from '../contract/wire'
import type { Feed } from './feed'
import { KEEPALIVE } from './frames'
import type { Outlet } from './outlet'

export interface ViewParts {
  feed: Pick<Feed, 'watch' | 'watchProfile' | 'onEnd'>
  timers: Timers
}

/** One older stream as long as it lives. Its work is a loop: look, tell, wait for news. */
export interface View {
  readonly over: boolean
  /** Something has changed: `news` resolves once more. */
  signal(): void
  /** Nothing more is told. */
  finish(): void
  /** Resolves when there is news since it was last asked, or the view is over. */
  news(): Promise<void>
  /** Ends the stream and everything that belongs to it. */
  close(): void
}

/**
 * What the older streams have in common (spec/log.md §8): they hold nothing durable, a commit only wakes them, they prove that they live with a comment, and they end with
 * their reader or with the server.
 */
export function openView({ feed, timers }: ViewParts, outlet: Outlet): View {
  let over = outlet.closed
  let fresh = false
  let wake: () => void = () => {}
  const signal = () => {
    fresh = true
    wake()
  }
  const finish = () => {
    over = true
    wake()
  }
  const offEnd = feed.onEnd(finish)
  outlet.onClose(finish)
  let cancelBeat = timers.after(BEAT_MS, function beat() {
    if (outlet.idle) outlet.send(KEEPALIVE)
    cancelBeat = timers.after(BEAT_MS, beat)
  })
  return {
    get over() {
      return over
    },
    signal,
    finish,
    async news() {
      while (!fresh && !over) await new Promise<void>((resolve) => (wake = resolve))
      fresh = false
    },
    close() {
      over = true
      offEnd()
      cancelBeat()
      outlet.end()
    },
  }
}
