import type { Socket } from 'node:net'
import type { AgentEvent, AgentSession, Delivery, TurnEnd, TurnInput } from '../../port'
import { writeLine } from './frames'
import type { Command, Greeting, Report } from './frames'
import { Past } from './past'
import { Tracker } from './tracker'

/** A turn of the detached agent, until a server has heard its end. */
interface HeldTurn { foreign: string; tracker: Tracker; past: Past; end: TurnEnd | null }

type Asked = Omit<Extract<Greeting, { do: 'reattach' }>, 'do' | 'session'>

/**
 * One chat inside the detached agent: the scripted session, and what of its turn a server must be told again. It plays on while no server listens.
 */
export class HeldChat {
  turn: HeldTurn | null = null
  #server: Socket | null = null
  #byItself = false
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
   * A server comes back for a turn. What it has not shown is told now, where that can be told; its open questions are asked again, and of the
   * words that it may have (`steers`) it says which it has and which it has used. An open secret is not asked: what is typed for it could reach another question's
   * waiter, so it counts as not given (spec/log.md §9).
   */
  takeUp({ foreign, shown, steers = [] }: Asked, socket: Socket): void {
    const turn = this.turn
    if (!turn || turn.foreign !== foreign) return void writeLine(socket, { found: { state: 'gone' } })
    const { message, open, closed, questions } = turn.tracker
    const words = turn.tracker.words(steers)
    const used = words.used.map(({ steer }) => steer)
    const missed = shown ? turn.past.missed(shown) : null
    if (turn.end && !missed) {
      void writeLine(socket, { found: { state: 'ended', end: turn.end, message, closed, used } })
      this.turn = null
      return
    }
    // What it has not used by its end is with the person.
    const taken = turn.end ? used : words.taken
    void writeLine(socket, { found: { state: 'running', taken, ...(missed ? { message: missed.message, open: missed.open } : { message, open: open.map((tool) => tool.call) }) } })
    this.attach(socket)
    for (const event of words.used) void this.#report({ event })
    // Else at least the tools that began while no server listened; one that is known is not opened twice.
    for (const event of missed?.events ?? open) void this.#report({ event })
    for (const event of questions) {
      if (event.type === 'secret.raised') void this.#session.give!(event.question, null).then(() => turn.tracker.answered(event.question))
      else void this.#report({ event })
    }
    if (turn.end) void this.#report({ end: turn.end })
  }

  async obey(command: Command): Promise<void> {
    switch (command.do) {
      case 'turn':
        return this.#play(command.input)
      case 'decide':
        return this.#answer(command.id, () => this.#session.decide(command.question, command.text), answered(command.question))
      case 'answer':
        return this.#answer(command.id, () => this.#session.answer!(command.question, command.text), answered(command.question))
      case 'give':
        return this.#answer(command.id, () => this.#session.give!(command.question, command.value), answered(command.question))
      case 'steer':
        return this.#answer(command.id, () => this.#session.steer!(command.steer, command.text), ({ state }, { tracker }) => {
          if (state === 'delivered') tracker.took(command.steer)
        })
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
    const turn: HeldTurn = { foreign: this.mint(), tracker: new Tracker(), past: new Past(), end: null }
    this.turn = turn
    void this.#report({ event: { type: 'turn.bound', foreign: turn.foreign } })
    const end = await this.#session.turn(input).catch((error: unknown): TurnEnd => ({ outcome: 'failed', problem: { code: 'agent_died', words: error instanceof Error ? error.message : String(error) } }))
    // It is held until the next turn: a server that dies as it hears this asks for it when it comes back.
    turn.end = end
    void this.#report({ end })
  }

  async #answer(id: number, give: () => Promise<Delivery>, keep: (delivery: Delivery, turn: HeldTurn) => void): Promise<void> {
    const { turn } = this
    try {
      const delivery = await give()
      if (turn) keep(delivery, turn)
      void this.#report({ re: id, delivery })
    } catch (error) {
      void this.#report({ re: id, threw: error instanceof Error ? error.message : String(error) })
    }
  }

  #say(event: AgentEvent): void | Promise<void> {
    // What a turn of its own says is no part of the one that was submitted.
    if (event.type === 'turn.began') this.#byItself = true
    if (!this.#byItself && this.turn?.end === null) {
      this.turn.tracker.take(event)
      this.turn.past.take(event)
    }
    if (event.type === 'turn.ended') this.#byItself = false
    return this.#report({ event })
  }

  #report(report: Report): void | Promise<void> {
    if (this.#server) return writeLine(this.#server, report)
  }
}

/** It waits no more for an answer to this one. */
function answered(question: string) {
  return (delivery: Delivery, { tracker }: HeldTurn): void => {
    if (delivery.state === 'delivered' || delivery.code === 'question_gone') tracker.answered(question)
  }
}
