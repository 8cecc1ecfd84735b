import type { Agent, AgentEvent, AgentSession, Opening, Probe, Timers, TurnInput } from '../agents/port'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import type { AgentRef, SessionHead } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { Store } from '../store/port'
import { admit, effortOf } from './admit'
import type { Admission, Admitted } from './admit'
import type { Attaching } from './attaching'
import { afterTurn } from './foreign/after'
import { beforeTurn } from './foreign/before'
import { Held } from './held'
import type { Entry, Ledger } from './ledger'
import type { Limits } from './limits'
import { Line } from './line'
import type { Started } from './port'
import { sessionBusy } from './refuse'
import { LiveRun } from './run'
import type { RunParts } from './run'
import { Serial } from './serial'
import type { Steers } from './steer'
import { within } from './timers'
import type { WorkspaceRules } from './workspace'

export interface ActorParts {
  store: Store
  timers: Timers
  mint: Mint
  limits: Limits
  workspace: WorkspaceRules
  /** The agent that a chat is bound to. Throws `agent_unavailable` where this server has none of its kind. */
  agentOf: (head: Pick<SessionHead, 'agent'>) => Agent
  /** The agent of a chat, or the one that new chats use: a chat is bound at its first turn (spec/agents.md §1). */
  refOf: (head: Pick<SessionHead, 'agent'>, profile: ProfileContext) => Promise<AgentRef>
  /** The profile of what nobody asks for: the queue, a re-attach. Null: unknown, and nothing begins (law 9). */
  profileOf: (name: string) => ProfileContext | null
  /** Where a file of a chat lies, by its name; absolute. */
  pathOf?: (session: string, name: string) => string
  /** False once the server drains: checked in the same tick as the claim. */
  admitting: () => boolean
}

/** What follows from what happens to a session. */
export interface CoreHooks {
  /** No run is live any more: what waits may begin. */
  onFree: () => void
  /** The live run's log is not to be had. */
  onLost: (run: LiveRun) => void
  /** The agent has begun a turn that nobody submitted. */
  onBegan: (line: Line) => void
  /** What the agent says while nothing runs. */
  onIdle: (event: AgentEvent) => void
}

/** What the commands of one session share: its live run and the way there, the line to its agent, what is known of it, and their order. */
export class Core {
  live: LiveRun | null = null
  line: Line | null = null
  /** The run that our restart has settled and whose agent is being asked about it: until it has answered, nothing starts. */
  attaching: Attaching | null = null
  /** The words of the last run: who asks again with the same key is answered as before, also when it is over. */
  words: { run: string; steers: Steers } | null = null
  readonly serial: Serial
  readonly held: Held
  #released: Promise<void> = Promise.resolve()

  constructor(readonly id: string, readonly p: ActorParts, private readonly hooks: CoreHooks) {
    this.serial = new Serial(p.timers, p.limits.retry)
    this.held = new Held(id, p.store, p.timers, () => this.#lost())
  }

  get idle(): boolean {
    return this.live === null && !this.serial.busy && this.line === null && this.attaching === null
  }

  /** Refuses while a run is live. One that is about to settle is waited for, so that whoever has seen it end may send at once. */
  async free(): Promise<void> {
    const { live } = this
    if (live?.settled) {
      await live.settled
      if (live.turnOver) await this.#released
    }
    const busy = this.live?.id ?? this.attaching?.run
    if (busy) throw sessionBusy(this.id, busy)
  }

  async probe(agent: Agent, profile: ProfileContext): Promise<Probe> {
    const late = (): Probe => ({ state: 'unavailable', code: 'slow' })
    return within(this.p.timers, this.p.limits.probe, agent.probe(profile), late).catch((): Probe => ({ state: 'unavailable', code: 'failed' }))
  }

  /** The claim of a run, in the tick of its caller's checks, and the append that makes it live. A failed one leaves no run. */
  begin(ledger: Ledger, admission: Admission, receipt?: (started: Started) => Entry['receipt']): { run: LiveRun; admitted: Admitted; committed: Promise<void> } {
    const { pathOf } = this.p
    const admitted = admit(ledger, this.p.mint, { ...admission, pathOf: pathOf && ((name) => pathOf(this.id, name)) })
    const { started, generation, userRow } = admitted
    const run = this.make({ ledger, run: started.run, turn: started.turn, generation, userRow, agent: admission.agent, head: admission.head, startedAt: admission.now })
    run.anew = admission.retry !== undefined ? 'retried' : admission.replaced ? 'replaced' : null
    return { run, admitted, committed: this.launch(run, admitted.drafts, admission.now, receipt?.(started)) }
  }

  async launch(run: LiveRun, drafts: Draft[], at: number, receipt?: Entry['receipt']): Promise<void> {
    this.live = run
    this.words = { run: run.id, steers: run.steers }
    try {
      await this.held.write(run.ledger, drafts, { generation: run.generation, at, ...(receipt ? { receipt } : {}) })
    } catch (error) {
      this.live = null
      this.held.forget()
      throw error
    }
    run.admitted = true
    this.#released = this.#release(run)
  }

  make({ head, ...parts }: Pick<RunParts, 'ledger' | 'run' | 'turn' | 'generation' | 'userRow' | 'agent' | 'startedAt'> & { head: SessionHead }): LiveRun {
    const run: LiveRun = new LiveRun({
      ...parts, profile: head.profile, auto: head.approvals === 'all', mint: this.p.mint, timers: this.p.timers, limits: this.p.limits, session: this.id,
      onTitle: (text) => this.held.title(parts.ledger, text), queue: { items: () => this.held.waiting, claim: (drafts) => this.held.claim(drafts) },
      release: (sound) => this.#unplug(run, sound),
    })
    return run
  }

  /** A submitted turn on the session with the agent that is open, or on a new one. */
  play(run: LiveRun, agent: Agent, probe: Probe, profile: ProfileContext, head: SessionHead, folder: string, turn: TurnInput): void {
    const line = this.#lineTo(agent, folder)
    line.keeps = probe.state === 'ready' && probe.capabilities.includes('background')
    line.attach(run)
    const opening = this.opening(profile, { ...head, effort: turn.effort }, folder, turn.model)
    const hint = probe.state === 'unavailable' ? probe.hint : undefined
    this.watchStore(run, agent, profile, true)
    void run.drive(() => run.submit(() => this.#reach(line, run, agent, opening, head), agent.history ? { ...turn, retry: false } : turn, hint))
  }

  /** The session to run a turn on: of one mind with us, where its agent has a history of its own. */
  #reach(line: Line, run: LiveRun, agent: Agent, opening: Opening, head: SessionHead): Promise<AgentSession> {
    const { history } = agent
    const open = (foreign: string | undefined): Promise<AgentSession> => {
      const { foreign: _, ...rest } = opening
      return line.open({ ...rest, ...(foreign === undefined ? {} : { foreign }) })
    }
    if (!history) return line.open(opening)
    return beforeTurn({
      history, profile: opening.profile, session: this.id, store: this.p.store, mint: this.p.mint, run, agent: run.agentRef, foreign: head.foreign, mark: head.foreignMark, count: head.count,
      title: head.title, cwd: opening.cwd, anew: run.anew, open, renew: () => line.renew(),
    })
  }

  /** Before the run settles, the agent's own store is compared with what was shown. */
  watchStore(run: LiveRun, agent: Agent, profile: ProfileContext, own: boolean): void {
    const { history } = agent
    if (history) run.beforeSettle = (end) => afterTurn({ history, profile, session: this.id, store: this.p.store, run }, end, own)
  }

  opening(profile: ProfileContext, { foreign, effort }: Pick<SessionHead, 'foreign'> & { effort?: string | undefined }, cwd: string, model: Opening['model']): Opening {
    return { profile, session: this.id, cwd, model, ...effortOf(effort), context: () => this.p.store.context(this.id), ...(foreign === undefined ? {} : { foreign }) }
  }

  newLine(agent: Agent, folder: string): Line {
    const line: Line = new Line(agent, folder, { onBegan: () => this.hooks.onBegan(line), onIdle: this.hooks.onIdle, most: this.p.limits.waiting })
    return line
  }

  async hangUp(): Promise<void> {
    const { line } = this
    this.line = null
    await line?.close()
  }

  /** The open line, if it leads to the same agent in the same folder; else another one. */
  #lineTo(agent: Agent, folder: string): Line {
    if (this.line && (this.line.closed || this.line.agent !== agent || this.line.cwd !== folder)) void this.hangUp()
    this.line ??= this.newLine(agent, folder)
    return this.line
  }

  /** After a run: its agent's session stays open only where the agent may begin a turn by itself, or has. */
  async #unplug(run: LiveRun, sound: boolean): Promise<void> {
    const { line } = this
    line?.detach(run)
    if (line && !(sound && (line.keeps || line.foreign.length > 0))) await this.hangUp()
  }

  /** After a run: the next command reads the session anew, and may start the next one. */
  async #release(run: LiveRun): Promise<void> {
    await run.ended
    if (this.live !== run || run.ledger.broken) return
    this.held.forget()
    this.live = null
    this.hooks.onFree()
  }

  #lost(): void {
    this.held.forget()
    const run = this.live
    if (run?.admitted && !run.lost) this.hooks.onLost(run)
  }
}
