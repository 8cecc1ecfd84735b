import type { Delivery } from '../port'
import { Stopped } from './pace'
import type { Pace } from './pace'
import type { RelayMode } from './step'

/** What reached the agent for one of its questions: a choice id, words, or a secret's value (null: not given). `over`: it gave up by itself, or was told that the answer is lost. */
export type Answer = { kind: 'choice' | 'text'; text: string } | { kind: 'secret'; value: string | null } | { kind: 'over' }

/**
 * The questions that a scripted turn waits for, each by its handle, and the ways in which an answer may fail to arrive. It knows nothing of what is
 * asked.
 */
export class Asked {
  #waiting = new Map<string, { kind: 'choice' | 'text' | 'secret'; take: (answer: Answer) => void }>()
  #count = 0
  #relay: RelayMode | null = null

  constructor(private readonly pace: Pace) {}

  /** Sets what becomes of the next answer. */
  set relay(mode: RelayMode) {
    this.#relay = mode
  }

  /** A handle for a new question. */
  handle(): string {
    return `q${++this.#count}`
  }

  /** Waits for the answer to `question`; `raise` tells that it is asked. `ms`: real time after which the agent gives up. Rejects when the turn is stopped. */
  async wait(question: string, kind: 'choice' | 'text' | 'secret', raise: () => void, ms?: number): Promise<Answer> {
    let answer: Answer = { kind: 'over' }
    await this.pace.until((done) => {
      this.#waiting.set(question, { kind, take: (given) => ((answer = given), done()) })
      const cancel = ms === undefined ? undefined : this.pace.after(ms, done)
      raise()
      return () => {
        this.#waiting.delete(question)
        cancel?.()
      }
    })
    return answer
  }

  /** An answer that names its question. */
  async give(question: string, answer: Exclude<Answer, { kind: 'over' }>): Promise<Delivery> {
    const failed = await this.fails(() => this.#waiting.get(question)?.take({ kind: 'over' }))
    if (failed) return failed
    const asked = this.#waiting.get(question)
    if (!asked || asked.kind !== answer.kind) return { state: 'refused', code: 'question_gone' }
    asked.take(answer)
    return { state: 'delivered' }
  }

  /** Plays a relay that fails, once; null when the answer may go on. `gone` says what the agent does with the question then. */
  async fails(gone: () => void): Promise<Delivery | null> {
    const relay = this.#relay
    this.#relay = null
    if (!relay) return null
    if (relay.how === 'fail') return { state: 'refused', code: 'relay_failed', words: 'The script loses this answer.' }
    if (relay.how === 'throw') throw new Error('the scripted agent throws at this answer')
    if (relay.how !== 'slow') {
      gone()
      return { state: 'refused', code: 'question_gone' }
    }
    const stopped = await this.pace.until((done) => this.pace.after(relay.ms, done)).then(() => false, (error: unknown) => error instanceof Stopped)
    return stopped ? { state: 'refused', code: 'not_running' } : null
  }
}
