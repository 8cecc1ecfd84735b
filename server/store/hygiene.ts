import type { Timers } from '../agents/port'
import type { Store } from './port'

export interface HygieneParts {
  store: Pick<Store, 'prune'>
  timers: Timers
  /** How long row events of a settled run stay in the log, ms; 30 days unless said otherwise. `Infinity`: always. */
  keepMs?: number
  /** How often it looks, ms. */
  every?: number
  /** Takes what went wrong; the next look tries again. */
  report(error: unknown): void
}

/** Work that nobody waits for, in small steps between what somebody waits for. */
export interface Hygiene {
  start(): void
  /** Resolves when nothing of it is under way; to be awaited before the store closes. */
  stop(): Promise<void>
}

export const KEEP_EVENTS_MS = 30 * 24 * 3600 * 1000
const EVERY_MS = 3600 * 1000
/** A start has other things to do. */
const FIRST_MS = 60 * 1000
/** Events of one step, and the rest between two: a few ms of the writer, then its appends. */
const STEP = 500
const REST_MS = 50

/** Prunes the log (spec/log.md §5): rows hold the fold of what goes, so nothing that a person sees changes. */
export function makeHygiene({ store, timers, keepMs = KEEP_EVENTS_MS, every = EVERY_MS, report }: HygieneParts): Hygiene {
  let cancel: (() => void) | null = null
  let stepping: Promise<void> | null = null
  let stopped = false

  const wait = (ms: number): void => {
    cancel = timers.after(ms, () => (stepping = step().finally(() => (stepping = null))))
  }
  const step = async (): Promise<void> => {
    let gone = 0
    try {
      gone = await store.prune({ settledBefore: timers.now() - keepMs, limit: STEP })
    } catch (error) {
      report(error)
    }
    if (!stopped) wait(gone > 0 ? REST_MS : every)
  }

  return {
    start() {
      if (keepMs !== Infinity) wait(Math.min(FIRST_MS, every))
    },
    async stop() {
      stopped = true
      cancel?.()
      await stepping
    },
  }
}
