import type { Timers } from '../port'

/** Thrown by a wait that stop has ended. */
export class Stopped extends Error {}

/** Waits of a scripted turn: on the injected timers, scaled, and ended at once by stop. */
export class Pace {
  #stopped = false
  #wake = new Set<() => void>()

  constructor(private readonly timers: Timers, private readonly scale: number) {}

  get stopped(): boolean {
    return this.#stopped
  }

  stop(): void {
    this.#stopped = true
    for (const wake of [...this.#wake]) wake()
  }

  now(): number {
    return this.timers.now()
  }

  /** Calls `then` after `ms`, unscaled: deadlines that are shown to people mean what they say. Answers what cancels it. */
  after(ms: number, then: () => void): () => void {
    return this.timers.after(ms, then)
  }

  /** Resolves after `ms` × scale; rejects with `Stopped`. */
  wait(ms: number): Promise<void> {
    const scaled = ms * this.scale
    if (this.#stopped) return Promise.reject(new Stopped())
    if (scaled <= 0) return Promise.resolve()
    return this.until((done) => this.timers.after(scaled, done))
  }

  /** Resolves when `begin`'s callback is called; rejects with `Stopped`. `begin` may answer what undoes it. */
  until(begin: (done: () => void) => (() => void) | void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#stopped) return reject(new Stopped())
      const begun: { undo?: (() => void) | void; over?: true } = {}
      const end = (then: () => void): void => {
        if (begun.over) return
        begun.over = true
        this.#wake.delete(wake)
        begun.undo?.()
        then()
      }
      const wake = (): void => end(() => reject(new Stopped()))
      this.#wake.add(wake)
      begun.undo = begin(() => end(resolve))
      // It may have ended before it could say how it is undone.
      if (begun.over) begun.undo?.()
    })
  }
}
