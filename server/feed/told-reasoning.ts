import type { Timers } from '../agents/port'
import { ReasoningBuffer } from '../contract/reasoning-buffer'
import type { ToldReasoning } from '../contract/reasoning-buffer'

/** The 10 Hz rule of `reasoning` (settlement.md §4.3) with a clock: what waits is told when it is due, or at a flush. */
export class TimedReasoning {
  #buffer = new ReasoningBuffer()
  #cancel: (() => void) | undefined

  constructor(
    private readonly timers: Timers,
    private readonly send: (told: ToldReasoning) => void,
  ) {}

  add(text: string, id: string): void {
    this.#tell(this.#buffer.add(text, id, this.timers.monotonic()))
    const due = this.#buffer.due(this.timers.monotonic())
    if (due !== null) this.#cancel ??= this.timers.after(due, () => this.flush())
  }

  /** Words that proved to be an echo: what of them still waits is never told. */
  takeBack(units: number): void {
    this.#buffer.takeBack(units)
  }

  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#tell(this.#buffer.take(this.timers.monotonic()))
  }

  #tell(told: ToldReasoning | null): void {
    if (told) this.send(told)
  }
}
