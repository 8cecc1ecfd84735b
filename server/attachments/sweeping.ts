import type { Timers } from '../agents/port'
import type { Attachments } from './port'

/** How often files that nobody named are looked for, ms, and when first: a start has other things to do. */
const EVERY_MS = 3600 * 1000
const FIRST_MS = 90 * 1000

/** Sweeps now and then until `stop`, which resolves when no sweep is under way. What goes wrong is reported and tried again. */
export function startSweeping({ attachments, timers, report }: { attachments: Attachments; timers: Timers; report(error: unknown): void }): { stop(): Promise<void> } {
  let stopped = false
  let under: Promise<void> = Promise.resolve()
  let cancel = (): void => undefined
  const wait = (ms: number): void => {
    cancel = timers.after(ms, () => {
      under = attachments.sweep().catch(report).then(() => {
        if (!stopped) wait(EVERY_MS)
      })
    })
  }
  wait(FIRST_MS)
  return {
    stop() {
      stopped = true
      cancel()
      return under
    },
  }
}
