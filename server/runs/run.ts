import type { Agent, AgentEvent, AgentSession, Opening, Timers, TurnEnd, TurnInput } from '../agents/port'
import type { RunProblem } from '../contract/problems'
import { Journal } from './journal'
import type { JournalParts } from './journal'
import type { Ledger } from './ledger'
import type { Limits } from './limits'
import { Mailbox } from './mailbox'
import { settle } from './settle'
import { watch } from './watchdog'
import { wordsOf } from './words'

export interface RunParts extends JournalParts {
  session: string
  profile: string
  startedAt: number
  limits: Limits
}

type StopReason = Parameters<AgentSession['stop']>[0]

/**
 * One live run: its agent, its journal, its mailbox, and the claims that make everything about it happen once (laws 6 and 8). All fields
 * are changed synchronously; `ended` is the actor's sign that the next run may begin.
 */
export class LiveRun {
  readonly id: string
  readonly turn: string
  readonly session: string
  readonly profile: string
  readonly generation: number
  readonly startedAt: number
  readonly ledger: Ledger
  readonly timers: Timers
  readonly limits: Limits
  readonly journal: Journal
  readonly mailbox = new Mailbox()
  agent: AgentSession | null = null
  /** True once its admission has committed. */
  admitted = false
  /** True once the agent has ended its turn by itself; false when it was given up. */
  turnOver = false
  /** Claimed by the first stop: resolves when `run.stopping` has committed. */
  stopping: Promise<void> | null = null
  /** Set at the server's own end. */
  draining = false
  /** Claimed by whoever settles first: resolves when `run.settled` has committed. */
  settled: Promise<void> | null = null
  /** Resolves when the run has settled and its agent has ended or was given up. */
  readonly ended: Promise<void>
  #end!: () => void
  #told = false
  #reason: StopReason | null = null
  #paused = false
  #cancelLadder = (): void => undefined
  #cancelWatch = (): void => undefined

  constructor(parts: RunParts) {
    this.id = parts.run
    this.turn = parts.turn
    this.session = parts.session
    this.profile = parts.profile
    this.generation = parts.generation
    this.startedAt = parts.startedAt
    this.ledger = parts.ledger
    this.timers = parts.timers
    this.limits = parts.limits
    this.journal = new Journal(parts)
    this.ended = new Promise((resolve) => (this.#end = resolve))
  }

  /** Opens the agent, runs the turn to its single end and settles. Never rejects. */
  async drive(agent: Agent, opening: Opening, input: TurnInput): Promise<void> {
    this.#cancelWatch = watch(this.timers, this.limits.silence, this.journal, () => this.#silent())
    const end = await this.#play(agent, opening, input)
    this.turnOver = true
    await this.settle(end)
    this.#finish()
  }

  /** What an agent reports; a promise while too much of its text waits for the store. */
  readonly sink = (event: AgentEvent): void | Promise<void> => {
    this.journal.take(event)
    if (this.ledger.waitingUnits <= this.limits.waiting || this.journal.closed) return
    if (!this.#paused) {
      this.#paused = true
      this.journal.notice('agent_paused')
    }
    return this.ledger.drained(this.limits.waiting / 2)
  }

  /** Ends the run once: the first caller decides. Resolves after the commit, or when the log is not to be had. */
  settle(end: TurnEnd): Promise<void> {
    if (this.settled) return this.settled
    this.mailbox.close()
    this.#cancelWatch()
    this.settled = settle(this, end).catch(() => undefined)
    return this.settled
  }

  /** Tells the agent to stop, once, and gives it up after `deadline` ms. */
  tellStop(reason: StopReason, deadline: number): void {
    this.#cancelWatch()
    if (this.turnOver) return
    if (!this.#told && this.agent) {
      this.#told = true
      this.agent.stop(reason).catch(() => undefined)
    }
    this.#reason = reason
    this.#cancelLadder()
    this.#cancelLadder = this.timers.after(deadline, () => this.#abandon())
  }

  /** The log is not to be had: nothing more of this agent's turn is written (log.md §5). */
  lose(): void {
    this.mailbox.close()
    this.journal.abandon()
    this.settled ??= Promise.resolve()
    this.tellStop('store_failed', this.limits.ladder)
    if (this.turnOver) this.#finish()
  }

  async #play(agent: Agent, opening: Opening, input: TurnInput): Promise<TurnEnd> {
    try {
      this.agent = await agent.open(opening, this.sink)
    } catch (error) {
      return failed('agent_unavailable', error)
    }
    if (this.stopping || this.settled || this.draining) return { outcome: 'cancelled' }
    try {
      return await this.agent.turn(input)
    } catch (error) {
      return failed('agent_died', error)
    }
  }

  #silent(): void {
    const words = `Nothing came from the agent for ${Math.round(this.limits.silence / 1000)} seconds.`
    void this.settle({ outcome: 'failed', problem: { code: 'agent_silent', words } })
    this.tellStop('server', this.limits.ladder)
  }

  #abandon(): void {
    void this.settle({ outcome: this.#reason === 'person' || this.#reason === 'delete' ? 'cancelled' : 'interrupted' }).then(() => this.#finish())
  }

  #finish(): void {
    this.#cancelLadder()
    this.#cancelWatch()
    const agent = this.agent
    if (agent) {
      this.agent = null
      Promise.resolve().then(() => agent.close()).catch(() => undefined)
    }
    this.#end()
  }
}

function failed(code: RunProblem['code'], error: unknown): TurnEnd {
  return { outcome: 'failed', problem: { code, words: wordsOf(error) } }
}
