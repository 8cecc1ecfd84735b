import type { Timers } from '../../server/agents/port'

/** A clock that only a test moves. Timers fire in order of their time, then of their making; promises settle between them. */
export class FakeTimers implements Timers {
  #now: number
  #monotonic = 0
  #next = 0
  #timers = new Map<number, { at: number; then: () => void }>()

  constructor(start = 1_700_000_000_000) {
    this.#now = start
  }

  now = (): number => this.#now + this.#monotonic
  monotonic = (): number => this.#monotonic

  after = (ms: number, then: () => void): (() => void) => {
    const id = this.#next++
    this.#timers.set(id, { at: this.#monotonic + Math.max(0, ms), then })
    return () => this.#timers.delete(id)
  }

  /** The machine's clock is set: only what `now` says moves, timers do not. */
  jump(ms: number): void {
    this.#now += ms
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size
  }

  /** Lets `ms` pass. */
  async advance(ms: number): Promise<void> {
    const until = this.#monotonic + ms
    await settle()
    for (;;) {
      let first: [number, { at: number; then: () => void }] | undefined
      for (const entry of this.#timers) if (entry[1].at <= until && (!first || entry[1].at < first[1].at)) first = entry
      if (!first) break
      this.#timers.delete(first[0])
      this.#monotonic = Math.max(this.#monotonic, first[1].at)
      first[1].then()
      await settle()
    }
    this.#monotonic = until
    await settle()
  }
}

/** Lets everything that needs no time come to rest. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve))
}
