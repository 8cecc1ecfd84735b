import type { Agent, AgentEvent, AgentSession, AgentStatus, Capability, ModelOffer, Opening, Probe, Sink, TurnEnd, TurnInput } from '../../server/agents/port'
import { makeScripted } from '../../server/agents/scripted'
import type { ProgramState } from '../../server/agents/supervise/port'
import { systemTimers } from '../../server/runs/timers'

const CAPABILITIES: Capability[] = [
  'reasoning', 'tool_arguments', 'tool_results', 'diffs', 'approvals', 'clarify', 'secrets', 'steer', 'stop', 'models', 'effort', 'own_history', 'resume', 'usage', 'cost', 'titles', 'sub_agents', 'workspace',
]

/** A message that sends out two sub-agents. */
export const DELEGATE = 'Send out two.'

/** Stands in for Hermes Agent where it is not installed: an agent with a program, a log, models and efforts of its own, that plays scripts. A test says how it stands. */
export class StandIn implements Agent {
  readonly kind = 'hermes'
  program: { state: ProgramState; pid?: number; startedAt?: number; restarts: number; words?: string; log: string } = { state: 'idle', restarts: 0, log: '' }
  /** Set: it cannot be used. */
  missing: Pick<AgentStatus, 'fault' | 'words' | 'hint'> | null = null
  offers: ModelOffer[] = [
    { ref: { provider: 'openrouter', id: 'hermes-4-70b' }, label: 'Hermes 4 70B', efforts: ['none', 'low', 'medium', 'high'] },
    { ref: { provider: 'openrouter', id: 'small' }, label: 'Small' },
  ]
  openings: Opening[] = []
  inputs: TurnInput[] = []
  restarted = 0
  /** What restarting does; a test may let it fail. */
  onRestart: () => Promise<void> = async () => {
    this.program = { ...this.program, state: 'ready', restarts: this.program.restarts }
  }
  /** Until it resolves, the first of two sub-agents works. */
  delegated: Promise<void> = Promise.resolve()
  /** Held open until it resolves: the program starts. */
  starting: Promise<void> = Promise.resolve()
  readonly #plays: Agent

  constructor(scale = 0) {
    this.#plays = makeScripted({ timers: systemTimers(), scale })
  }

  async probe(): Promise<Probe> {
    if (this.missing) {
      const { fault = 'not_installed', words, hint } = this.missing
      return { state: 'unavailable', code: fault, ...(words === undefined ? {} : { words }), ...(hint === undefined ? {} : { hint }) }
    }
    return { state: 'ready', agent: { kind: 'hermes', name: 'Hermes Agent', version: '0.19.1' }, capabilities: CAPABILITIES, model: this.offers[0]!.ref }
  }

  async status(): Promise<AgentStatus> {
    if (this.missing) return this.missing
    return { program: { ...this.program, version: '0.19.1' }, path: '/opt/hermes/bin/hermes', version: '0.19.1' }
  }

  async models(): Promise<ModelOffer[]> {
    return this.offers
  }

  async restart(): Promise<void> {
    this.restarted++
    await this.onRestart()
  }

  async open(opening: Opening, sink: Sink): Promise<AgentSession> {
    this.openings.push(opening)
    if (this.program.state === 'idle') this.program = { ...this.program, state: 'starting' }
    await this.starting
    if (this.missing) throw Object.assign(new Error(this.missing.words ?? 'hermes was not found'), { hint: this.missing.hint })
    this.program = { ...this.program, state: 'ready', pid: 4711, startedAt: Date.now() }
    const session = await this.#plays.open(opening, sink)
    const turn = session.turn.bind(session)
    session.turn = (input) => {
      this.inputs.push(input)
      return input.text === DELEGATE ? this.#delegate(sink) : turn(input)
    }
    return session
  }

  /** Two sub-agents under one call: one works until `delegated` resolves, the other fails. */
  async #delegate(sink: Sink): Promise<TurnEnd> {
    const say = (...events: AgentEvent[]) => events.forEach((event) => void sink(event))
    say(
      { type: 'tool.started', call: 'send', name: 'delegate_task', verb: 'other', title: 'two tasks' },
      { type: 'tool.started', call: 'one', parent: 'send', name: 'subagent', verb: 'other', target: 'Read the tests' },
      { type: 'tool.started', call: 'step', parent: 'one', name: 'read_file', verb: 'read', target: 'tests/a.ts' },
      { type: 'tool.closed', call: 'step', state: 'done' },
      { type: 'tool.started', call: 'two', parent: 'send', name: 'subagent', verb: 'other', target: 'Ask the network' },
      { type: 'tool.closed', call: 'two', state: 'failed', result: 'No route to host' },
    )
    await this.delegated
    say(
      { type: 'tool.closed', call: 'one', state: 'done', result: 'Three tests.' },
      { type: 'tool.closed', call: 'send', state: 'done' },
      { type: 'text', delta: 'There are three tests; the network cannot be asked.' },
    )
    return { outcome: 'completed' }
  }

  end(): Promise<void> {
    return this.#plays.end()
  }
}
