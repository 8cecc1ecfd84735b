import type { Agent, AgentEvent, AgentSession, Opening, TurnEnd } from '../agents/port'
import type { LiveRun } from './run'

/** A turn that nobody submitted (spec/agents.md §2): what belongs to it waits until it has a run. */
export interface ForeignTurn {
  text: string
  source: 'agent' | 'wakeup'
  end: Promise<TurnEnd>
  /** From now on the run gets what the agent says, beginning with what waited. */
  attach(run: LiveRun): void
}

interface Foreign extends ForeignTurn { run: LiveRun | null; waiting: AgentEvent[]; /** UTF-16 units of text that wait. */ units: number; finish(end: TurnEnd): void }

export interface LineParts {
  /** A foreign turn has begun; it is in `foreign` until somebody takes it. */
  onBegan: () => void
  /** What the agent says while nothing runs, such as a title. */
  onIdle: (event: AgentEvent) => void
  /** UTF-16 units of text that may wait for the end of our run; to pause the agent instead would pause that run, too. */
  most: number
}

/**
 * The line between a chat and one session of its agent. It outlives turns: what the agent says goes to the run whose turn it is, and a turn that
 * nobody submitted waits for the end of ours.
 */
export class Line {
  session: AgentSession | null = null
  /** Turns that began by themselves and have no run yet. */
  readonly foreign: ForeignTurn[] = []
  /** True when the session is worth keeping between turns: its agent may begin one by itself. */
  keeps = false
  #run: LiveRun | null = null
  /** The foreign turn that the agent is in. */
  #within: Foreign | null = null
  #held: AgentEvent[] | null = null
  #closed = false

  constructor(readonly agent: Agent, readonly cwd: string, private readonly p: LineParts) {}

  get closed(): boolean {
    return this.#closed
  }

  /** The session, opened if it is not. One that opens after the line was closed is closed at once. */
  async open(opening: Opening): Promise<AgentSession> {
    if (this.session) return this.session
    const session = await this.agent.open(opening, this.sink)
    this.session = session
    if (this.#closed) await this.#end(session)
    return session
  }

  /** Ends the session and leaves the line: the next turn opens another one on it. */
  async renew(): Promise<void> {
    const { session } = this
    this.session = null
    if (session) await this.#end(session)
  }

  /** From now on this run gets what the agent says, except of turns that nobody submitted. */
  attach(run: LiveRun): void {
    this.#run = run
    const held = this.#held ?? []
    this.#held = null
    for (const event of held) void this.sink(event)
  }

  detach(run: LiveRun): void {
    if (this.#run === run) this.#run = null
  }

  /** What is said waits for `attach`. */
  hold(): void {
    this.#held = []
  }

  readonly sink = (event: AgentEvent): void | Promise<void> => {
    if (this.#closed) return
    if (this.#held) return void this.#held.push(event)
    if (event.type === 'turn.began') return this.#began(event.text, event.source)
    if (event.type === 'turn.ended') return this.#within?.finish(event.end)
    const within = this.#within
    if (within) return within.run ? within.run.sink(event) : this.#wait(within, event)
    return this.#run ? this.#run.sink(event) : this.p.onIdle(event)
  }

  /** Ends the session. Resolves when the agent says that it has ended. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#within?.finish({ outcome: 'interrupted' })
    this.foreign.length = 0
    if (this.session) await this.#end(this.session)
  }

  /** A turn that says too much meanwhile fails: what it said until then is shown. */
  #wait(turn: Foreign, event: AgentEvent): void {
    if (turn.units > this.p.most) return
    turn.waiting.push(event)
    turn.units += event.type === 'text' || event.type === 'reasoning' ? event.delta.length : 0
  }

  async #end(session: AgentSession): Promise<void> {
    await Promise.resolve().then(() => session.close()).catch(() => undefined)
  }

  #began(text: string, source: 'agent' | 'wakeup'): void {
    // An agent that begins the next one has ended the last.
    this.#within?.finish({ outcome: 'completed' })
    let resolve!: (end: TurnEnd) => void
    const turn: Foreign = {
      text, source, run: null, waiting: [], units: 0, end: new Promise((done) => (resolve = done)),
      finish: (end) => {
        if (this.#within === turn) this.#within = null
        resolve(turn.units > this.p.most ? { outcome: 'failed', problem: { code: 'error', words: 'It said more than can wait for the end of another turn.' } } : end)
      },
      attach: (run) => {
        turn.run = run
        for (const event of turn.waiting.splice(0)) void run.sink(event)
      },
    }
    this.#within = turn
    this.foreign.push(turn)
    this.p.onBegan()
  }
}
