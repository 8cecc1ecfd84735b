import type { Agent, AgentEvent, AgentSession, Binding, Capability, Delivery, Opening, Probe, Reattached, Sink, TurnEnd, TurnInput } from '../../server/agents/port'
import type { ApprovalRequest } from '../../server/contract/approvals'

/** One turn of the puppet, in the hands of a test. */
export interface PuppetTurn {
  opening: Opening
  input: TurnInput
  /** Says something, without heeding backpressure. */
  emit: (event: AgentEvent) => void
  /** The same with what it answers. */
  sink: Sink
  end(end: TurnEnd): void
  crash(error: Error): void
  stops: string[]
  /** True once the test has ended it. */
  over: boolean
  closed: boolean
  decisions: { question: string; choice: string }[]
  answers: { question: string; text: string }[]
  /** Null: the person did not give it. */
  given: { question: string; value: string | null }[]
  steers: { steer: string; text: string }[]
}

/** One session that the puppet was asked to open: its sink outlives the turns. */
export interface PuppetSession { opening: Opening; emit: (event: AgentEvent) => void; closed: boolean }

/** An agent that does nothing by itself: a test speaks and ends for it. */
export class Puppet implements Agent {
  readonly kind = 'scripted'
  turns: PuppetTurn[] = []
  openings: Opening[] = []
  sessions: PuppetSession[] = []
  /** What it was asked after a restart. */
  bindings: Binding[] = []
  ended = 0
  /** Capabilities that its probe names. */
  capabilities: Capability[] = ['approvals', 'clarify', 'secrets', 'steer', 'stop']
  /** Read by the run when a session opens: whether its reasoning may repeat its text. */
  echoes = false
  /** What stop makes it do; ends the turn as cancelled unless changed. */
  onStop: (turn: PuppetTurn) => void = (turn) => turn.end({ outcome: 'cancelled' })
  onDecide: (question: string, choice: string, turn: PuppetTurn) => Promise<Delivery> = async () => ({ state: 'delivered' })
  onAnswer: (question: string, text: string, turn: PuppetTurn) => Promise<Delivery> = async () => ({ state: 'delivered' })
  onGive: (question: string, value: string | null, turn: PuppetTurn) => Promise<Delivery> = async () => ({ state: 'delivered' })
  /** Takes each steer, and says nothing of its delivery: a test emits that. */
  onSteer: (steer: string, text: string, turn: PuppetTurn) => Promise<Delivery> = async () => ({ state: 'delivered' })
  onOpen: (opening: Opening) => Promise<void> = async () => {}
  onClose: () => Promise<void> = async () => {}
  onProbe: () => Promise<Probe> = async () => ({ state: 'ready', agent: { kind: 'scripted', name: 'Puppet' }, capabilities: this.capabilities, model: { provider: 'p', id: 'm' } })
  /** What became of a turn after a restart; `running` is made by `runOn`. */
  onReattach: (opening: Opening, binding: Binding, sink: Sink) => Promise<Reattached> = async () => ({ state: 'gone' })

  /** The last turn, submitted or taken up again. */
  get turn(): PuppetTurn {
    return this.turns.at(-1)!
  }

  /** The session opened last; its `emit` also speaks between turns (`turn.began`). */
  get session(): PuppetSession {
    return this.sessions.at(-1)!
  }

  probe(): Promise<Probe> {
    return this.onProbe()
  }

  async open(opening: Opening, sink: Sink): Promise<AgentSession> {
    this.openings.push(opening)
    await this.onOpen(opening)
    return this.#session(opening, sink).session
  }

  reattach(opening: Opening, binding: Binding, sink: Sink): Promise<Reattached> {
    this.bindings.push(binding)
    return this.onReattach(opening, binding, sink)
  }

  /** For `onReattach`: the turn of that binding still runs, in the hands of the test as `turn`. */
  runOn(opening: Opening, binding: Binding, sink: Sink, has: { message: string | null; open?: string[]; taken?: string[] }): Reattached {
    const { session, begin } = this.#session(opening, sink)
    const end = begin({ turn: binding.turn, run: binding.run, text: '', model: opening.model, retry: false })
    return { state: 'running', session, end, message: has.message, open: has.open ?? [], ...(has.taken ? { taken: has.taken } : {}) }
  }

  async end(): Promise<void> {
    this.ended++
  }

  #session(opening: Opening, sink: Sink): { session: AgentSession; begin: (input: TurnInput) => Promise<TurnEnd> } {
    const known: PuppetSession = { opening, emit: (event) => void sink(event), closed: false }
    this.sessions.push(known)
    let current: PuppetTurn | null = null
    const begin = (input: TurnInput): Promise<TurnEnd> =>
      new Promise<TurnEnd>((resolve, reject) => {
        const turn: PuppetTurn = {
          opening, input, emit: known.emit, sink, stops: [], over: false, closed: false, decisions: [], answers: [], given: [], steers: [],
          end: (end) => ((turn.over = true), resolve(end)), crash: (error) => ((turn.over = true), reject(error)),
        }
        current = turn
        this.turns.push(turn)
      })
    const session: AgentSession = {
      echoes: this.echoes,
      turn: begin,
      decide: async (question, choice) => {
        current!.decisions.push({ question, choice })
        return this.onDecide(question, choice, current!)
      },
      answer: async (question, text) => {
        current!.answers.push({ question, text })
        return this.onAnswer(question, text, current!)
      },
      give: async (question, value) => {
        current!.given.push({ question, value })
        return this.onGive(question, value, current!)
      },
      steer: async (steer, text) => {
        current!.steers.push({ steer, text })
        return this.onSteer(steer, text, current!)
      },
      stop: async (reason) => {
        current?.stops.push(reason)
        if (current) this.onStop(current)
      },
      close: async () => {
        known.closed = true
        if (current) current.closed = true
        await this.onClose()
      },
    }
    return { session, begin }
  }
}

/** A question with the usual two choices. */
export function request(command = 'ls'): ApprovalRequest {
  return { action: `Run ${command}`, command, tool: 'shell', choices: [{ id: 'yes', kind: 'once' }, { id: 'no', kind: 'deny' }] }
}
