import type { Socket } from 'node:net'
import type { AgentEvent, AgentSession, Delivery, TurnEnd, TurnInput } from '../../port'
import { writeLine } from './frames'
import type { Command, Found, Report } from './frames'
import { Tracker } from './tracker'

/** A turn of the detached agent, until a server has heard its end. */
interface HeldTurn { foreign: string; tracker: Tracker; end: TurnEnd | null }

/**
 * One chat inside the detached agent: the scripted session, and what of its turn a server must be told again. It plays on while no server listens.
 */
export class HeldChat {
  turn: HeldTurn | null = null
  #server: Socket | null = null
  #session: AgentSession

  constructor(make: (sink: (event: AgentEvent) => void | Promise<void>) => AgentSession, private readonly mint: () => string) {
    this.#session = make((event) => this.#say(event))
  }

  get attached(): boolean {
    return this.#server !== null
  }

  /** A turn plays. */
  get plays(): boolean {
    return this.turn !== null && this.turn.end === null
  }

  attach(socket: Socket): void {
    this.#server?.destroy()
    this.#server = socket
    socket.on('close', () => {
      if (this.#server === socket) this.#server = null
    })
  }

  /**
   * A server comes back for a turn. Its open questions are asked again; an open secret is not: what is typed for it could reach another
   * question's waiter, so it counts as not given (spec/log.md §9).
   */
  takeUp(foreign: string, socket: Socket): void {
    const turn = this.turn
    if (!turn || turn.foreign !== foreign) return void writeLine(socket, { found: { state: 'gone' } })
    const { message, open, closed, questions } = turn.tracker
    const found: Found = turn.end ? { state: 'ended', end: turn.end, message, closed } : { state: 'running', message, open: open.map((tool) => tool.call) }
    void writeLine(socket, { found })
    if (turn.end) {
      this.turn = null
      return
    }
    this.attach(socket)
    // A tool that began while no server listened is told now; one that is known is not opened twice.
    for (const event of open) this.#report({ event })
    for (const event of questions) {
      if (event.type === 'secret.raised') void this.#session.give!(event.question, null).then(() => turn.tracker.answered(event.question))
      else this.#report({ event })
    }
  }

  async obey(command: Command): Promise<void> {
    switch (command.do) {
      case 'turn':
        return this.#play(command.input)
      case 'decide':
        return this.#answer(command.id, command.question, () => this.#session.decide(command.question, command.text))
      case 'answer':
        return this.#answer(command.id, command.question, () => this.#session.answer!(command.question, command.text))
      case 'give':
        return this.#answer(command.id, command.question, () => this.#session.give!(command.question, command.value))
      case 'steer':
        return this.#answer(command.id, null, () => this.#session.steer!(command.steer, command.text))
      case 'stop':
        return this.#session.stop(command.reason)
      case 'close':
        return this.end()
    }
  }

  /** Nobody needs it any more. */
  async end(): Promise<void> {
    this.turn = null
    await this.#session.close()
    this.#server?.destroy()
  }

  async #play(input: TurnInput): Promise<void> {
    const turn: HeldTurn = { foreign: this.mint(), tracker: new Tracker(), end: null }
    this.turn = turn
    this.#report({ event: { type: 'turn.bound', foreign: turn.foreign } })
    const end = await this.#session.turn(input).catch((error: unknown): TurnEnd => ({ outcome: 'failed', problem: { code: 'agent_died', words: error instanceof Error ? error.message : String(error) } }))
    turn.end = end
    // A server that is there has heard it; one that is not asks for it when it comes back.
    if (this.attached && this.turn === turn) this.turn = null
    this.#report({ end })
  }

  async #answer(id: number, question: string | null, give: () => Promise<Delivery>): Promise<void> {
    try {
      const delivery = await give()
      if (question !== null && (delivery.state === 'delivered' || delivery.code === 'question_gone')) this.turn?.tracker.answered(question)
      this.#report({ re: id, delivery })
    } catch (error) {
      this.#report({ re: id, threw: error instanceof Error ? error.message : String(error) })
    }
  }

  #say(event: AgentEvent): void | Promise<void> {
    this.turn?.tracker.take(event)
    return this.#report({ event })
  }

  #report(report: Report): void | Promise<void> {
    if (this.#server) return writeLine(this.#server, report)
  }
}
