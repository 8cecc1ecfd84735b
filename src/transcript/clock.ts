import { createSignal, onCleanup, type Accessor } from 'solid-js'

/** A clock of the page's server time, moved once a second while somebody reads it; all readers share one timer. */
export function createClock(read: () => number): () => Accessor<number> {
  const [now, set] = createSignal(read())
  let readers = 0
  let timer: ReturnType<typeof setInterval> | undefined
  return () => {
    if (readers++ === 0) {
      set(read())
      timer = setInterval(() => set(read()), 1000)
    }
    onCleanup(() => {
      if (--readers === 0) clearInterval(timer)
    })
    return now
  }
}
