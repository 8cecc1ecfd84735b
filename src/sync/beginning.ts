import type { Clock } from './clock'

/** How long the first connection waits for the copies, ms. */
const COPIES_MS = 300

export interface Beginning {
  begun(): boolean
  /** Resolves when it has begun. */
  readonly reached: Promise<void>
  /** It never begins, unless it has. */
  cancel(): void
}

/** The stream is opened from the copy's cursor, so it waits for the copies to be read, but not for a database that hangs. */
export function makeBeginning(clock: Clock, read: () => Promise<void>, begin: () => void): Beginning {
  let begun = false
  let over = false
  let reach = (): void => undefined
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  function once(): void {
    if (begun || over) return
    begun = true
    reach()
    begin()
  }
  const cancelWait = clock.after(COPIES_MS, once)
  void read().then(once)
  return {
    begun: () => begun,
    reached,
    cancel() {
      over = true
      cancelWait()
    },
  }
}
