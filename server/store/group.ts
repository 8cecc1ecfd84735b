import { StoreFault, StoreRefusal, type Append, type Committed } from './port'
import type { BatchAnswer } from './protocol'
import type { ReadMark } from './write/mark'
import type { Verdict } from './write/writer'

/** Timers as parameters (law 13). */
export interface Timers { set(run: () => void, ms: number): unknown; clear(timer: unknown): void }

export interface GroupOptions {
  timers: Timers
  /** How long growth waits for company, ms: 25–50 (spec/log.md §5). */
  interval: number
  /** One call at a time; resolves after the commit. */
  commit(entries: (Append | ReadMark)[]): Promise<BatchAnswer>
  /** Told of every committed batch in revision order, before what it holds resolves. */
  committed(batch: Committed[], answer: BatchAnswer): void
}

interface Waiting { entry: Append | ReadMark; resolve(committed: Committed | null): void; reject(error: unknown): void }

/**
 * Group commit. One batch is with the writer at a time. An append that is urgent goes as soon as the writer is free and takes everything that waits with it;
 * one that is not waits for the tick or for `hasten`. While the writer is busy all of them gather.
 */
export class Group {
  #waiting: Waiting[] = []
  #urgent = false
  #busy: Promise<void> | null = null
  #timer: unknown = null
  #closed = false

  constructor(private readonly opts: GroupOptions) {}

  get waiting(): number {
    return this.#waiting.length
  }

  append(append: Append): Promise<Committed> {
    return this.#wait(append, append.urgency) as Promise<Committed>
  }

  /** False for a session that is not there. */
  mark(mark: ReadMark): Promise<boolean> {
    return this.#wait(mark, 'now').then(() => true, (error: unknown) => {
      if (error instanceof StoreRefusal) return false
      throw error
    })
  }

  hasten(): void {
    if (this.#waiting.length > 0) this.#hurry()
  }

  /** Commits what waits and takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true
    this.hasten()
    while (this.#busy) await this.#busy
  }

  #wait(entry: Append | ReadMark, urgency: Append['urgency']): Promise<Committed | null> {
    if (this.#closed) return Promise.reject(new StoreFault('closed', 'the store is closed'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject })
      if (urgency === 'now') this.#hurry()
      else this.#timer ??= this.opts.timers.set(() => this.hasten(), this.opts.interval)
    })
  }

  #hurry(): void {
    this.#urgent = true
    // In a microtask, so that appends made in one go share a commit.
    this.#busy ??= Promise.resolve().then(() => this.#drain())
  }

  async #drain(): Promise<void> {
    while (this.#urgent) {
      this.#urgent = false
      this.#rest()
      const batch = this.#waiting
      this.#waiting = []
      await this.#commit(batch)
    }
    this.#busy = null
  }

  async #commit(batch: Waiting[]): Promise<void> {
    let answer: BatchAnswer
    try {
      answer = await this.opts.commit(batch.map((one) => one.entry))
    } catch (error) {
      for (const one of batch) one.reject(error)
      return
    }
    const outcomes = batch.map((one, i) => outcomeOf(one.entry, answer.verdicts[i]!))
    try {
      this.opts.committed(outcomes.filter((outcome): outcome is Committed => outcome !== null && !(outcome instanceof Error)), answer)
    } catch (error) {
      // A fault of the listener is nobody's refusal: what has committed resolves, and the fault is told to the process.
      queueMicrotask(() => { throw error })
    }
    batch.forEach((one, i) => {
      const outcome = outcomes[i]!
      if (outcome instanceof Error) one.reject(outcome)
      else one.resolve(outcome)
    })
  }

  #rest(): void {
    if (this.#timer !== null) this.opts.timers.clear(this.#timer)
    this.#timer = null
  }
}

function outcomeOf(entry: Append | ReadMark, verdict: Verdict): Committed | StoreRefusal | StoreFault | null {
  if (verdict.state === 'refused') return new StoreRefusal(verdict.why, verdict.receipt)
  if (verdict.state === 'fault') return new StoreFault(verdict.kind, verdict.words)
  if (verdict.state === 'still') return null
  const { rev, profile, entry: moved, removed } = verdict.accepted
  return { rev, session: entry.session, profile, events: 'read' in entry ? [] : entry.events, ...(moved && { entry: moved }), ...(removed && { removed }) }
}
