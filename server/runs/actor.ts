import type { Agent, AgentEvent, Opening, Probe, Reattached, Timers, TurnInput } from '../agents/port'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import { Refusal } from '../contract/problems'
import type { RunProblem } from '../contract/problems'
import { nextQueued, queuePaused } from '../contract/queue'
import type { QueueItem } from '../contract/queue'
import type { AgentRef, ModelRef, Run, SessionHead } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { SessionState, Store } from '../store/port'
import { admit, checkStart, resolved, START_ROUTE } from './admit'
import type { Admission, Admitted } from './admit'
import { AutoApprove } from './auto-approve'
import { Ledger } from './ledger'
import type { Entry } from './ledger'
import { ladderOf } from './limits'
import type { Limits } from './limits'
import { Line } from './line'
import { looseAnswers } from './loose'
import type { QueueView, StartInput, Started } from './port'
import { adding, QUEUE_ROUTE, waitingAfter } from './queue'
import { askBack, bindingOf, endSurvivor, survivorOf, takenUp } from './reattach'
import type { Survivor } from './reattach'
import { storedReceipt } from './receipt'
import { refusalOf, sessionBusy, sessionNotFound, shuttingDown } from './refuse'
import { LiveRun } from './run'
import type { RunParts } from './run'
import { lastRunOf, settleFrom, unsettledRun } from './settle'
import { stop } from './stop'
import { within } from './timers'
import { mayTitle, shorten, TITLE_LENGTH } from './title'
import { chosenWorkspace, readyWorkspace } from './workspace'
import type { WorkspaceRules } from './workspace'

export interface ActorParts {
  store: Store
  timers: Timers
  mint: Mint
  limits: Limits
  workspace: WorkspaceRules
  agentOf: (head: Pick<SessionHead, 'agent'>) => Agent
  /** How an agent is named in a run that could not even ask it. */
  refOf: (head: Pick<SessionHead, 'agent'>) => AgentRef
  /** The profile of what nobody asks for: the queue, a re-attach. Null: unknown, and nothing begins (law 9). */
  profileOf: (name: string) => ProfileContext | null
  /** False once the server drains: checked in the same tick as the claim. */
  admitting: () => boolean
}

interface Open { ledger: Ledger; state: SessionState }

/**
 * One session (law 8): commands that change it run one after the other; stop, steer and answers go past them to the live run's own claims. What it
 * knows of the session in memory is a copy: after any failed append it is read again from the store.
 */
export class SessionActor {
  live: LiveRun | null = null
  readonly autoApprove = new AutoApprove(this)
  #open: Open | null = null
  #last: Promise<unknown> = Promise.resolve()
  #released: Promise<void> = Promise.resolve()
  #waiting = 0
  #sending = false
  #line: Line | null = null
  /** The run that our restart has settled and whose agent is being asked about it: until it has answered, nothing starts. */
  #attaching: string | null = null

  constructor(readonly id: string, private readonly p: ActorParts) {}

  /** True when nothing runs or waits: the actor may be forgotten. */
  get idle(): boolean {
    return this.live === null && this.#waiting === 0 && this.#line === null && this.#attaching === null
  }

  start(profile: ProfileContext, given: StartInput): Promise<Started> {
    return this.#inTurn(async () => {
      checkStart(given)
      const scope = given.key === undefined ? null : { profile: profile.name, route: START_ROUTE, key: given.key }
      // Read beside the receipt, which answers also where the chat would refuse.
      const known = this.#state(profile).then(() => null, (error: unknown) => ({ error }))
      const before = scope && (await storedReceipt(this.p.store, scope, given.bodyHash!))
      if (before) return before.body as Started
      const refused = await known
      if (refused) throw refused.error
      await this.#free()
      await this.#settleEarlier(profile)
      await this.#free()
      const workspace = given.workspace === undefined ? null : await chosenWorkspace(this.p.workspace, given.workspace)
      const { ledger, state } = await this.#state(profile)
      const agent = this.p.agentOf(state.head)
      const folder = workspace ?? state.head.workspace
      const [probe, found] = await Promise.all([this.#probe(agent, profile), given.lookUp?.(), readyWorkspace(this.p.workspace, folder)])
      const choose = found ?? given.model
      const { ref, model } = resolved(agent, probe, state.head, choose)

      // From here to the write there is no await: what was checked is claimed (law 8).
      if (!this.p.admitting()) throw shuttingDown()
      const { run, admitted, committed } = this.#begin(ledger, {
        head: state.head, tail: state.tail, agent: ref, model, workspace: folder, source: 'person', now: this.p.timers.now(),
        ...(choose === undefined ? {} : { choose }), ...(given.text === undefined ? {} : { text: given.text }), ...(given.retry === undefined ? {} : { retry: given.retry }),
        ...(given.key === undefined ? {} : { key: given.key }),
      }, (started) => (scope ? { ...scope, bodyHash: given.bodyHash!, status: 200, body: started } : undefined))
      await committed
      this.#play(run, agent, probe, profile, state.head, folder, admitted.turn)
      return admitted.started
    })
  }

  /** The queue as stored, and whether it waits for the person. */
  async queue(profile: ProfileContext): Promise<QueueView> {
    return viewOf(owned(await this.p.store.load(this.id), profile))
  }

  /** Lines a message up; same key and body: the item of then. */
  enqueue(profile: ProfileContext, input: { text: string; before?: string; key?: string; bodyHash?: string }): Promise<QueueView & { item: string }> {
    return this.#inTurn(async () => {
      const scope = input.key === undefined ? null : { profile: profile.name, route: QUEUE_ROUTE, key: input.key }
      const before = scope && (await storedReceipt(this.p.store, scope, input.bodyHash ?? ''))
      if (before) return { ...(await this.queue(profile)), item: (before.body as { item: string }).item }
      const { ledger, state } = await this.#state(profile)
      const { item, drafts } = adding(state.tail.queue.items, this.p.mint, input)
      await this.#write(ledger, drafts, scope ? { ...scope, bodyHash: input.bodyHash ?? '', status: 200, body: { item } } : undefined)
      const view = await this.queue(profile)
      this.drain()
      return { ...view, item }
    })
  }

  /** Changes what waits. The check and the claim are one tick; an item that is being sent does not wait any more. */
  changeQueue(profile: ProfileContext, change: (items: readonly QueueItem[]) => Draft[]): Promise<QueueView> {
    return this.#inTurn(async () => {
      const { ledger, state } = await this.#state(profile)
      const drafts = change(state.tail.queue.items)
      if (drafts.length) await this.#write(ledger, drafts)
      const view = await this.queue(profile)
      this.drain()
      return view
    })
  }

  /** Sends what waits, if nothing runs and it may; asked again as long as only the store stands in the way. */
  drain(): void {
    if (this.#sending) return
    this.#sending = true
    void this.#untilTaken(() => this.#inTurn(async () => {
      this.#sending = false
      await this.#sendNext()
    })).finally(() => (this.#sending = false))
  }

  /** Appends what changes the head, and answers the head as stored. */
  change(profile: ProfileContext, change: (head: SessionHead) => Promise<Draft[]> | Draft[]): Promise<SessionHead> {
    return this.#inTurn(async () => {
      const { ledger, state } = await this.#state(profile)
      const changing = change(state.head)
      // What is made in one tick is claimed in it, too.
      const drafts = changing instanceof Promise ? await changing : changing
      if (drafts.length) await this.#write(ledger, drafts)
      return this.#reread()
    })
  }

  /** Checks a folder that a request names. */
  folder(path: string): Promise<string> {
    return chosenWorkspace(this.p.workspace, path)
  }

  /** Stops a live run, waits for its end, and deletes. */
  remove(profile: ProfileContext): Promise<void> {
    return this.#inTurn(async () => {
      await this.#state(profile)
      const live = this.live
      if (live) {
        await stop(live, 'delete')
        await live.settled
        await live.ended
      }
      const { ledger } = await this.#state(profile)
      await ledger.write({ drafts: [{ type: 'session.deleted' }] })
      this.#open = null
      await this.#hangUp()
    })
  }

  /** Settles what an earlier process left; true if there was a run. A store that takes nothing now, as on a full disk, gets it as soon as it can. */
  async recover(): Promise<boolean> {
    // A run that is live by the time the store takes appends again is not one of an earlier process: its start has settled that.
    const settle = () => this.#inTurn(async () => this.live === null && (await this.#settleRestarted()))
    try {
      return await settle()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      void this.#untilTaken(settle)
      return true
    }
  }

  /** Interrupts the live run at the server's own end; resolves when it has settled. */
  async interrupt(): Promise<void> {
    const run = this.live
    if (!run) return
    run.draining = true
    run.mailbox.close()
    run.tellStop('server', this.p.limits.drain)
    await run.ended
    await run.settled
  }

  /** The head as it is now. */
  async head(profile: ProfileContext): Promise<SessionHead> {
    return owned(await this.p.store.load(this.id), profile).head
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting++
    const mine = this.#last.then(work).catch((error: unknown) => { throw refusalOf(error) })
    this.#last = mine.then(() => this.#waiting--, () => this.#waiting--)
    return mine
  }

  /** The next message of the queue becomes a turn. An agent that cannot start is told in the turn: nobody else is there to be told. */
  async #sendNext(): Promise<void> {
    if (this.live || this.#attaching || !this.p.admitting()) return
    const stored = await this.p.store.load(this.id)
    const profile = stored && !stored.deleted && stored.tail.queue.items.length > 0 ? this.p.profileOf(stored.head.profile) : null
    if (!profile) return
    await this.#settleEarlier(profile)
    if (this.#attaching) return
    const { ledger, state } = await this.#state(profile)
    if (!nextQueued(state.tail.queue, lastRunOf(state.tail))) return
    const folder = state.head.workspace
    const ready = await this.#ready(profile, state.head)

    // From here to the write there is no await: what was checked is claimed (law 8).
    const item = nextQueued(state.tail.queue, lastRunOf(state.tail))
    if (!item || !this.p.admitting()) return
    const { run, admitted, committed } = this.#begin(ledger, {
      head: state.head, tail: state.tail, agent: ready.ref, model: ready.model, workspace: folder, source: 'queue', item: item.id, text: item.text, now: this.p.timers.now(),
      ...(item.key === undefined ? {} : { key: item.key }),
    })
    await committed
    if (ready.agent) this.#play(run, ready.agent, ready.probe, profile, state.head, folder, admitted.turn)
    else void run.drive(async () => ({ outcome: 'failed', problem: ready.problem }))
  }

  async #ready(profile: ProfileContext, head: SessionHead): Promise<Ready> {
    try {
      const agent = this.p.agentOf(head)
      const [probe] = await Promise.all([this.#probe(agent, profile), readyWorkspace(this.p.workspace, head.workspace)])
      return { agent, probe, ...resolved(agent, probe, head) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { code, error: sentence, words = sentence, hint } = error.problem
      const problem: RunProblem = { code: code === 'no_model' ? 'no_model' : 'agent_unavailable', words, ...(hint === undefined ? {} : { hint }) }
      return { agent: null, problem, ref: this.p.refOf(head), model: head.model }
    }
  }

  /** The claim of a run, in the tick of its caller's checks, and the append that makes it live. A failed one leaves no run. */
  #begin(ledger: Ledger, admission: Admission, receipt?: (started: Started) => Entry['receipt']): { run: LiveRun; admitted: Admitted; committed: Promise<void> } {
    const admitted = admit(ledger, this.p.mint, admission)
    const { started, generation } = admitted
    const run = this.#made({ ledger, run: started.run, turn: started.turn, generation, userRow: admitted.userRow, agent: admission.agent, head: admission.head, startedAt: admission.now })
    return { run, admitted, committed: this.#launch(run, admitted.drafts, admission.now, receipt?.(started)) }
  }

  async #launch(run: LiveRun, drafts: Draft[], at: number, receipt?: Entry['receipt']): Promise<void> {
    this.live = run
    try {
      await this.#write(run.ledger, drafts, receipt, { generation: run.generation, at })
    } catch (error) {
      this.live = null
      this.#open = null
      throw error
    }
    run.admitted = true
    this.#released = this.#release(run)
  }

  #made({ head, ...parts }: Pick<RunParts, 'ledger' | 'run' | 'turn' | 'generation' | 'userRow' | 'agent' | 'startedAt'> & { head: SessionHead }): LiveRun {
    const run: LiveRun = new LiveRun({
      ...parts, profile: head.profile, auto: head.approvals === 'all', mint: this.p.mint, timers: this.p.timers, limits: this.p.limits, session: this.id, onTitle: (text) => this.#titled(parts.ledger, text),
      queue: { items: () => this.#open?.state.tail.queue.items ?? [], claim: (drafts) => this.#claim(drafts) },
      release: (sound) => this.#unplug(run, sound),
    })
    return run
  }

  /** A submitted turn on the session with the agent that is open, or on a new one. */
  #play(run: LiveRun, agent: Agent, probe: Probe, profile: ProfileContext, { foreign }: SessionHead, folder: string, turn: TurnInput): void {
    const line = this.#lineTo(agent, folder)
    line.keeps = probe.state === 'ready' && probe.capabilities.includes('background')
    line.attach(run)
    const opening: Opening = { profile, session: this.id, cwd: folder, model: turn.model, context: () => this.p.store.context(this.id), ...(foreign === undefined ? {} : { foreign }) }
    void run.drive(() => run.submit(() => line.open(opening), turn))
  }

  /** The open line, if it leads to the same agent in the same folder; else another one. */
  #lineTo(agent: Agent, folder: string): Line {
    if (this.#line && (this.#line.closed || this.#line.agent !== agent || this.#line.cwd !== folder)) void this.#hangUp()
    this.#line ??= this.#newLine(agent, folder)
    return this.#line
  }

  #newLine(agent: Agent, folder: string): Line {
    const line: Line = new Line(agent, folder, { onBegan: () => this.#welcome(line), onIdle: (event) => this.#idly(event) })
    return line
  }

  async #hangUp(): Promise<void> {
    const line = this.#line
    this.#line = null
    await line?.close()
  }

  /** After a run: its agent's session stays open only where the agent may begin a turn by itself, or has. */
  async #unplug(run: LiveRun, sound: boolean): Promise<void> {
    const line = this.#line
    line?.detach(run)
    if (line && !(sound && (line.keeps || line.foreign.length > 0))) await this.#hangUp()
  }

  /** A turn that nobody submitted gets its run as soon as none of ours is live (spec/agents.md §2). */
  #welcome(line: Line): void {
    void this.#untilTaken(() => this.#inTurn(async () => {
      if (this.live || this.#attaching || this.#line !== line || line.closed || !this.p.admitting() || line.foreign.length === 0) return
      const stored = await this.p.store.load(this.id)
      const profile = stored && !stored.deleted ? this.p.profileOf(stored.head.profile) : null
      if (!profile) return
      await this.#settleEarlier(profile)
      const { ledger, state } = await this.#state(profile)
      const turn = line.foreign.shift()
      if (!turn || !this.p.admitting()) return
      const { run, committed } = this.#begin(ledger, {
        head: state.head, tail: state.tail, agent: state.head.agent ?? this.p.refOf(state.head), model: state.head.model, workspace: state.head.workspace,
        source: turn.source, text: turn.text, now: this.p.timers.now(),
      })
      await committed.catch((error: unknown) => {
        line.foreign.unshift(turn)
        throw error
      })
      void run.drive(async () => {
        run.take(line.session)
        turn.attach(run)
        return turn.end
      })
    }))
  }

  /** What an agent says while nothing runs: what is about the chat and not about a turn. */
  #idly(event: AgentEvent): void {
    if (event.type !== 'title' && event.type !== 'session.bound') return
    void this.#inTurn(async () => {
      const stored = await this.p.store.load(this.id)
      const profile = stored && !stored.deleted ? this.p.profileOf(stored.head.profile) : null
      if (!profile) return
      const { ledger, state } = await this.#state(profile)
      if (event.type === 'title') this.#titled(ledger, event.text)
      else await this.#write(ledger, [{ type: 'agent.bound', agent: state.head.agent ?? this.p.refOf(state.head), foreign: event.foreign, why: event.why }])
    }).catch(() => undefined)
  }

  /** Claims and appends. */
  #write(ledger: Ledger, drafts: Draft[], receipt?: Entry['receipt'], more: Pick<Entry, 'generation' | 'at' | 'context'> = {}): Promise<void> {
    this.#claim(drafts)
    return ledger.write({ drafts, ...more, ...(receipt ? { receipt } : {}) })
  }

  /** What is on its way already counts: an agent's title must not come over a person's, and an item that is sent cannot be changed. */
  #claim(drafts: Draft[]): void {
    if (!this.#open || drafts.length === 0) return
    const { state } = this.#open
    let { head } = state
    for (const draft of drafts) if (draft.type === 'session.changed' && draft.titleBy) head = { ...head, title: draft.title ?? '', titleBy: draft.titleBy }
    const queue = { ...state.tail.queue, items: waitingAfter(state.tail.queue.items, drafts, this.p.timers.now()) }
    this.#open.state = { ...state, head, tail: { ...state.tail, queue } }
  }

  /** Refuses while a run is live. One that is about to settle is waited for, so that whoever has seen it end may send at once. */
  async #free(): Promise<void> {
    const live = this.live
    if (live?.settled) {
      await live.settled
      if (live.turnOver) await this.#released
    }
    const busy = this.live?.id ?? this.#attaching
    if (busy) throw sessionBusy(this.id, busy)
  }

  async #state(profile: ProfileContext): Promise<Open> {
    if (this.#open === null || this.#open.ledger.broken) {
      const state = owned(await this.p.store.load(this.id), profile)
      this.#open = { state, ledger: this.#ledger(state) }
    }
    owned(this.#open.state, profile)
    return this.#open
  }

  #ledger(state: SessionState): Ledger {
    return new Ledger(this.p.store, this.id, state, this.p.timers.now, () => this.#lost())
  }

  async #reread(): Promise<SessionHead> {
    const state = await this.p.store.load(this.id)
    if (!state || state.deleted) throw sessionNotFound()
    if (this.#open) this.#open.state = { ...this.#open.state, head: state.head }
    return state.head
  }

  async #probe(agent: Agent, profile: ProfileContext): Promise<Probe> {
    const late = (): Probe => ({ state: 'unavailable', code: 'slow' })
    return within(this.p.timers, this.p.limits.probe, agent.probe(profile), late).catch((): Probe => ({ state: 'unavailable', code: 'failed' }))
  }

  /** After a run: the next command reads the session anew, and may start the next one. */
  async #release(run: LiveRun): Promise<void> {
    await run.ended
    if (this.live !== run || run.ledger.broken) return
    this.#open = null
    this.live = null
    this.#next()
  }

  /** What waits for the end of a run: first what the agent has begun, then the queue. */
  #next(): void {
    if (this.#line?.foreign.length) this.#welcome(this.#line)
    this.drain()
  }

  #titled(ledger: Ledger, text: string): void {
    const title = shorten(text, TITLE_LENGTH)
    const head = this.#open?.state.head
    if (!head || title === '' || title === head.title || !mayTitle(head, 'agent')) return
    const drafts: Draft[] = [{ type: 'session.changed', title, titleBy: 'agent' }]
    this.#claim(drafts)
    ledger.push({ drafts })
  }

  /** A failed append ends the run (spec/log.md §5): the agent is stopped, and the run settles once the store takes appends again. */
  #lost(): void {
    this.#open = null
    const run = this.live
    if (!run?.admitted) return
    run.lose()
    void this.#settleLost(run)
  }

  async #settleLost(run: LiveRun): Promise<void> {
    await this.#untilTaken(() => this.#settleStored({ code: 'store_failed' }, run.id))
    await run.ended
    if (this.live === run) this.live = null
    this.#open = null
    this.#next()
  }

  /** Tries again, ever more rarely, until the store took it or is closed. Such an actor is not idle. */
  async #untilTaken(work: () => Promise<unknown>): Promise<void> {
    this.#waiting++
    for (let pause = this.p.limits.retry.first; ; pause = Math.min(pause * 2, this.p.limits.retry.most)) {
      try {
        await work()
        break
      } catch (error) {
        if (isOver(error)) break
        await new Promise<void>((resolve) => this.p.timers.after(pause, resolve))
      }
    }
    this.#waiting--
  }

  /** A run that recovery could not settle yet: a new one never starts beside it. */
  async #settleEarlier(profile: ProfileContext): Promise<void> {
    if (unsettledRun((await this.#state(profile)).state)) await this.#settleRestarted()
  }

  /** Settles what an earlier process left, always; then asks the agent, which may have lived on (spec/log.md §9). */
  async #settleRestarted(): Promise<boolean> {
    const settled = await this.#settleStored({ code: 'server_restarted' })
    if (!settled) return false
    const survivor = survivorOf(settled.state, settled.run, this.p.agentOf)
    const profile = survivor && this.p.profileOf(settled.state.head.profile)
    if (survivor && profile) {
      this.#attaching = survivor.run.id
      void this.#reattach(survivor, profile)
    }
    return true
  }

  /** Settles the unsettled run that the store holds, if it is `only`, and answers what it held. What is known of the session is read again after it. */
  async #settleStored(problem: { code: 'server_restarted' | 'store_failed' }, only?: string): Promise<{ state: SessionState; run: Run } | null> {
    this.#open = null
    const state = await this.p.store.load(this.id)
    const run = state && unsettledRun(state)
    if (!state || state.deleted || !run || (only !== undefined && run.id !== only)) return null
    const context = looseAnswers(state, run, await this.p.store.context(this.id))
    const ledger = new Ledger(this.p.store, this.id, state, this.p.timers.now, () => undefined)
    await ledger.write({ drafts: settleFrom(state, run, problem, this.p.timers.now()), generation: run.generation, ...(context.length ? { context } : {}) })
    return { state, run }
  }

  async #reattach(survivor: Survivor, profile: ProfileContext): Promise<void> {
    const { state: { head }, run, agent } = survivor
    const line = this.#newLine(agent, head.workspace)
    line.hold()
    const opening: Opening = {
      profile, session: this.id, cwd: head.workspace, model: run.model, context: () => this.p.store.context(this.id), ...(head.foreign === undefined ? {} : { foreign: head.foreign }),
    }
    const asked = Promise.resolve().then(() => agent.reattach!(opening, bindingOf(survivor), line.sink))
    const found = await askBack(this.p.timers, this.p.limits, asked)
    if (run.state === 'stopping') await endSurvivor(this.p.timers, ladderOf(this.p.limits, run.agent.kind), found, run.stoppedBy)
    else if (found.state !== 'gone') {
      if (found.state === 'running') line.session = found.session
      await this.#untilTaken(() => this.#inTurn(() => this.#takeUp(survivor, profile, found, line)))
    }
    if (this.#line !== line) await line.close()
    this.#attaching = null
    this.#next()
  }

  /** The turn goes on as its next run, which settles with the agent's outcome. */
  async #takeUp({ state: before, run: old }: Survivor, profile: ProfileContext, found: Exclude<Reattached, { state: 'gone' }>, line: Line): Promise<void> {
    const { ledger, state } = await this.#state(profile)
    const last = lastRunOf(state.tail)
    if (last?.id !== old.id || last.state !== 'settled' || !this.p.admitting()) return
    const { reopens, text } = takenUp(before.tail, old, found)
    const now = this.p.timers.now()
    const id = this.p.mint('run')
    const generation = ledger.generation + 1
    const userRow = state.tail.turns.get(old.turn)!.row
    const run = this.#made({ ledger, run: id, turn: old.turn, generation, userRow, agent: old.agent, head: state.head, startedAt: now })
    run.answered = true
    await this.#launch(run, [{
      type: 'run.started', run: id, turn: old.turn, generation, attempt: old.attempt + 1, cause: 'reattached', agent: old.agent, model: old.model,
      ...(reopens.length ? { reopens: reopens.map((row) => row.id) } : {}),
    }, { type: 'run.bound', run: id, turn: old.turn, ...old.bound! }], now)
    this.#line = line
    run.journal.resume(reopens)
    if (text?.how === 'goes_on') run.journal.superseded(text.words)
    else if (text) run.journal.take({ type: 'text', delta: text.words })
    line.attach(run)
    void run.drive(async () => {
      if (found.state === 'running') {
        run.take(found.session)
        return found.end
      }
      for (const { call, state, result } of found.closed) run.journal.take({ type: 'tool.closed', call, state, ...(result === undefined ? {} : { result }) })
      return found.end
    })
  }
}

/** What a run of the queue can be started with; without an agent it says why. */
type Ready = { ref: AgentRef; model: ModelRef | null } & ({ agent: Agent; probe: Probe } | { agent: null; problem: RunProblem })

/** Nothing will ever take it: the store is closed or the chat is gone. */
function isOver(error: unknown): boolean {
  return error instanceof Refusal && (error.problem.code === 'shutting_down' || error.problem.code === 'session_not_found')
}

function viewOf(state: SessionState): QueueView {
  return { queue: state.tail.queue, paused: queuePaused(lastRunOf(state.tail)) }
}

/** Law 9: unknown and deleted are 404; a chat of another profile is named as such. */
export function owned(state: SessionState | null, profile: ProfileContext): SessionState {
  if (!state || state.deleted) throw sessionNotFound()
  if (state.head.profile !== profile.name) {
    throw new Refusal('session_profile_mismatch', 'This chat belongs to another profile.', { session_id: state.head.id, profile: state.head.profile })
  }
  return state
}

/** A change of the model that later turns use. */
export function modelChange(head: SessionHead, model: ModelRef | null | undefined): Partial<Draft & { type: 'session.changed' }> {
  if (model === undefined || JSON.stringify(model) === JSON.stringify(head.model)) return {}
  return { model }
}
