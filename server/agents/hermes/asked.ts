import type { AgentEvent, Delivery, Timers } from '../port'
import { HermesFault } from './port'
import type { HermesProgram } from './port'
import type { ApprovalChoice } from './questions'

type Open = { due: number; told: boolean } & ({ kind: 'approval'; choices: readonly string[]; call: string | undefined } | { kind: 'clarify' } | { kind: 'sudo' } | { kind: 'secret' })

const GONE: Delivery = { state: 'refused', code: 'question_gone' }

/** Hermes' word for "that question is over", and for "nothing is open" (spec/hermes-rpc.md §2). */
const NOT_PENDING = 4009

/**
 * Questions that Hermes has open, as far as it has told, and the way of an answer to them. It is the last guard before the program: an answer goes out once,
 * in time, to the one question that is meant, and is one that was offered (spec/agents.md §3).
 */
export class Asked {
  #open = new Map<string, Open>()

  constructor(private readonly program: HermesProgram, private readonly timers: Timers) {}

  /** Sees everything that is told to the sink. */
  note(event: AgentEvent): void {
    if (event.type === 'question.raised') {
      // Two that could both take an answer: none may be given any more for the older one, which Hermes would take it for.
      this.#open.set(event.question, { kind: 'approval', choices: event.request.choices.map(({ id }) => id), due: this.#due(event.request.deadline), call: event.call, told: false })
    } else if (event.type === 'clarify.raised') this.#open.set(event.question, { kind: 'clarify', due: this.#due(event.request.deadline), told: false })
    else if (event.type === 'secret.raised') this.#open.set(event.question, { kind: event.request.kind, due: this.#due(event.request.deadline), told: false })
    else if (event.type === 'question.withdrawn') this.#open.delete(event.question)
    else if (event.type === 'tool.closed') for (const [name, open] of this.#open) if (open.kind === 'approval' && (open.call ?? event.call) === event.call) this.#open.delete(name)
  }

  /** The turn is over, and every question with it. */
  clear(): void {
    this.#open.clear()
  }

  get any(): boolean {
    return this.#open.size > 0
  }

  async decide(live: string, question: string, choice: string): Promise<Delivery> {
    const open = this.#take(question)
    const approvals = [...this.#open.values()].filter(({ kind }) => kind === 'approval').length
    if (open?.kind !== 'approval' || approvals !== 1) return GONE
    if (!open.choices.includes(choice)) return { state: 'refused', code: 'relay_failed', words: `This question does not offer “${choice}”.` }
    return this.#tell(question, open, async () => {
      const { resolved } = await this.program.call('approval.respond', { session_id: live, choice: choice as ApprovalChoice })
      return resolved > 0
    })
  }

  async answer(question: string, text: string): Promise<Delivery> {
    const open = this.#take(question)
    if (open?.kind !== 'clarify') return GONE
    return this.#tell(question, open, async () => {
      await this.program.call('clarify.respond', { request_id: question, answer: text })
      return true
    })
  }

  /** Null: it is not given; Hermes takes nothing for that. */
  async give(question: string, value: string | null): Promise<Delivery> {
    const open = this.#take(question)
    if (open?.kind !== 'sudo' && open?.kind !== 'secret') return GONE
    return this.#tell(question, open, async () => {
      const { status } = open.kind === 'sudo'
        ? await this.program.call('sudo.respond', { request_id: question, password: value ?? '' })
        : await this.program.call('secret.respond', { request_id: question, value: value ?? '' })
      return status !== 'expired'
    })
  }

  #take(question: string): Open | null {
    const open = this.#open.get(question)
    return open && !open.told && this.timers.monotonic() < open.due ? open : null
  }

  /** An answer of which nobody knows whether it arrived is not given again: it could be taken for the next question. */
  async #tell(question: string, open: Open, send: () => Promise<boolean>): Promise<Delivery> {
    open.told = true
    try {
      const taken = await send()
      this.#open.delete(question)
      return taken ? { state: 'delivered' } : GONE
    } catch (error) {
      if (!(error instanceof HermesFault)) throw error
      if (error.number === NOT_PENDING) return GONE
      // Nothing was sent.
      if (error.code === 'lost' || error.code === 'rpc') open.told = false
      return { state: 'refused', code: 'relay_failed', words: error.message }
    }
  }

  #due(deadline: number | undefined): number {
    return deadline === undefined ? Infinity : this.timers.monotonic() + Math.max(0, deadline - this.timers.now())
  }
}
