import type { Agent, AgentEvent, AgentSession, Delivery, Opening, Probe, Sink, TurnEnd, TurnInput } from '../../server/agents/port'
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
}

/** An agent that does nothing by itself: a test speaks and ends for it. */
export class Puppet implements Agent {
  readonly kind = 'scripted'
  turns: PuppetTurn[] = []
  openings: Opening[] = []
  ended = 0
  /** What stop makes it do; ends the turn as cancelled unless changed. */
  onStop: (turn: PuppetTurn) => void = (turn) => turn.end({ outcome: 'cancelled' })
  onDecide: (question: string, choice: string, turn: PuppetTurn) => Promise<Delivery> = async () => ({ state: 'delivered' })
  onOpen: (opening: Opening) => Promise<void> = async () => {}
  onProbe: () => Promise<Probe> = async () => ({ state: 'ready', agent: { kind: 'scripted', name: 'Puppet' }, capabilities: [], model: { provider: 'p', id: 'm' } })

  get turn(): PuppetTurn {
    return this.turns.at(-1)!
  }

  probe(): Promise<Probe> {
    return this.onProbe()
  }

  async open(opening: Opening, sink: Sink): Promise<AgentSession> {
    this.openings.push(opening)
    await this.onOpen(opening)
    let current: PuppetTurn | null = null
    return {
      turn: (input) =>
        new Promise<TurnEnd>((resolve, reject) => {
          const turn: PuppetTurn = {
            opening, input, emit: (event) => void sink(event), sink, stops: [], over: false, closed: false, decisions: [],
            end: (end) => ((turn.over = true), resolve(end)), crash: (error) => ((turn.over = true), reject(error)),
          }
          current = turn
          this.turns.push(turn)
        }),
      decide: async (question, choice) => {
        current!.decisions.push({ question, choice })
        return this.onDecide(question, choice, current!)
      },
      stop: async (reason) => {
        current!.stops.push(reason)
        this.onStop(current!)
      },
      close: async () => {
        if (current) current.closed = true
      },
    }
  }

  async end(): Promise<void> {
    this.ended++
  }
}

/** A question with the usual two choices. */
export function request(command = 'ls'): ApprovalRequest {
  return { action: `Run ${command}`, command, tool: 'shell', choices: [{ id: 'yes', kind: 'once' }, { id: 'no', kind: 'deny' }] }
}
