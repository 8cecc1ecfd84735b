import type { Reattached } from '../agents/port'
import { Refusal } from '../contract/problems'
import type { Run } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { SessionState } from '../store/port'
import { Attaching } from './attaching'
import type { Core } from './core'
import { Ledger } from './ledger'
import { ladderOf } from './limits'
import type { Line } from './line'
import { looseAnswers } from './loose'
import { asItWas, leftRun } from './left'
import { askBack, bindingOf, endSurvivor, survivorOf, takenUp } from './reattach'
import type { Survivor } from './reattach'
import type { LiveRun } from './run'
import { lastRunOf, settleFrom, unsettledRun } from './settle'

/** Runs that have no process of ours any more, or no log: settled from what the store holds, and taken up again where their agent lived on (spec/log.md §9). */
export class Restart {
  constructor(private readonly core: Core, private readonly onFree: () => void) {}

  /** Settles what an earlier process left; true if there was a run. A store that takes nothing now, as on a full disk, gets it as soon as it can. */
  async recover(): Promise<boolean> {
    const { core } = this
    // A run that is live by the time the store takes appends again is not one of an earlier process: its start has settled that.
    const settle = () => core.serial.run(async () => core.live === null && (await this.#settleRestarted()))
    try {
      return await settle()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      void core.serial.until(settle)
      return true
    }
  }

  /** A server that died between settling a run and taking its turn up left it to us: the agent names what it holds (`Agent.survivors`). */
  takeUpLeft(foreign: string): Promise<void> {
    const { core } = this
    const { p } = core
    return core.serial.run(async () => {
      if (core.live || core.attaching) return
      const state = await p.store.load(core.id)
      const run = state && !state.deleted && leftRun(state, foreign)
      const survivor = run ? survivorOf(asItWas(state, run), run, p.agentOf) : null
      const profile = survivor && p.profileOf(survivor.state.head.profile)
      if (!survivor || !profile) return
      void this.#reattach(survivor, profile)
    })
  }

  /** A run that recovery could not settle yet: a new one never starts beside it. */
  async settleEarlier(profile: ProfileContext): Promise<void> {
    if (unsettledRun((await this.core.held.of(profile)).state)) await this.#settleRestarted()
  }

  /** A failed append ends the run (spec/log.md §5): the agent is stopped, and the run settles once the store takes appends again. */
  async lost(run: LiveRun): Promise<void> {
    const { core } = this
    run.lose()
    await core.serial.until(() => core.serial.run(() => this.#settleStored({ code: 'store_failed' }, run.id)))
    await run.ended
    if (core.live === run) core.live = null
    core.held.forget()
    this.onFree()
  }

  /** Settles what an earlier process left, always; then asks the agent, which may have lived on. */
  async #settleRestarted(): Promise<boolean> {
    const { p } = this.core
    const settled = await this.#settleStored({ code: 'server_restarted' })
    if (!settled) return false
    const survivor = survivorOf(settled.state, settled.run, p.agentOf)
    const profile = survivor && p.profileOf(settled.state.head.profile)
    if (survivor && profile) void this.#reattach(survivor, profile)
    return true
  }

  /** Settles the unsettled run that the store holds, if it is `only`, and answers what it held. What is known of the session is read again after it. */
  async #settleStored(problem: { code: 'server_restarted' | 'store_failed' }, only?: string): Promise<{ state: SessionState; run: Run } | null> {
    const { id, held, p } = this.core
    held.forget()
    const state = await p.store.load(id)
    const run = state && unsettledRun(state)
    if (!state || state.deleted || !run || (only !== undefined && run.id !== only)) return null
    const context = looseAnswers(state, run, await p.store.context(id))
    const ledger = new Ledger(p.store, id, state, p.timers.now, () => undefined)
    await ledger.write({ drafts: settleFrom(state, run, problem, p.timers.now()), generation: run.generation, ...(context.length ? { context } : {}) })
    return { state, run }
  }

  async #reattach(survivor: Survivor, profile: ProfileContext): Promise<void> {
    const { core } = this
    const { timers, limits } = core.p
    const { state: { head }, run, agent } = survivor
    const attaching = (core.attaching = new Attaching(run.id, core.id, head.profile))
    const stopped = run.state === 'stopping' || run.outcome === 'cancelled'
    if (stopped) attaching.found(null)
    const line = core.newLine(agent, head.workspace)
    line.hold()
    const found = await askBack(timers, limits, Promise.resolve().then(() => agent.reattach!(core.opening(profile, head, head.workspace, run.model), bindingOf(survivor), line.sink)))
    if (stopped) await endSurvivor(timers, ladderOf(limits, run.agent.kind), found, run.stoppedBy)
    else if (found.state !== 'gone') {
      if (found.state === 'running') line.session = found.session
      await core.serial.until(() => core.serial.run(() => this.#takeUp(survivor, profile, found, line, attaching)).catch((error: unknown) => {
        attaching.failed(error)
        throw error
      }))
    }
    if (core.line !== line) await line.close()
    core.attaching = null
    attaching.found(null)
    this.onFree()
  }

  /** The turn goes on as its next run, which settles with the agent's outcome, or as cancelled where a stop was claimed meanwhile. */
  async #takeUp({ state: before, run: old }: Survivor, profile: ProfileContext, found: Exclude<Reattached, { state: 'gone' }>, line: Line, attaching: Attaching): Promise<void> {
    const { core } = this
    const { mint, timers, admitting } = core.p
    const { ledger, state } = await core.held.of(profile)
    const last = lastRunOf(state.tail)
    if (last?.id !== old.id || last.state !== 'settled' || !admitting()) return
    const { reopens, text, said } = takenUp(before.tail, old, found)
    const [id, generation, now] = [mint('run'), ledger.generation + 1, timers.now()]
    const run = core.make({ ledger, run: id, turn: old.turn, generation, userRow: state.tail.turns.get(old.turn)!.row, agent: old.agent, head: state.head, startedAt: now })
    // What it said before our restart was an answer, too.
    run.answered = true
    run.continues = old.id
    const by = found.state === 'running' ? attaching.by : null
    const launched = core.launch(run, [
      {
        type: 'run.started', run: id, turn: old.turn, generation, attempt: old.attempt + 1, cause: 'reattached', agent: old.agent, model: old.model,
        ...(reopens.length ? { reopens: reopens.map((row) => row.id) } : {}),
      },
      { type: 'run.bound', run: id, turn: old.turn, ...old.bound! },
      ...(by ? [{ type: 'run.stopping' as const, run: id, turn: old.turn, by }] : []),
    ], now)
    if (by) {
      run.mailbox.close()
      run.stopping = launched
    }
    await launched
    core.line = line
    run.journal.recall(before.tail.rows.values())
    run.journal.resume(reopens, said)
    run.steers.resume(reopens)
    if (text?.how === 'goes_on') run.journal.superseded(text.words)
    else if (text) run.journal.take({ type: 'text', delta: text.words })
    if (found.state === 'running') run.take(found.session)
    line.attach(run)
    core.watchStore(run, line.agent, profile, true)
    void run.drive(async () => {
      if (found.state === 'ended') {
        for (const steer of found.used ?? []) void run.sink({ type: 'steer.delivered', steer, evidence: 'seen' })
        for (const tool of found.closed) run.journal.take({ type: 'tool.closed', ...tool })
      }
      return found.end
    })
    if (found.state !== 'running') return
    // Also one that did not come through here may have found no agent yet that it could be told.
    if (run.stopping) run.tellStop(attaching.by ?? 'person', run.ladder)
    attaching.found(run)
  }
}
