import type { LiveRun } from './run'
import { stop } from './stop'

type StopBy = Parameters<typeof stop>[1]

/** What a stop can be asked of: a live run, or one that an agent is being asked about. */
export interface Stoppable { profile: string; session: string; stop(by: StopBy): Promise<boolean> }

/**
 * The run that our restart has settled and whose agent is being asked about it. Until it has answered nothing starts, and nobody knows whether there is anything to
 * stop: a stop is claimed at once and answered by what is found. Whoever opens the next run of the turn opens it as stopping then, in one append: what was
 * answered `true` outlasts a kill, and before that append nothing was answered.
 */
export class Attaching implements Stoppable {
  /** Who has asked for a stop. */
  by: StopBy | null = null
  #known = unknown()

  /** `run`: the settled one, by which it is known until its turn goes on. */
  constructor(readonly run: string, readonly session: string, readonly profile: string) {}

  /** False when the turn does not go on, or had ended by itself. Rejects when the store did not take it: then nothing is claimed any more. */
  async stop(by: StopBy): Promise<boolean> {
    this.by ??= by
    const run = await this.#known.promise
    return run !== null && stop(run, by)
  }

  /** The run that goes on; null: none does. */
  found(run: LiveRun | null): void {
    this.#known.resolve(run)
  }

  /** The store did not take the next run, which will be tried again. */
  failed(error: unknown): void {
    const asked = this.#known
    this.#known = unknown()
    this.by = null
    asked.reject(error)
  }
}

/** A promise with its two ends; that nobody waits for it is no fault. */
function unknown() {
  let resolve!: (run: LiveRun | null) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<LiveRun | null>((yes, no) => ([resolve, reject] = [yes, no]))
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}
