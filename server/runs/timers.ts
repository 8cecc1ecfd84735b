import type { Timers } from '../agents/port'

/** The machine's own clock, for the entry file and for tests with real processes. Timers do not keep the process alive. */
export function systemTimers(): Timers {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after: (ms, then) => {
      const timer = setTimeout(then, ms)
      timer.unref()
      return () => clearTimeout(timer)
    },
  }
}

/** `work`, or `late()` when it has not ended after `ms`. What comes later is not looked at. */
export function within<T>(timers: Timers, ms: number, work: Promise<T>, late: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(ms, () => resolve(late()))
    work.then(resolve, reject).finally(cancel)
  })
}
