import type { AgentEvent, AgentSession, Delivery, Opening, Sink, TurnEnd, TurnInput } from '../port'
import { Asked } from './asked'
import { attach } from './attachments'
import { diedEnd, failedEnd, stoppedEnd, whileStopping } from './current'
import type { Current } from './current'
import { interrupt } from './live'
import type { Count } from './live'
import { LiveSession } from './live-session'
import type { LiveSessionParts } from './live-session'
import { Lookout } from './lookout'
import { isLost } from './lost'
import { missedEvents } from './missed'
import { resumeSession } from './opened'
import type { Opened } from './opened'
import { HermesFault } from './port'
import { wellFormedWords } from './prompt'
import type { HermesEvent } from './protocol/events'
import type { SessionInfo } from './protocol/shapes'
import { turnRows } from './stored-turn'
import { HermesTurn } from './turn'
import { usedSince } from './usage'
import { Words } from './words'

/** ms that a turn has to end after an interrupt, and between two looks at whether anything runs at all (trap 3b); then the session is closed. */
const STOP_MS = 5_000
const STOP_LOOK = 1_000
/** How often a live session is tried to be had. */
const OPEN_TRIES = 3

export interface HermesSessionParts extends LiveSessionParts {
  closed(): void
  /** The program has not answered at all. */
  deaf(): void
}

/**
 * One chat with Hermes: one turn at a time on its live session, submitted or Hermes' own.
 */
export class HermesSession implements AgentSession {
  readonly asked: Asked
  readonly words: Words
  #current: Current | null = null
  /** Ours, while one that nobody submitted runs before it. */
  #next: Current | null = null
  readonly #live: LiveSession
  readonly #lookout: Lookout
  #unloss: () => void
  /** What a turn that nobody submitted begins with (`status.update`, kind `process`). */
  #process: string | null = null
  /** What it sent into the background and has not heard of again: a session that waits for it is not closed. */
  #background = 0
  #stopped = false
  #closed = false
  /** Events that wait while a turn's counters are read: what comes next belongs to the next turn. */
  #waiting: HermesEvent[] = []
  #counting: Promise<void> | null = null
  #handles = 0

  constructor(private readonly p: HermesSessionParts, private readonly opening: Opening, private readonly sink: Sink) {
    this.asked = new Asked(p.program, p.timers)
    this.words = new Words(p.program, () => (this.#current?.begun ? this.#current.turn.open : []))
    this.#unloss = p.program.onLoss((loss) => void this.#lost(loss))
    this.#live = new LiveSession(p, opening, {
      tell: (events) => void this.#tell(events), hear: (event) => this.#hear(event), wanted: () => !this.#closed && !this.#stopped,
      unused: () => !this.#current && !this.#next && this.#background === 0,
    })
    this.#lookout = new Lookout(p.timers, () => this.#live.state())
  }

  /** Makes the live session. Rejects with `HermesFault`. */
  open(): Promise<void> {
    return this.#live.open()
  }

  /** Takes up a live session that stands. */
  attach(opened: Opened): Promise<void> {
    return this.#live.attach(opened)
  }

  async turn(input: TurnInput): Promise<TurnEnd> {
    this.#stopped = false
    this.#live.wake()
    try {
      for (let tries = 0; this.#live.id === null || tries === 0; tries++) {
        if (this.#stopped) return { outcome: 'cancelled' }
        if (this.#closed || tries === OPEN_TRIES) throw new HermesFault('lost', this.#closed ? 'The chat was closed.' : 'Hermes Agent ended.')
        await this.#counting
        await this.#live.ready(input)
      }
    } catch (error) {
      this.#live.rest()
      return this.#stopped ? { outcome: 'cancelled' } : failedEnd(error)
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
    return this.#live.id === null ? Promise.resolve(notRunning) : this.asked.decide(this.#live.id, question, choice)
  }

  answer(question: string, text: string): Promise<Delivery> {
    return this.asked.answer(question, wellFormedWords(text))
  }

  give(question: string, value: string | null): Promise<Delivery> {
    return this.asked.give(question, value)
  }

  steer(steer: string, text: string): Promise<Delivery> {
    if (this.#live.id === null || !this.#current?.ours || !this.#current.begun || this.#current.over || this.#stopped) return Promise.resolve(notRunning)
    return this.words.put(this.#live.id, steer, text)
  }

  rewind(row: string): Promise<void> {
    return this.#live.rewind(row)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const mine = this.#next ?? this.#current
    if (!mine || this.#live.id === null) return
    const heard = await interrupt(this.p.program, this.#live.id)
    for (let waited = 0; heard && this.#stands(mine) && waited < STOP_MS; waited += STOP_LOOK) {
      await this.#pause(STOP_LOOK)
      if (this.#stands(mine) && (await this.#live.state()) === 'idle') return this.#over(mine, { outcome: 'cancelled' })
    }
    if (!this.#stands(mine)) return
    // It does not end: the live session is given up, and the next turn opens the stored one again (the ladder of one run, spec/agents.md §4).
    await this.#live.drop(heard)
    this.#over(mine, { outcome: 'cancelled' })
    // A program that answers nothing at all is begun anew, at once: the next turn waits for that.
    if (!heard) this.p.deaf()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#live.close()
    this.#lookout.end()
    this.#unloss()
    const live = this.#live.id
    const running = this.#current ?? this.#next
    // A close alone does not stop what runs (trap 12).
    const heard = live === null || !running || (await interrupt(this.p.program, live))
    await this.#live.drop(heard)
    for (const each of [this.#current, this.#next]) if (each) this.#settle(each, { outcome: 'interrupted' })
    this.p.closed()
  }

  /** Goes on with a turn that runs already; its end is what is answered. */
  resume(before: Count, prepare: (turn: HermesTurn) => AgentEvent[]): Promise<TurnEnd> {
    return new Promise((resolve) => {
      const mine = this.#make(true, resolve)
      mine.begun = true
      mine.before = before
      this.#current = mine
      this.#live.wake()
      void this.#tell(prepare(mine.turn))
    })
  }

  #make(ours: boolean, finish: (end: TurnEnd) => void): Current {
    const turn = new HermesTurn({
      now: this.p.timers.now, cwd: this.opening.cwd, approvals: this.#live.approvals, has: (tool) => this.#live.has(tool), handle: () => `approval ${++this.#handles}`,
    })
    return { turn, ours, begun: false, over: false, before: this.#live.known ?? { counters: {}, rows: undefined }, finish }
  }

  async #submit(mine: Current, input: TurnInput, again = false): Promise<void> {
    let unsent = async (): Promise<void> => undefined
    try {
      const live = this.#live.id
      if (live === null || !this.#stands(mine)) return
      if (this.#stopped) return this.#over(mine, { outcome: 'cancelled' })
      const given = await attach(this.p.program, live, wellFormedWords(input.text), input.attachments ?? [])
      unsent = given.detach
      if (!this.#stands(mine) || this.#stopped) {
        await unsent()
        return this.#over(mine, { outcome: 'cancelled' })
      }
      if (this.#live.id !== live) throw new HermesFault('lost', 'Hermes Agent ended.')
      if (!again) void this.#tell(given.notices)
      await this.p.program.call('prompt.submit', { session_id: live, text: given.text })
    } catch (error) {
      // What answers late or not at all may have begun: then its own end counts.
      if (mine.begun || !this.#stands(mine)) return
      // Hermes has refused the message, and would give its pictures to the next one.
      if (error instanceof HermesFault && error.code === 'rpc') await unsent()
      if (again || !isLost(error) || !(await this.#submitAgain(mine, input))) this.#over(mine, failedEnd(error))
    }
  }

  /** The program died under a message. It is sent again where the store says that the first one did not have it; false: it had. */
  async #submitAgain(mine: Current, input: TurnInput): Promise<boolean> {
    this.#live.lost()
    try {
      await this.open()
      const rows = (await this.#live.count())?.rows
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
      if (event.payload.session_id === undefined || event.payload.session_id === this.#live.stored) return this.#tell([{ type: 'title', text: event.payload.title }])
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
      this.#watch(mine)
      return
    }
    this.#next = mine ?? this.#next
    const text = this.#process ?? ''
    this.#process = null
    this.#live.wake()
    void this.#tell([{ type: 'turn.began', text, source: 'agent' }])
    this.#current = { ...this.#make(false, (end) => this.#tell([{ type: 'turn.ended', end }])), begun: true }
  }

  #ofTurn(event: HermesEvent): void | Promise<void> {
    const current = this.#current
    if (!current) return
    // A failed build says an error and begins nothing.
    if (event.type !== 'status.update') current.begun = true
    const told = current.turn.hear(event)
    const held = this.#tell([...(this.#stopped && current.ours ? told.flatMap(whileStopping) : told), ...(current.ours && this.#live.id !== null ? this.words.hear(event, this.#live.id) : [])])
    if (event.type === 'tool.complete') this.#noteBackground(event.payload.result)
    if (current.turn.end && !current.over) {
      current.over = true
      this.#lookout.untilFree(() => this.#current === current, () => this.#over(current, current.turn.end ?? { outcome: 'completed' }), () => this.#live.drop())
    }
    return held
  }

  #noteBackground(result: unknown): void {
    if (typeof result !== 'object' || result === null) return
    if (('notify_on_complete' in result && result.notify_on_complete === true) || ('status' in result && result.status === 'dispatched')) this.#background++
  }

  #inform(info: SessionInfo): void {
    this.#live.inform(info)
    const current = this.#current
    if (info.running === false && current?.over) this.#over(current, current.turn.end ?? { outcome: 'completed' })
  }

  #watch(current: Current): void {
    this.#lookout.watch(() => this.#current === current, () => current.turn.open.length > 0 && !this.asked.any, () => {
      this.#over(current, { outcome: 'failed', problem: { code: 'agent_silent', words: 'Hermes Agent does not answer any more.' } })
      this.p.deaf()
    })
  }

  /** The turn is over: what it used is counted, and what has been said since belongs to the next. */
  #over(current: Current, end: TurnEnd, then?: HermesEvent): void {
    if (!this.#stands(current)) return
    this.#lookout.free()
    if (then) this.#waiting.push(then)
    void this.#tell(current.turn.close())
    const counted = this.#live.count()
    const counting = counted.then((now) => {
      const usage = { ...current.turn.context, ...(now ? usedSince(current.before.counters, now.counters) : {}) }
      this.#live.known = now
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
    current.finish(this.#stopped && current.ours && end.outcome !== 'completed' ? stoppedEnd(end) : end)
    this.#live.rest()
  }

  #stands(current: Current): boolean {
    return current === this.#current || current === this.#next
  }

  async #lost(loss: 'socket' | 'program'): Promise<void> {
    const current = this.#current
    const { stored } = this.#live
    this.#live.lost()
    // One that was sent in that moment is looked after by its sender.
    if (!current || (current.ours && !current.begun)) return
    if (loss === 'program' || stored === undefined) {
      for (const each of [this.#next, current]) if (each) this.#over(each, diedEnd('Hermes Agent ended in the middle.'))
      return
    }
    try {
      await this.p.program.ready()
      const opened = await resumeSession(this.p.program, stored)
      if (!opened || this.#current !== current || this.#closed) return this.#over(current, diedEnd('The connection to Hermes Agent was lost.'))
      const running = opened.resumed?.running === true
      // Before anybody listens: what is said from here on waits, and comes after what was missed.
      const rows = turnRows((await this.p.program.messages(opened.stored).catch(() => null)) ?? [], current.before.rows)
      if (this.#current !== current) return
      await this.attach(opened)
      for (const missed of missedEvents(current.turn, running ? (opened.resumed?.inflight?.assistant ?? '') : null, rows)) void this.#tell(current.turn.hear(missed))
      if (!running) this.#over(current, current.turn.end ?? diedEnd('The connection to Hermes Agent was lost.'))
    } catch (error) {
      this.#over(current, diedEnd(error instanceof Error ? error.message : String(error)))
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.p.timers.after(ms, resolve))
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
