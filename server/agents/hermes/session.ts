import type { AgentEvent, AgentSession, Delivery, Opening, Sink, Timers, TurnEnd, TurnInput } from '../port'
import { Asked } from './asked'
import { attach } from './attachments'
import { Chosen } from './chosen'
import { undoTo } from './history'
import { missedEvents } from './missed'
import { openSession, resumeSession } from './opened'
import type { Opened } from './opened'
import { closeLive, countOf, interrupt, stateOf } from './live'
import type { Count } from './live'
import { isLost, unlessLost } from './lost'
import { HermesFault } from './port'
import type { HermesProgram } from './port'
import { wellFormedWords } from './prompt'
import type { HermesEvent } from './protocol/events'
import type { SessionInfo } from './protocol/shapes'
import { turnRows } from './stored-turn'
import { HermesTurn } from './turn'
import { asNumbers, usedSince } from './usage'
import { Words } from './words'

/** ms after a turn's end that Hermes may still be busy with it before it is asked (trap 5), how often then, and how long in all. */
const BUSY_MS = 2_000
const BUSY_MOST = 30_000
/** ms that a turn has to end after an interrupt, and between two looks at whether anything runs at all (trap 3b); then the session is closed. */
const STOP_MS = 5_000
const STOP_LOOK = 1_000
/** ms that a live session lasts after its last turn: each costs Hermes 52 MB (spec/agents.md §4). */
const IDLE_MS = 10 * 60_000
/** ms between two questions for life while a tool works, and how many in a row may have no answer (spec/agents.md §4: ten minutes). */
const LIFE_MS = 60_000
const LIFE_MOST = 10
/** How often a live session is tried to be had. */
const OPEN_TRIES = 3

export interface HermesSessionParts {
  program: HermesProgram
  timers: Timers
  realpath(path: string): Promise<string>
  closed(): void
  /** The program has not answered at all. */
  deaf(): void
  /** Resolves once a program that hung has been begun anew. */
  cured(): Promise<void>
}

/** A turn that runs in Hermes, or was submitted and has not begun. */
export interface Current {
  turn: HermesTurn
  ours: boolean
  /** Hermes has begun it. */
  begun: boolean
  /** Its end was said, and Hermes is asked whether it still works on it. */
  over: boolean
  before: Count
  finish(end: TurnEnd): void
}

/**
 * One chat with Hermes: its live session, one turn at a time, submitted or Hermes' own. The live session comes and goes (ten minutes of rest, a lost socket,
 * a new process); the stored one is what the chat is bound to.
 */
export class HermesSession implements AgentSession {
  readonly asked: Asked
  readonly words: Words
  #current: Current | null = null
  /** Ours, while one that nobody submitted runs before it. */
  #next: Current | null = null
  #live: string | null = null
  #stored: string | undefined
  #info: SessionInfo = {}
  #unlisten: () => void = () => undefined
  #unloss: () => void
  /** What a turn that nobody submitted begins with (`status.update`, kind `process`). */
  #process: string | null = null
  /** What it sent into the background and has not heard of again: a session that waits for it is not closed. */
  #background = 0
  #known: Count | null = null
  #stopped = false
  #closed = false
  #cancelRest: () => void = () => undefined
  #cancelBusy: () => void = () => undefined
  #cancelLife: () => void = () => undefined
  /** Events that wait while a turn's counters are read: what comes next belongs to the next turn. */
  #waiting: HermesEvent[] = []
  #counting: Promise<void> | null = null
  #approvals = 60_000
  #handles = 0
  readonly #chosen = new Chosen()

  constructor(private readonly p: HermesSessionParts, private readonly opening: Opening, private readonly sink: Sink) {
    this.asked = new Asked(p.program, p.timers)
    this.words = new Words(p.program, () => (this.#current?.begun ? this.#current.turn.open : []))
    this.#unloss = p.program.onLoss((loss) => void this.#lost(loss))
    this.#stored = opening.foreign
  }

  /** Makes the live session. Rejects with `HermesFault`. */
  async open(): Promise<void> {
    const opened = await unlessLost(this.p.timers, async () => {
      await this.p.cured()
      await this.p.program.ready()
      return openSession(this.p, { ...this.opening, ...(this.#stored === undefined ? {} : { foreign: this.#stored }) })
    }, () => !this.#closed && !this.#stopped)
    await this.attach(opened)
    if (opened.resumed === undefined) {
      this.#known = { counters: {}, rows: 0 }
      this.#chosen.made(this.opening.model, this.opening.effort)
    }
  }

  /** Takes up a live session that stands. */
  async attach(opened: Opened): Promise<void> {
    if (this.#closed) throw new HermesFault('lost', 'The chat was closed.')
    this.#approvals = await this.p.program.approvalTimeout()
    this.#unlisten()
    this.#live = opened.live
    this.#stored = opened.stored
    this.#info = opened.info
    if (opened.bound) void this.#tell([{ type: 'session.bound', foreign: opened.stored, why: opened.bound }])
    this.#unlisten = this.p.program.listen(opened.live, (event) => this.#hear(event))
    this.#rest()
  }

  async turn(input: TurnInput): Promise<TurnEnd> {
    this.#stopped = false
    this.#cancelRest()
    try {
      for (let tries = 0; this.#live === null || tries === 0; tries++) {
        if (this.#stopped) return { outcome: 'cancelled' }
        if (this.#closed || tries === OPEN_TRIES) throw new HermesFault('lost', this.#closed ? 'The chat was closed.' : 'Hermes Agent ended.')
        await this.#ready(input)
      }
    } catch (error) {
      this.#rest()
      return this.#stopped ? { outcome: 'cancelled' } : this.#failed(error)
    }
    if (this.#stopped) return { outcome: 'cancelled' }
    return await new Promise((resolve) => {
      // Before it is sent: it often begins before the answer (trap 6).
      const mine = this.#make(true, (end) => resolve(end))
      if (this.#current) this.#next = mine
      else this.#current = mine
      void this.#submit(mine, input)
    })
  }

  decide(question: string, choice: string): Promise<Delivery> {
    return this.#live === null ? Promise.resolve(notRunning) : this.asked.decide(this.#live, question, choice)
  }

  answer(question: string, text: string): Promise<Delivery> {
    return this.asked.answer(question, wellFormedWords(text))
  }

  give(question: string, value: string | null): Promise<Delivery> {
    return this.asked.give(question, value)
  }

  steer(steer: string, text: string): Promise<Delivery> {
    if (this.#live === null || !this.#current?.ours || !this.#current.begun || this.#current.over || this.#stopped) return Promise.resolve(notRunning)
    return this.words.put(this.#live, steer, text)
  }

  async rewind(row: string): Promise<void> {
    if (this.#live === null) await this.open()
    if (this.#live === null || this.#stored === undefined || this.#current) throw new HermesFault('lost', 'The chat is not free.')
    await undoTo(this.p.program, this.#live, this.#stored, row)
    this.#known = null
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const mine = this.#next ?? this.#current
    if (!mine || this.#live === null) return
    const heard = await interrupt(this.p.program, this.#live)
    for (let waited = 0; heard && this.#stands(mine) && waited < STOP_MS; waited += STOP_LOOK) {
      await this.#pause(STOP_LOOK)
      if (this.#stands(mine) && (await this.#state()) === 'idle') return this.#over(mine, { outcome: 'cancelled' })
    }
    if (!this.#stands(mine)) return
    // It does not end: the live session is given up, and the next turn opens the stored one again (the ladder of one run, spec/agents.md §4).
    await this.#drop(heard)
    this.#over(mine, { outcome: 'cancelled' })
    // A program that answers nothing at all is begun anew, at once: the next turn waits for that.
    if (!heard) this.p.deaf()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#cancelRest()
    this.#cancelBusy()
    this.#cancelLife()
    this.#unloss()
    const live = this.#live
    const running = this.#current ?? this.#next
    // A close alone does not stop what runs (trap 12).
    const heard = live === null || !running || (await interrupt(this.p.program, live))
    await this.#drop(heard)
    for (const each of [this.#current, this.#next]) if (each) this.#settle(each, { outcome: 'interrupted' })
    this.p.closed()
  }

  /** Goes on with a turn that runs already; its end is what is answered. */
  resume(before: Current['before'], prepare: (turn: HermesTurn) => AgentEvent[]): Promise<TurnEnd> {
    return new Promise((resolve) => {
      const mine = this.#make(true, resolve)
      mine.begun = true
      mine.before = before
      this.#current = mine
      this.#cancelRest()
      void this.#tell(prepare(mine.turn))
    })
  }

  #make(ours: boolean, finish: (end: TurnEnd) => void): Current {
    const turn = new HermesTurn({
      now: this.p.timers.now, cwd: this.opening.cwd, approvals: this.#approvals, has: (tool) => this.#has(tool), handle: () => `approval ${++this.#handles}`,
    })
    return { turn, ours, begun: false, over: false, before: this.#known ?? { counters: {}, rows: undefined }, finish }
  }

  #has(tool: string): boolean | undefined {
    const sets = Object.values(this.#info.tools ?? {})
    return sets.length === 0 ? undefined : sets.some((names) => names?.includes(tool))
  }

  /** A live session that is free, with the model and effort that this turn wants, and the counters before it. */
  async #ready(input: TurnInput): Promise<void> {
    await this.#counting
    if (this.#live === null) await this.open()
    const live = this.#live
    if (live === null || this.#stopped) return
    await this.#chosen.choose(this.p.program, live, this.#info, input)
    this.#known ??= await this.#count()
    if (this.#stored !== undefined) void this.#tell([{ type: 'turn.bound', foreign: this.#stored, counters: asNumbers(this.#known?.counters ?? {}, this.#known?.rows) }])
  }

  async #submit(mine: Current, input: TurnInput, again = false): Promise<void> {
    let unsent = async (): Promise<void> => undefined
    try {
      if (this.#live === null || !this.#stands(mine)) return
      if (this.#stopped) return this.#over(mine, { outcome: 'cancelled' })
      const given = await attach(this.p.program, this.#live, wellFormedWords(input.text), input.attachments ?? [])
      unsent = given.detach
      if (this.#live === null || !this.#stands(mine) || this.#stopped) {
        await unsent()
        return this.#stands(mine) ? this.#over(mine, { outcome: 'cancelled' }) : undefined
      }
      if (!again) void this.#tell(given.notices)
      await this.p.program.call('prompt.submit', { session_id: this.#live, text: given.text })
    } catch (error) {
      // What answers late or not at all may have begun: then its own end counts.
      if (mine.begun || !this.#stands(mine)) return
      // Hermes has refused the message, and would give its pictures to the next one.
      if (error instanceof HermesFault && error.code === 'rpc') await unsent()
      if (again || !isLost(error) || !(await this.#submitAgain(mine, input))) this.#over(mine, this.#failed(error))
    }
  }

  /** The program died under a message. It is sent again where the store says that the first one did not have it; false: it had. */
  async #submitAgain(mine: Current, input: TurnInput): Promise<boolean> {
    this.#live = null
    try {
      await this.open()
      const rows = (await this.#count())?.rows
      if (!this.#stands(mine) || this.#stopped || rows === undefined || rows > (mine.before.rows ?? 0)) return false
    } catch {
      return false
    }
    await this.#submit(mine, input, true)
    return true
  }

  #hear(event: HermesEvent): void | Promise<void> {
    if (this.#closed) return
    if (this.#counting) return void this.#waiting.push(event)
    if (event.type === 'session.info') this.#inform(event.payload)
    else if (event.type === 'session.title') {
      if (event.payload.session_id === undefined || event.payload.session_id === this.#stored) return this.#tell([{ type: 'title', text: event.payload.title }])
    } else if (event.type === 'status.update' && event.payload.kind === 'process') {
      this.#process = event.payload.text ?? ''
      this.#background = Math.max(0, this.#background - 1)
    } else if (event.type === 'message.start') this.#begin()
    else return this.#ofTurn(event)
  }

  #begin(): void {
    if (this.#current?.begun && !this.#current.over) return
    // The next one has begun: the last is over, whatever else was to be said of it.
    if (this.#current?.over) return this.#over(this.#current, this.#current.turn.end ?? { outcome: 'completed' }, { type: 'message.start', payload: {} })
    const mine = this.#current
    if (mine && this.#process === null) {
      mine.begun = true
      this.#watch(mine, 0)
      return
    }
    this.#next = mine ?? this.#next
    const text = this.#process ?? ''
    this.#process = null
    this.#cancelRest()
    void this.#tell([{ type: 'turn.began', text, source: 'agent' }])
    this.#current = { ...this.#make(false, (end) => this.#tell([{ type: 'turn.ended', end }])), begun: true }
  }

  #ofTurn(event: HermesEvent): void | Promise<void> {
    const current = this.#current
    if (!current) return
    // A failed build says an error and begins nothing.
    if (event.type !== 'status.update') current.begun = true
    const told = current.turn.hear(event)
    const held = this.#tell([...(this.#stopped && current.ours ? told.flatMap(whileStopping) : told), ...(current.ours && this.#live !== null ? this.words.hear(event, this.#live) : [])])
    if (event.type === 'tool.complete') this.#noteBackground(event.payload.result)
    if (current.turn.end && !current.over) {
      current.over = true
      this.#untilFree(current, 0)
    }
    return held
  }

  #noteBackground(result: unknown): void {
    if (typeof result !== 'object' || result === null) return
    if (('notify_on_complete' in result && result.notify_on_complete === true) || ('status' in result && result.status === 'dispatched')) this.#background++
  }

  #inform(info: SessionInfo): void {
    this.#info = { ...this.#info, ...info, tools: info.tools && Object.keys(info.tools).length > 0 ? info.tools : this.#info.tools }
    const stored = info.stored_session_id
    if (stored !== undefined && stored !== '' && stored !== this.#stored) {
      this.#stored = stored
      this.#known = null
      void this.#tell([{ type: 'session.bound', foreign: stored, why: 'rotated' }])
    }
    const current = this.#current
    if (info.running === false && current?.over) this.#over(current, current.turn.end ?? { outcome: 'completed' })
  }

  /** Its end was said; the session is free a little later. Where it does not say so it is asked. */
  #untilFree(current: Current, waited: number): void {
    this.#cancelBusy()
    this.#cancelBusy = this.p.timers.after(BUSY_MS, () => {
      void this.#state().then(async (state) => {
        if (this.#current !== current) return
        const now = waited + BUSY_MS
        if (state === 'busy' && now < BUSY_MOST) return this.#untilFree(current, now)
        if (state === 'busy') await this.#drop()
        this.#over(current, current.turn.end ?? { outcome: 'completed' })
      })
    })
  }

  /** While a tool works nothing has to come: only a question that is not answered says that Hermes hangs. */
  #watch(current: Current, missed: number): void {
    this.#cancelLife()
    this.#cancelLife = this.p.timers.after(LIFE_MS, () => {
      if (this.#current !== current) return
      const waits = current.turn.open.length > 0 && !this.asked.any
      void (waits ? this.#state() : Promise.resolve('busy')).then((state) => {
        if (this.#current !== current) return
        const now = state === 'unknown' ? missed + 1 : 0
        if (now < LIFE_MOST) return this.#watch(current, now)
        this.#over(current, { outcome: 'failed', problem: { code: 'agent_silent', words: 'Hermes Agent does not answer any more.' } })
        this.p.deaf()
      })
    })
  }

  async #state(): Promise<'idle' | 'busy' | 'unknown'> {
    return this.#live === null ? 'idle' : stateOf(this.p.program, this.#live)
  }

  /** The turn is over: what it used is counted, and what has been said since belongs to the next. */
  #over(current: Current, end: TurnEnd, then?: HermesEvent): void {
    if (!this.#stands(current)) return
    this.#cancelBusy()
    if (then) this.#waiting.push(then)
    void this.#tell(current.turn.close())
    const counted = this.#count()
    const counting = counted.then((now) => {
      const usage = { ...current.turn.context, ...(now ? usedSince(current.before.counters, now.counters) : {}) }
      this.#known = now ?? null
      if (this.#next) this.#next.before = now ?? this.#next.before
      this.#counting = null
      this.#settle(current, Object.keys(usage).length > 0 ? { ...end, usage } : end)
      for (const event of this.#waiting.splice(0)) void this.#hear(event)
    })
    this.#counting = counting
  }

  #settle(current: Current, end: TurnEnd): void {
    if (current === this.#next) this.#next = null
    else if (current === this.#current) {
      this.#current = this.#next
      this.#next = null
    } else return
    this.asked.clear()
    if (current.ours) this.words.clear()
    current.finish(this.#stopped && current.ours && end.outcome !== 'completed' ? { ...withoutProblem(end), outcome: 'cancelled' } : end)
    this.#rest()
  }

  #stands(current: Current): boolean {
    return current === this.#current || current === this.#next
  }

  async #count(): Promise<Count | null> {
    return this.#stored === undefined || this.#live === null ? null : countOf(this.p.program, this.p.timers, this.#stored)
  }

  async #lost(loss: 'socket' | 'program'): Promise<void> {
    const current = this.#current
    const stored = this.#stored
    this.#unlisten()
    this.#live = null
    const gone = (words: string): TurnEnd => ({ outcome: 'interrupted', problem: { code: 'agent_died', words } })
    // One that was sent in that moment is looked after by its sender.
    if (!current || (current.ours && !current.begun)) return
    if (loss === 'program' || stored === undefined) {
      for (const each of [this.#next, current]) if (each) this.#over(each, gone('Hermes Agent ended in the middle.'))
      return
    }
    try {
      await this.p.program.ready()
      const opened = await resumeSession(this.p.program, stored)
      if (!opened || this.#current !== current || this.#closed) return this.#over(current, gone('The connection to Hermes Agent was lost.'))
      const running = opened.resumed?.running === true
      // Before anybody listens: what is said from here on waits, and comes after what was missed.
      const rows = turnRows((await this.p.program.messages(opened.stored).catch(() => null)) ?? [], current.before.rows)
      if (this.#current !== current) return
      await this.attach(opened)
      for (const missed of missedEvents(current.turn, running ? (opened.resumed?.inflight?.assistant ?? '') : null, rows)) void this.#tell(current.turn.hear(missed))
      if (!running) this.#over(current, current.turn.end ?? gone('The connection to Hermes Agent was lost.'))
    } catch (error) {
      this.#over(current, gone(error instanceof Error ? error.message : String(error)))
    }
  }

  /** Ends the live session; the stored one stays. */
  async #drop(answers = true): Promise<void> {
    const live = this.#live
    this.#live = null
    this.#unlisten()
    if (live !== null && answers) await closeLive(this.p.program, live)
  }

  #rest(): void {
    this.#cancelRest()
    if (this.#closed || this.#current || this.#next || this.#background > 0) return
    this.#cancelRest = this.p.timers.after(IDLE_MS, () => {
      if (!this.#current && !this.#next) void this.#drop()
    })
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.p.timers.after(ms, resolve))
  }

  #failed(error: unknown): TurnEnd {
    return { outcome: 'failed', problem: { code: error instanceof HermesFault && error.code !== 'rpc' ? 'agent_unavailable' : 'error', words: error instanceof Error ? error.message : String(error) } }
  }

  /** The last of its promises is the backpressure. */
  #tell(events: readonly AgentEvent[]): void | Promise<void> {
    let held: void | Promise<void> = undefined
    for (const event of events) {
      this.asked.note(event)
      held = this.sink(event) ?? held
    }
    return held
  }
}

const notRunning: Delivery = { state: 'refused', code: 'not_running' }

/** What a stop ends is cancelled, whatever Hermes calls it; its questions end with the run (recording 07). */
function whileStopping(event: AgentEvent): AgentEvent[] {
  if (event.type === 'question.withdrawn') return []
  return event.type === 'tool.closed' && event.state !== 'done' ? [{ ...event, state: 'cancelled' }] : [event]
}

function withoutProblem({ problem: _, ...end }: TurnEnd): TurnEnd {
  return end
}
