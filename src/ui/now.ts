import { createSignal, onCleanup, type Accessor } from 'solid-js'

/** A clock for what shows ages and running times; all readers of one pace share one timer, which stands still while nobody reads. */
export interface Now {
  /** Server-independent ms, moved once a second while at least one reader of it is mounted. */
  second: () => Accessor<number>
  /** The same, moved every half minute. */
  minute: () => Accessor<number>
}

export function makeNow(read: () => number, every: (ms: number, run: () => void) => () => void): Now {
  const pace = (ms: number) => {
    const [now, set] = createSignal(read())
    let readers = 0
    let stop: (() => void) | undefined
    return () => {
      if (readers++ === 0) {
        set(read())
        stop = every(ms, () => set(read()))
      }
      onCleanup(() => {
        if (--readers === 0) stop?.()
      })
      return now
    }
  }
  return { second: pace(1000), minute: pace(30_000) }
}

/** The page's own clock. */
export const now = makeNow(Date.now, (ms, run) => {
  const id = setInterval(run, ms)
  return () => clearInterval(id)
})
