import type { AgentEvent } from '../../port'
import type { ClosedCall } from './frames'

type Used = Extract<AgentEvent, { type: 'steer.delivered' }>
type Raised = Extract<AgentEvent, { type: 'question.raised' | 'clarify.raised' | 'secret.raised' }>

/**
 * What a turn has said so far, as a server needs it that comes back (spec/log.md §9): the message that it is in, by the same rule by which text becomes rows, its
 * tools, the questions that are still open, and the words that it was given. Pure.
 */
export class Tracker {
  /** Text of the message that the turn is in, or of its last one. */
  message = ''
  readonly closed: ClosedCall[] = []
  #calls = new Map<string, Extract<AgentEvent, { type: 'tool.started' }>>()
  #questions = new Map<string, Raised>()
  #taken = new Set<string>()
  #used = new Map<string, Used>()
  /** The next text begins a new message. */
  #parted = true

  /** Tools that run, as they were told. */
  get open(): Extract<AgentEvent, { type: 'tool.started' }>[] {
    return [...this.#calls.values()]
  }

  /** Questions that wait, in the order of asking. */
  get questions(): Raised[] {
    return [...this.#questions.values()]
  }

  take(event: AgentEvent): void {
    switch (event.type) {
      case 'text':
        this.message = this.#parted ? event.delta : this.message + event.delta
        this.#parted &&= event.delta === ''
        return
      case 'text.replace':
        this.message = this.message.slice(0, event.from) + event.text
        return
      case 'reasoning':
      case 'segment':
        this.#parted = true
        return
      case 'tool.started':
        this.#parted = true
        this.#calls.set(event.call, event)
        return
      case 'tool.closed':
        if (!this.#calls.delete(event.call)) return
        this.closed.push({ call: event.call, state: event.state, ...(event.result === undefined ? {} : { result: event.result }) })
        for (const [question, raised] of this.#questions) if (raised.type === 'question.raised' && raised.call === event.call) this.#questions.delete(question)
        return
      case 'question.raised':
      case 'clarify.raised':
      case 'secret.raised':
        if (event.type !== 'question.raised' || event.call === undefined) this.#parted = true
        this.#questions.set(event.question, event)
        return
      case 'question.withdrawn':
        this.answered(event.question)
        return
      case 'steer.delivered':
        this.#used.set(event.steer, event)
    }
  }

  /** A word that it was given and has not refused. */
  took(steer: string): void {
    this.#taken.add(steer)
  }

  /** What became of words: those that it has, and how those that it has used were told. */
  words(steers: readonly string[]): { taken: string[]; used: Used[] } {
    return { taken: steers.filter((steer) => this.#taken.has(steer) || this.#used.has(steer)), used: steers.flatMap((steer) => this.#used.get(steer) ?? []) }
  }

  /** It waits no more for this one. */
  answered(question: string): void {
    this.#questions.delete(question)
  }
}
