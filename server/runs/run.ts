import type { AgentEvent, AgentSession, Timers, TurnEnd, TurnInput } from '../agents/port'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import type { RunProblem } from '../contract/problems'
import type { QueueItem } from '../contract/queue'
import type { AgentRef } from '../contract/session'
import { tellAuto } from './auto-approve'
import { Journal } from './journal'
import type { JournalParts } from './journal'
import type { OfOneMind } from './foreign/after'
import type { Ledger } from './ledger'
import { ladderOf } from './limits'
import type { Limits } from './limits'
import { Mailbox } from './mailbox'
import { settle } from './settle'
import { Steers } from './steer'
import { within } from './timers'
import { watch } from './watchdog'
import { wordsOf } from './words'

export interface RunParts extends JournalParts {
  session: string
  profile: string
  startedAt: number
  limits: Limits
  /** The chat answers every question with its *once*. */
  auto: boolean
  /** The chat's queue as the actor has claimed it, and the claim of what the run's end adds to it. */
  queue: { items: () => readonly QueueItem[]; claim: (drafts: Draft[]) => void }
  /** The run needs its agent no more; `sound`: the turn ended by itself. Resolves when the agent's session has ended, if it has to. */
  release: (sound: boolean) => Promise<void>
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
  readonly agentRef: AgentRef
  readonly mint: Mint
  readonly ledger: Ledger
  readonly timers: Timers
  readonly limits: Limits
  readonly journal: Journal
  readonly steers: Steers
  readonly queue: RunParts['queue']
  readonly mailbox = new Mailbox()
  agent: AgentSession | null = null
  /** The run that our restart has settled and that this one goes on from: who has not heard of this one yet means it by that id. */
  continues: string | null = null
  /** True once its admission has committed. */
  admitted = false
  /** True once the agent has ended its turn by itself; false when it was given up. */
  turnOver = false
  /** True once the agent has answered, used a tool or asked: without any of it a turn is no answer. */
  answered = false
  /** Claimed by the first stop: resolves when `run.stopping` has committed. */
  stopping: Promise<void> | null = null
  /** Set at the server's own end. */
  draining = false
  /** It tries a turn again, or rows of the chat were retracted with its admission. */
  anew: 'retried' | 'replaced' | null = null
  /** For an agent with a history of its own: looks at its store before the run settles. Its failure is none of the run's. */
  beforeSettle: ((end: TurnEnd) => Promise<OfOneMind>) | null = null
  ofOneMind: OfOneMind | null = null
  /** Set once its log is not to be had. */
  lost = false
  /** Claimed by whoever settles first: resolves when `run.settled` has committed. */
  settled: Promise<void> | null = null
  /** Resolves when the run has settled and its agent has ended or was given up. */
  readonly ended: Promise<void>
  #end!: () => void
  #release: RunParts['release']
  #released: Promise<void> | null = null
  #told = false
  #reason: StopReason | null = null
  #paused = false
  /** Instant of the monotonic clock. */
  #givesUpAt = Infinity
  #cancelLadder = (): void => undefined
  #cancelWatch = (): void => undefined

  constructor(parts: RunParts) {
    this.id = parts.run
    this.turn = parts.turn
    this.session = parts.session
    this.profile = parts.profile
    this.generation = parts.generation
    this.startedAt = parts.startedAt
    this.agentRef = parts.agent
    this.mint = parts.mint
    this.ledger = parts.ledger
    this.timers = parts.timers
    this.limits = parts.limits
    this.queue = parts.queue
    this.#release = parts.release
    this.journal = new Journal(parts, (question, choice, committed) => tellAuto(this, question, choice, committed))
    this.journal.asking.auto = parts.auto
    this.steers = new Steers({ run: parts.run, turn: parts.turn, mint: parts.mint, ledger: parts.ledger, monotonic: parts.timers.monotonic })
    this.ended = new Promise((resolve) => (this.#end = resolve))
  }

  /** ms that the agent has to end once it was told to stop. */
  get ladder(): number {
    return ladderOf(this.limits, this.agentRef.kind)
  }

  /** Lives through one turn of the agent to its single end, and settles. Never rejects. */
  async drive(play: (run: LiveRun) => Promise<TurnEnd>): Promise<void> {
    this.#cancelWatch = watch(this.timers, this.limits.silence, this.journal, () => this.#silent())
    const end = await play(this).catch((error: unknown) => failed('agent_died', error))
    this.turnOver = true
    if (this.beforeSettle) await this.#compare(this.beforeSettle, end)
    await this.settle(end)
    await this.#finish(end.problem?.code !== 'agent_died')
  }

  async #compare(look: NonNullable<LiveRun['beforeSettle']>, end: TurnEnd): Promise<void> {
    if (this.settled || this.lost) return
    this.ofOneMind = await within(this.timers, this.limits.compare, look(end), () => null).catch(() => null)
  }

  /** A submitted turn on the agent's session. `hint`: what the person can do where it cannot be opened. */
  async submit(open: () => Promise<AgentSession>, input: TurnInput, hint?: string): Promise<TurnEnd> {
    try {
      this.take(await open())
    } catch (error) {
      return failed('agent_unavailable', error, hintOf(error) ?? hint)
    }
    if (this.stopping || this.settled || this.draining) return { outcome: 'cancelled' }
    return this.agent!.turn(input)
  }

  /** From now on this is the session with the agent. */
  take(session: AgentSession | null): void {
    this.agent = session
    if (session?.echoes) this.journal.watchEcho()
  }

  /** What an agent reports; a promise while too much of its text waits for the store. */
  readonly sink = (event: AgentEvent): void | Promise<void> => {
    if (this.journal.closed) return
    this.#note(event)
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

  /** Tells the agent to stop, once, and gives it up after `deadline` ms; a later call may bring that forward, never put it off. */
  tellStop(reason: StopReason, deadline: number): void {
    this.#cancelWatch()
    if (this.turnOver) return
    if (!this.#told && this.agent) {
      this.#told = true
      this.agent.stop(reason).catch(() => undefined)
    }
    this.#reason = reason
    const at = this.timers.monotonic() + deadline
    if (at >= this.#givesUpAt) return
    this.#givesUpAt = at
    this.#cancelLadder()
    this.#cancelLadder = this.timers.after(deadline, () => this.#abandon())
  }

  /** The log is not to be had: nothing more of this agent's turn is written (log.md §5). */
  lose(): void {
    this.lost = true
    this.mailbox.close()
    this.journal.abandon()
    this.settled ??= Promise.resolve()
    this.tellStop('store_failed', this.ladder)
    if (this.turnOver) void this.#finish(false)
  }

  /** What the run itself writes of what the agent says, and what of it is an answer. */
  #note(event: AgentEvent): void {
    switch (event.type) {
      case 'text':
        this.answered ||= event.delta.trim() !== ''
        return
      case 'text.replace':
      case 'message':
        this.answered ||= event.text.trim() !== ''
        return
      case 'tool.started':
      case 'question.raised':
      case 'clarify.raised':
      case 'secret.raised':
        this.answered = true
        return
      case 'steer.delivered':
        return this.#push(this.steers.delivered(event.steer, event.evidence))
    }
  }

  #push(drafts: Draft[]): void {
    if (drafts.length) this.ledger.push({ drafts, generation: this.generation })
  }

  #silent(): void {
    const words = `Nothing came from the agent for ${Math.round(this.limits.silence / 1000)} seconds.`
    void this.settle({ outcome: 'failed', problem: { code: 'agent_silent', words } })
    this.tellStop('server', this.ladder)
  }

  #abandon(): void {
    void this.settle({ outcome: this.#reason === 'person' || this.#reason === 'delete' ? 'cancelled' : 'interrupted' }).then(() => this.#finish(false))
  }

  /** No next turn begins before the agent of this one has ended (agents.md §4); one that does not say so is not waited for. */
  async #finish(sound: boolean): Promise<void> {
    this.#cancelLadder()
    this.#cancelWatch()
    this.agent = null
    this.#released ??= this.#release(sound && this.turnOver)
    await within(this.timers, this.limits.drain, this.#released, () => undefined)
    this.#end()
  }
}

function failed(code: RunProblem['code'], error: unknown, hint?: string): TurnEnd {
  return { outcome: 'failed', problem: { code, words: wordsOf(error), ...(hint === undefined ? {} : { hint }) } }
}

/** An adapter's error may know the next step. */
function hintOf(error: unknown): string | undefined {
  return error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined
}
