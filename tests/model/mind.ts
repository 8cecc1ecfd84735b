import type { Agent, AgentEvent, AgentSession, Binding, Delivery, Probe, Reattached, Sink, TurnEnd, TurnInput } from '../../server/agents/port'
import type { FakeTimers } from '../support/fake-timers'

/** What the agent asks somebody, and what it was answered. */
export interface Asked {
  event: Extract<AgentEvent, { type: 'question.raised' | 'clarify.raised' | 'secret.raised' }>
  nameless: boolean
  open: boolean
  /** Monotonic ms after which a question without an id has gone without a word. */
  drops: number
  /** Answers that it took. */
  got: string[]
}

/** One turn as the agent knows it. */
interface Turn {
  foreign: boolean
  /** Text of the message that it is in. */
  message: string
  open: string[]
  /** Tools that ended while nobody listened. */
  unheard: { call: string; state: 'done' | 'failed' }[]
  /** Words that it has and has not used. */
  steers: string[]
  /** Words that it has used. */
  used: Set<string>
  end: (end: TurnEnd) => void
  fail: (error: Error) => void
  over: TurnEnd | null
  /** The server that it belongs to. */
  epoch: number
  session: string
  /** Its own name of the turn, once it has told it. */
  bound: string | null
}

/**
 * An agent for generated lives (spec/agents.md §2–3). It does what the dice say and knows what it has done, in a process that may outlast the server: it
 * can be cut off and taken up again. Answers that it should never have got it throws at the test.
 */
export class Mind {
  turn: Turn | null = null
  readonly asked = new Map<string, Asked>()
  /** What went wrong that only the agent can see. */
  readonly faults: string[] = []
  /** Words that it named as its own when it was taken up, by what the run was called then. */
  readonly named = new Map<string, string[]>()
  /** The sink of the server that listens, if one does. */
  #sink: Sink | null = null
  #epoch = 0
  #names = 0
  #session = ''

  constructor(private readonly p: { timers: FakeTimers; under: (n: number) => number; name: string; background: boolean; binds: boolean }) {}

  get live(): boolean {
    return this.turn !== null && this.turn.over === null
  }

  /** The server is gone: nothing of its sessions reaches the agent any more, and what it says is heard by nobody. */
  cut(): void {
    this.#epoch++
    this.#sink = null
    if (this.turn?.foreign) this.#drop()
  }

  /** The agent as one server sees it: once that is cut off it gets no answer any more. */
  face(): Agent {
    const epoch = this.#epoch
    const mine = <T>(work: () => Promise<T>): Promise<T> => (epoch === this.#epoch ? work() : new Promise<never>(() => {}))
    return {
      kind: 'scripted', probe: () => mine(() => this.#probe()), open: ({ session }, sink) => mine(() => this.#opened(session, sink)),
      reattach: (_, binding, sink) => mine(() => this.#reattached(binding, sink)),
      survivors: async () => mine(async () => (this.turn?.bound ? [{ session: this.turn.session, foreign: this.turn.bound }] : [])), end: async () => {},
    }
  }

  async #probe(): Promise<Probe> {
    return { state: 'ready', agent: { kind: 'scripted', name: 'Mind' }, capabilities: this.p.background ? ['background', 'steer', 'stop'] : ['steer', 'stop'], model: { provider: 'p', id: 'm' } }
  }

  async #opened(session: string, sink: Sink): Promise<AgentSession> {
    this.#session = session
    if (this.p.under(25) === 0) throw new Error('cannot start')
    // What an earlier server left and nobody asks about ends here.
    if (this.live && this.turn!.epoch !== this.#epoch) this.#drop()
    this.#sink = sink
    return this.#line()
  }

  async #reattached(binding: Binding, sink: Sink): Promise<Reattached> {
    const epoch = this.#epoch
    // It may be slow to answer, or too slow.
    const late = this.p.under(3) === 0 ? [40, 3000, 14_000, 17_000][this.p.under(4)]! : 0
    if (late > 0) await new Promise<void>((resolve) => void this.p.timers.after(late, resolve))
    return epoch === this.#epoch ? this.#found(binding, sink) : new Promise<never>(() => {})
  }

  #found(binding: Binding, sink: Sink): Reattached {
    const turn = this.turn
    if (!turn || turn.foreign || turn.bound !== binding.foreign) return { state: 'gone' }
    turn.epoch = this.#epoch
    this.#sink = sink
    const message = this.p.under(12) === 0 ? null : turn.message
    // One that cannot say it does not know it.
    if (message === null) turn.message = ''
    const used = (binding.steers ?? []).filter((steer) => turn.used.has(steer))
    const taken = (binding.steers ?? []).filter((steer) => turn.used.has(steer) || turn.steers.includes(steer))
    this.named.set(binding.run, turn.over ? used : taken)
    if (turn.over) return { state: 'ended', end: turn.over, message, closed: turn.unheard.splice(0), used }
    for (const steer of used) void sink({ type: 'steer.delivered', steer, evidence: 'seen' })
    for (const { event, open, nameless, drops } of this.asked.values()) {
      // Secrets never; of those without a name none is left out, because the oldest of them takes the next answer (spec/agents.md §3).
      if (!open || event.type === 'secret.raised' || drops <= this.p.timers.monotonic()) continue
      if (nameless || binding.questions.includes(event.foreign ?? '') || this.p.under(2) === 0) void sink(event)
    }
    const end = new Promise<TurnEnd>((resolve, reject) => Object.assign(turn, { end: resolve, fail: reject }))
    return { state: 'running', session: this.#line(), end, message, open: [...turn.open], taken }
  }

  /** Says something in the turn it is in. */
  say(event: AgentEvent): void {
    const turn = this.turn
    if (!turn || turn.over) return
    switch (event.type) {
      case 'text':
        turn.message += event.delta
        if (event.delta !== '') this.#forgetNameless()
        break
      case 'message':
        this.#forgetNameless()
        turn.message = ''
        break
      case 'segment':
        turn.message = ''
        break
      case 'tool.started':
        turn.message = ''
        turn.open.push(event.call)
        break
      case 'tool.closed':
        turn.open = turn.open.filter((call) => call !== event.call)
        if (!this.#sink) turn.unheard.push({ call: event.call, state: event.state === 'failed' ? 'failed' : 'done' })
        for (const asked of this.asked.values()) if (asked.event.type === 'question.raised' && asked.event.call === event.call) asked.open = false
        break
      case 'question.raised':
      case 'clarify.raised':
      case 'secret.raised': {
        const nameless = event.type === 'question.raised' && event.nameless === true
        const deadline = event.request.deadline
        this.asked.set(event.question, { event, nameless, open: true, got: [], drops: nameless && deadline !== undefined ? this.p.timers.monotonic() + (deadline - this.p.timers.now()) + 2000 : Infinity })
        break
      }
      case 'question.withdrawn': {
        const asked = this.asked.get(event.question)
        if (asked) asked.open = false
      }
    }
    void this.#sink?.(event)
  }

  /** Ends the turn it is in. */
  finish(end: TurnEnd): void {
    const turn = this.turn
    if (!turn || turn.over) return
    turn.over = end
    for (const asked of this.asked.values()) asked.open = false
    if (turn.foreign) void this.#sink?.({ type: 'turn.ended', end })
    else turn.end(end)
  }

  crash(): void {
    const turn = this.turn
    if (!turn || turn.over || turn.foreign) return
    turn.over = { outcome: 'failed' }
    for (const asked of this.asked.values()) asked.open = false
    turn.fail(new Error('broke'))
  }

  /** Begins a turn that nobody submitted. */
  begin(text: string): void {
    if (!this.#sink || !this.p.background) return
    void this.#sink({ type: 'turn.began', text, source: this.p.under(2) ? 'agent' : 'wakeup' })
    if (!this.live) {
      this.turn = this.#fresh(true, () => {}, () => {})
      return
    }
    // While it is in a turn, all of the other one comes in one breath.
    void this.#sink({ type: 'text', delta: `Of ${text}` })
    void this.#sink({ type: 'turn.ended', end: { outcome: 'completed' } })
  }

  /** A word that it has taken and may use. */
  useSteer(): void {
    const steer = this.turn?.steers.shift()
    if (steer === undefined) return
    this.turn!.used.add(steer)
    void this.#sink?.({ type: 'steer.delivered', steer, evidence: this.p.under(2) ? 'seen' : 'inferred' })
  }

  /** What speaks waits for no answer that has no name. */
  #forgetNameless(): void {
    for (const asked of this.asked.values()) if (asked.nameless) asked.open = false
  }

  #line(): AgentSession {
    const epoch = this.#epoch
    const mine = <T>(work: () => T): T | Promise<never> => (epoch === this.#epoch ? work() : new Promise<never>(() => {}))
    return {
      turn: async (input) => mine(() => this.#submitted(input)),
      decide: async (question, choice) => mine(() => this.#answered(question, choice)),
      answer: async (question, text) => mine(() => this.#answered(question, text)),
      give: async (question, value) => mine(() => this.#answered(question, value ?? 'refused')),
      steer: async (steer) => mine(() => this.#steered(steer)),
      stop: async () => mine(() => this.#stopped()),
      close: async () => mine(() => {
        // A session that is hung up takes its turn with it.
        this.#drop()
        this.#sink = null
      }),
    }
  }

  #submitted(_: TurnInput): Promise<TurnEnd> {
    // One of its own ends before it takes ours.
    if (this.turn?.foreign) this.finish({ outcome: 'completed' })
    if (this.live) this.faults.push('a turn opened on an agent that was still in another')
    return new Promise((resolve, reject) => {
      this.turn = this.#fresh(false, resolve, reject)
      if (!this.p.binds) return
      this.turn.bound = `${this.p.name}:${++this.#names}`
      void this.#sink!({ type: 'turn.bound', foreign: this.turn.bound })
    })
  }

  async #answered(question: string, answer: string): Promise<Delivery> {
    const asked = this.asked.get(question)
    if (!asked) {
      this.faults.push(`an answer to ${question}, which was never asked`)
      return { state: 'refused', code: 'question_gone' }
    }
    if (asked.nameless) {
      // It has no name for it: it takes any answer for its oldest open question.
      const oldest = [...this.asked.values()].find((each) => each.nameless && each.open && each.drops > this.p.timers.monotonic())
      if (!oldest) return { state: 'refused', code: 'question_gone' }
      if (oldest !== asked) this.faults.push(`an answer to ${question} was taken for ${oldest.event.question}`)
    } else if (!asked.open) return { state: 'refused', code: 'question_gone' }
    switch (this.p.under(12)) {
      case 0: return { state: 'refused', code: 'relay_failed', words: 'the line is bad' }
      case 1: throw new Error('the line broke')
    }
    asked.open = false
    asked.got.push(answer)
    return { state: 'delivered' }
  }

  async #steered(steer: string): Promise<Delivery> {
    const turn = this.turn
    if (!turn || turn.over) return { state: 'refused', code: 'not_running' }
    switch (this.p.under(8)) {
      case 0: return { state: 'refused', code: 'unsupported' }
      case 1: throw new Error('broke')
    }
    turn.steers.push(steer)
    return { state: 'delivered' }
  }

  async #stopped(): Promise<void> {
    // One that is deaf is given up after the ladder.
    if (this.p.under(4) === 0) return
    this.finish({ outcome: (['cancelled', 'completed', 'interrupted', 'failed'] as const)[this.p.under(4)]! })
  }

  #fresh(foreign: boolean, end: Turn['end'], fail: Turn['fail']): Turn {
    return { foreign, message: '', open: [], unheard: [], steers: [], used: new Set(), end, fail, over: null, epoch: this.#epoch, session: this.#session, bound: null }
  }

  #drop(): void {
    if (this.turn && !this.turn.over) this.turn.over = { outcome: 'interrupted' }
    for (const asked of this.asked.values()) asked.open = false
  }
}
