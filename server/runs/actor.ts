import type { Agent, Probe, Timers } from '../agents/port'
import type { Draft } from '../contract/events'
import { Refusal } from '../contract/problems'
import type { Mint } from '../contract/ids'
import type { ModelRef, SessionHead } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { SessionState, Store } from '../store/port'
import { admit, checkStart, resolved, START_ROUTE } from './admit'
import { Ledger } from './ledger'
import type { Limits } from './limits'
import type { StartInput, Started } from './port'
import { storedReceipt } from './receipt'
import { refusalOf, sessionBusy, sessionNotFound } from './refuse'
import { LiveRun } from './run'
import { settleFrom, unsettledRun } from './settle'
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
  agentOf: (head: SessionHead) => Agent
  /** False once the server drains: checked in the same tick as the claim. */
  admitting: () => boolean
}

/**
 * One session (law 8): commands that change it run one after the other; stop and answers go past them to the live run's own claims. What it
 * knows of the session in memory is a copy: after any failed append it is read again from the store.
 */
export class SessionActor {
  live: LiveRun | null = null
  #open: { ledger: Ledger; state: SessionState } | null = null
  #last: Promise<unknown> = Promise.resolve()
  #released: Promise<void> = Promise.resolve()
  #waiting = 0

  constructor(readonly id: string, private readonly p: ActorParts) {}

  /** True when nothing runs or waits: the actor may be forgotten. */
  get idle(): boolean {
    return this.live === null && this.#waiting === 0
  }

  start(profile: ProfileContext, given: StartInput): Promise<Started> {
    return this.#inTurn(async () => {
      let input = given
      checkStart(input)
      const scope = input.key === undefined ? null : { profile: profile.name, route: START_ROUTE, key: input.key }
      // Read beside the receipt, which answers also where the chat would refuse.
      const known = this.#state(profile).then(() => null, (error: unknown) => ({ error }))
      const before = scope && (await storedReceipt(this.p.store, scope, input.bodyHash!))
      if (before) return before.body as Started
      const refused = await known
      if (refused) throw refused.error
      await this.#free()
      await this.#settleEarlier(profile)
      const workspace = input.workspace === undefined ? null : await chosenWorkspace(this.p.workspace, input.workspace)
      const { ledger, state } = await this.#state(profile)
      const agent = this.p.agentOf(state.head)
      const folder = workspace ?? state.head.workspace
      const [probe, found] = await Promise.all([this.#probe(agent, profile), given.lookUp?.(), readyWorkspace(this.p.workspace, folder)])
      if (found) input = { ...given, model: found }
      const { ref, model } = resolved(agent, probe, state.head, input)

      // From here to the write there is no await: what was checked is claimed (law 8).
      if (!this.p.admitting()) throw new Refusal('shutting_down', 'The server is stopping.', { retryable: true })
      const now = this.p.timers.now()
      const a = admit(ledger, this.p.mint, { head: state.head, tail: state.tail, agent: ref, model, workspace: folder, input, now })
      const run = new LiveRun({
        ledger, mint: this.p.mint, timers: this.p.timers, limits: this.p.limits, session: this.id, profile: state.head.profile, run: a.started.run, turn: a.started.turn,
        generation: a.generation, userRow: a.userRow, agent: ref, startedAt: now, onTitle: (text) => this.#titled(run, text),
      })
      this.live = run
      try {
        await ledger.write({
          drafts: a.drafts, generation: a.generation, at: now,
          ...(scope ? { receipt: { ...scope, bodyHash: input.bodyHash!, status: 200, body: a.started } } : {}),
        })
      } catch (error) {
        this.live = null
        this.#open = null
        throw error
      }
      run.admitted = true
      const opening = { profile, session: this.id, cwd: folder, model, context: () => this.p.store.context(this.id) }
      void run.drive(agent, opening, a.turn)
      this.#released = this.#release(run)
      return a.started
    })
  }

  /** Appends what changes the head, and answers the head as stored. */
  change(profile: ProfileContext, change: (head: SessionHead) => Promise<Draft[]> | Draft[]): Promise<SessionHead> {
    return this.#inTurn(async () => {
      const { ledger, state } = await this.#state(profile)
      const drafts = await change(state.head)
      this.#claim(drafts)
      if (drafts.length) await ledger.write({ drafts })
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
    })
  }

  /** Settles what an earlier process left; true if there was a run. A store that takes nothing now, as on a full disk, gets it as soon as it can. */
  async recover(): Promise<boolean> {
    // A run that is live by the time the store takes appends again is not one of an earlier process: its start has settled that.
    const settle = () => this.#inTurn(async () => this.live === null && (await this.#settleStored(RESTARTED)))
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

  /** A title that is on its way already counts: an agent's must not come over a person's. */
  #claim(drafts: Draft[]): void {
    for (const draft of drafts) {
      if (draft.type === 'session.changed' && draft.titleBy && this.#open) {
        this.#open.state = { ...this.#open.state, head: { ...this.#open.state.head, title: draft.title ?? '', titleBy: draft.titleBy } }
      }
    }
  }

  /** Refuses while a run is live. One that is about to settle is waited for, so that whoever has seen it end may send at once. */
  async #free(): Promise<void> {
    const live = this.live
    if (live?.settled) {
      await live.settled
      if (live.turnOver) await this.#released
    }
    if (this.live) throw sessionBusy(this.id, this.live.id)
  }

  async #state(profile: ProfileContext): Promise<{ ledger: Ledger; state: SessionState }> {
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
  }

  #titled(run: LiveRun, text: string): void {
    const title = shorten(text, TITLE_LENGTH)
    const head = this.#open?.state.head
    if (!head || title === '' || title === head.title || !mayTitle(head, 'agent')) return
    const drafts: Draft[] = [{ type: 'session.changed', title, titleBy: 'agent' }]
    this.#claim(drafts)
    run.ledger.push({ drafts })
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
  }

  /** Tries again, ever more rarely, until the store took it. Such an actor is not idle. */
  async #untilTaken(settle: () => Promise<unknown>): Promise<void> {
    this.#waiting++
    for (let pause = this.p.limits.retry.first; ; pause = Math.min(pause * 2, this.p.limits.retry.most)) {
      try {
        await settle()
        break
      } catch {
        await new Promise<void>((resolve) => this.p.timers.after(pause, resolve))
      }
    }
    this.#waiting--
  }

  /** A run that recovery could not settle yet: a new one never starts beside it. */
  async #settleEarlier(profile: ProfileContext): Promise<void> {
    if (unsettledRun((await this.#state(profile)).state)) await this.#settleStored(RESTARTED)
  }

  /** Settles the unsettled run that the store holds, if it is `only`. What is known of the session is read again after it. */
  async #settleStored(problem: { code: 'server_restarted' | 'store_failed' }, only?: string): Promise<boolean> {
    this.#open = null
    const state = await this.p.store.load(this.id)
    const run = state && unsettledRun(state)
    if (!state || state.deleted || !run || (only !== undefined && run.id !== only)) return false
    const ledger = new Ledger(this.p.store, this.id, state, this.p.timers.now, () => undefined)
    await ledger.write({ drafts: settleFrom(state, run, problem, this.p.timers.now()), generation: run.generation })
    return true
  }
}

const RESTARTED = { code: 'server_restarted' } as const

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
