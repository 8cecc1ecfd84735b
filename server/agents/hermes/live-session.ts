import type { AgentEvent, Opening, Timers, TurnInput } from '../port'
import { Chosen } from './chosen'
import { undoTo } from './history'
import { closeLive, countOf, stateOf } from './live'
import type { Count } from './live'
import { unlessLost } from './lost'
import { openSession } from './opened'
import type { Opened, OpeningParts } from './opened'
import { HermesFault } from './port'
import type { HermesEvent } from './protocol/events'
import type { SessionInfo } from './protocol/shapes'
import { asNumbers } from './usage'

/** ms that a live session lasts after its last turn: each costs Hermes 52 MB (spec/agents.md §4). */
const IDLE_MS = 10 * 60_000

export interface LiveSessionParts extends OpeningParts {
  timers: Timers
  /** Resolves once a program that hung has been begun anew. */
  cured(): Promise<void>
}

export interface LiveSessionHooks {
  tell(events: readonly AgentEvent[]): void
  hear(event: HermesEvent): void | Promise<void>
  /** Whether it may still be opened, however often the program dies under that. */
  wanted(): boolean
  /** Whether nothing needs it now. */
  unused(): boolean
}

/**
 * The live session of a chat with Hermes: it comes and goes (ten minutes of rest, a lost socket, a new process, a stop that led to nothing), while the stored one, which the chat is
 * bound to, stays. What is known of both is kept here: model and effort, tools, counters.
 */
export class LiveSession {
  /** Its id; null while there is none. */
  id: string | null = null
  stored: string | undefined
  /** Counters and rows of the stored session between two turns; null when they have to be asked for. */
  known: Count | null = null
  /** ms that an approval waits. */
  approvals = 60_000
  #info: SessionInfo = {}
  #unlisten: () => void = () => undefined
  #cancelRest: () => void = () => undefined
  #closed = false
  readonly #chosen = new Chosen()

  constructor(private readonly p: LiveSessionParts, private readonly opening: Opening, private readonly hooks: LiveSessionHooks) {
    this.stored = opening.foreign
  }

  /** Makes it. Rejects with `HermesFault`. */
  async open(): Promise<void> {
    const opened = await unlessLost(this.p.timers, async () => {
      await this.p.cured()
      await this.p.program.ready()
      return openSession(this.p, { ...this.opening, ...(this.stored === undefined ? {} : { foreign: this.stored }) })
    }, () => !this.#closed && this.hooks.wanted())
    await this.attach(opened)
    if (opened.resumed === undefined) {
      this.known = { counters: {}, rows: 0 }
      this.#chosen.made(this.opening.model, this.opening.effort)
    }
  }

  /** Takes up one that stands. */
  async attach(opened: Opened): Promise<void> {
    if (this.#closed) throw new HermesFault('lost', 'The chat was closed.')
    this.approvals = await this.p.program.approvalTimeout()
    this.#unlisten()
    this.id = opened.live
    this.stored = opened.stored
    this.#info = opened.info
    if (opened.bound) this.hooks.tell([{ type: 'session.bound', foreign: opened.stored, why: opened.bound }])
    this.#unlisten = this.p.program.listen(opened.live, (event) => this.hooks.hear(event))
    this.rest()
  }

  /** Opens it if there is none, with the model and the effort that a turn wants, and says where the stored one stands before that turn. */
  async ready(input: TurnInput): Promise<void> {
    if (this.id === null) await this.open()
    if (this.id === null || !this.hooks.wanted()) return
    await this.#chosen.choose(this.p.program, this.id, this.#info, input)
    this.known ??= await this.count()
    if (this.stored !== undefined) this.hooks.tell([{ type: 'turn.bound', foreign: this.stored, counters: asNumbers(this.known?.counters ?? {}, this.known?.rows) }])
  }

  /** Takes the stored session back to before a row. */
  async rewind(row: string): Promise<void> {
    if (this.id === null) await this.open()
    if (this.id === null || this.stored === undefined || !this.hooks.unused()) throw new HermesFault('lost', 'The chat is not free.')
    await undoTo(this.p.program, this.id, this.stored, row)
    this.known = null
  }

  /** What Hermes says of it. */
  inform(info: SessionInfo): void {
    this.#info = { ...this.#info, ...info, tools: info.tools && Object.keys(info.tools).length > 0 ? info.tools : this.#info.tools }
    const stored = info.stored_session_id
    if (stored === undefined || stored === '' || stored === this.stored) return
    this.stored = stored
    this.known = null
    this.hooks.tell([{ type: 'session.bound', foreign: stored, why: 'rotated' }])
  }

  /** Whether Hermes has a tool here; undefined before it has said which. */
  has(tool: string): boolean | undefined {
    const sets = Object.values(this.#info.tools ?? {})
    return sets.length === 0 ? undefined : sets.some((names) => names?.includes(tool))
  }

  async count(): Promise<Count | null> {
    return this.stored === undefined || this.id === null ? null : countOf(this.p.program, this.p.timers, this.stored)
  }

  async state(): Promise<'idle' | 'busy' | 'unknown'> {
    return this.id === null ? 'idle' : stateOf(this.p.program, this.id)
  }

  /** It is gone without us. */
  lost(): void {
    this.#unlisten()
    this.id = null
  }

  /** Ends it. `answers`: false for a program that hangs, which is not asked. */
  async drop(answers = true): Promise<void> {
    const { id } = this
    this.lost()
    if (id !== null && answers) await closeLive(this.p.program, id)
  }

  /** From now on it is not needed, unless a turn begins. */
  rest(): void {
    this.#cancelRest()
    if (this.#closed || !this.hooks.unused()) return
    this.#cancelRest = this.p.timers.after(IDLE_MS, () => {
      if (this.hooks.unused()) void this.drop()
    })
  }

  /** A turn begins. */
  wake(): void {
    this.#cancelRest()
  }

  /** It will not be opened any more. */
  close(): void {
    this.#closed = true
    this.#cancelRest()
  }
}
