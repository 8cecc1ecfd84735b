import type { Timers } from '../agents/port'
import { originalId } from '../contract/original'
import type { OriginalFrame, OriginalStream } from '../contract/original'
import { encodeFrame } from './frames'
import type { Outlet } from './outlet'
import { TimedReasoning } from './told-reasoning'

/** Up to where a reader has been told: an event's `seq` and the frame in it. */
export interface Place { seq: number; k: number }

/** Brings the original's frames to one reader: what it has already is left out, and `reasoning` keeps its 10 Hz. */
export class FrameTeller {
  /** How many frames the reader was given. */
  told = 0
  /** Null: the reader has nothing yet. */
  from: Place | null = null
  readonly #reasoning: TimedReasoning

  constructor(
    timers: Timers,
    private readonly outlet: Outlet,
  ) {
    this.#reasoning = new TimedReasoning(timers, ({ text, id }) => outlet.send(encodeFrame('reasoning', { text }, id)))
  }

  /** Of one event, in order. True when the original closes its stream with them. */
  tell(stream: Pick<OriginalStream, 'run' | 'startedSeq'>, seq: number, frames: readonly OriginalFrame[]): boolean {
    for (const { k, name, data, takeBack } of frames) {
      if (takeBack !== undefined) this.#reasoning.takeBack(takeBack)
      else if (!this.#has(seq, k)) {
        const id = originalId(stream, seq, k)
        if (name === 'reasoning') {
          this.told++
          this.#reasoning.add(String(data.text), id)
        } else this.send(name, data, id)
      }
    }
    return frames.some(({ ends }) => ends)
  }

  /** Any other frame, behind the reasoning that waits. */
  send(name: string, data: unknown, id?: string): void {
    this.told++
    this.flush()
    this.outlet.send(encodeFrame(name, data, id))
  }

  flush(): void {
    this.#reasoning.flush()
  }

  #has(seq: number, k: number): boolean {
    return this.from !== null && (seq < this.from.seq || (seq === this.from.seq && k <= this.from.k))
  }
}
