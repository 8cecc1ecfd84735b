import type { Timers } from '../agents/port'
import { Refusal } from '../contract/problems'
import type { Limits } from './limits'
import { refusalOf } from './refuse'

/** The commands of one session, one after the other (law 8). */
export class Serial {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(private readonly timers: Timers, private readonly retry: Limits['retry']) {}

  /** True while a command runs or waits. */
  get busy(): boolean {
    return this.#waiting > 0
  }

  /** After every command that was given before. What the store could not do is told as a refusal. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting++
    const mine = this.#last.then(work).catch((error: unknown) => { throw refusalOf(error) })
    this.#last = mine.then(() => this.#waiting--, () => this.#waiting--)
    return mine
  }

  /** For what nobody waits for: tried again, ever more rarely, until the store took it, or can never take it. */
  async until(work: () => Promise<unknown>): Promise<void> {
    this.#waiting++
    for (let pause = this.retry.first; ; pause = Math.min(pause * 2, this.retry.most)) {
      try {
        await work()
        break
      } catch (error) {
        if (isOver(error)) break
        await new Promise<void>((resolve) => this.timers.after(pause, resolve))
      }
    }
    this.#waiting--
  }
}

/** The store is closed or the chat is gone. */
function isOver(error: unknown): boolean {
  return error instanceof Refusal && (error.problem.code === 'shutting_down' || error.problem.code === 'session_not_found')
}
