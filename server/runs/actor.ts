import type { Draft } from '../contract/events'
import { queuePaused } from '../contract/queue'
import type { QueueItem } from '../contract/queue'
import type { SessionHead } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { SessionState } from '../store/port'
import { checkStart, resolved, START_ROUTE } from './admit'
import type { Stoppable } from './attaching'
import { AutoApprove } from './auto-approve'
import { Core } from './core'
import type { ActorParts } from './core'
import { headAfter, orClaimed } from './durable'
import { owned } from './held'
import type { Attach, QueueView, StartInput, Started, Steered } from './port'
import { adding, QUEUE_ROUTE, waitingAfter } from './queue'
import { storedReceipt } from './receipt'
import { forgotten, replacedFrom } from './replace'
import { shuttingDown } from './refuse'
import { Restart } from './restart'
import type { LiveRun } from './run'
import { lastRunOf } from './settle'
import { stop } from './stop'
import { Unasked } from './unasked'
import { chosenWorkspace, readyWorkspace } from './workspace'

/**
 * One session (law 8): commands that change it run one after the other; stop, steer and answers go past them to the live run's own claims. What it
 * knows of the session in memory is a copy: after any failed append it is read again from the store.
 */
export class SessionActor {
  readonly autoApprove = new AutoApprove(this)
  readonly #core: Core
  readonly #restart: Restart
  readonly #unasked: Unasked

  constructor(readonly id: string, private readonly p: ActorParts) {
    const next = (): void => this.#unasked.next()
    this.#core = new Core(id, p, {
      onFree: next, onLost: (run) => void this.#restart.lost(run), onBegan: (line) => this.#unasked.welcome(line), onIdle: (event) => this.#unasked.idly(event),
    })
    this.#restart = new Restart(this.#core, next)
    this.#unasked = new Unasked(this.#core, this.#restart)
  }

  get live(): LiveRun | null {
    return this.#core.live
  }

  /** What the request of a word was answered, as far as this process knows. */
  answered({ run, steer }: { run: string; steer: string }): Promise<Steered> | undefined {
    const { words } = this.#core
    return words?.run === run ? words.steers.answers.get(steer) : undefined
  }

  /** What a stop of this run means now, or of any: the live run, or the one whose agent is being asked about it after our restart. */
  stoppable(run?: string): Stoppable | null {
    const { live, attaching } = this.#core
    if (attaching && (run === undefined || run === attaching.run)) return attaching
    if (!live || (run !== undefined && run !== live.id && run !== live.continues)) return null
    return { profile: live.profile, session: live.session, stop: (by) => stop(live, by) }
  }

  /** True when nothing runs or waits: the actor may be forgotten. */
  get idle(): boolean {
    return this.#core.idle
  }

  start(profile: ProfileContext, given: StartInput): Promise<Started> {
    const core = this.#core
    return core.serial.run(async () => {
      checkStart(given)
      const scope = given.key === undefined ? null : { profile: profile.name, route: START_ROUTE, key: given.key }
      // Read beside the receipt, which answers also where the chat would refuse.
      const known = core.held.of(profile).then(() => null, (error: unknown) => ({ error }))
      const before = scope && (await storedReceipt(this.p.store, scope, given.bodyHash!))
      if (before) return before.body as Started
      const refused = await known
      if (refused) throw refused.error
      await core.free()
      await this.#restart.settleEarlier(profile)
      await core.free()
      const workspace = given.workspace === undefined ? null : await this.folder(given.workspace)
      const { ledger, state: { head, tail } } = await core.held.of(profile)
      const bound = await this.p.refOf(head, profile)
      const agent = this.p.agentOf({ agent: bound })
      const folder = workspace ?? head.workspace
      const [probe, found, attachments] = await Promise.all([core.probe(agent, profile), given.lookUp?.(bound.kind, head), given.attach?.(), readyWorkspace(this.p.workspace, folder)])
      const replaced = given.replaceFrom === undefined ? undefined : await replacedFrom(this.p.store, head, given.replaceFrom, agent.history !== undefined)
      const choose = found?.model ?? given.model
      const effort = found?.effort === undefined ? given.effort : found.effort
      const { ref, model } = resolved(agent, probe, head, choose)

      // From here to the write there is no await: what was checked is claimed (law 8).
      if (!this.p.admitting()) throw shuttingDown()
      const { text, retry, key, bodyHash } = given
      const { run, admitted, committed } = core.begin(
        ledger, { head, tail, agent: ref, model, choose, effort, workspace: folder, source: 'person', text, attachments, retry, replaced, key, now: this.p.timers.now() },
        (started) => (scope ? { ...scope, bodyHash: bodyHash!, status: 200, body: started } : undefined),
      )
      await committed
      core.play(run, agent, probe, profile, replaced?.forget ? forgotten(head) : head, folder, admitted.turn)
      return admitted.started
    })
  }

  /** The queue as stored, and whether it waits for the person. */
  async queue(profile: ProfileContext): Promise<QueueView> {
    return viewOf(owned(await this.p.store.load(this.id), profile))
  }

  /** Lines a message up; same key and body: the item of then. */
  enqueue(profile: ProfileContext, input: { text: string; attach?: Attach; before?: string; key?: string; bodyHash?: string }): Promise<QueueView & { item: string }> {
    const { serial, held } = this.#core
    return serial.run(async () => {
      const { key, bodyHash = '' } = input
      const scope = key === undefined ? null : { profile: profile.name, route: QUEUE_ROUTE, key }
      const before = scope && (await storedReceipt(this.p.store, scope, bodyHash))
      if (before) return { ...(await this.queue(profile)), item: (before.body as { item: string }).item }
      // Whose chat it is comes before what it holds.
      if (input.attach) await held.of(profile)
      const attachments = await input.attach?.()
      const { ledger, state } = await held.of(profile)
      if (!this.p.admitting()) throw shuttingDown()
      const { item, drafts } = adding(state.tail.queue.items, this.p.mint, { ...input, attachments })
      await held.write(ledger, drafts, scope ? { receipt: { ...scope, bodyHash, status: 200, body: { item } } } : {})
      const view = await this.#waiting(profile, state, drafts)
      this.drain()
      return { ...view, item }
    })
  }

  /** Changes what waits. The check and the claim are one tick; an item that is being sent does not wait any more. */
  changeQueue(profile: ProfileContext, change: (items: readonly QueueItem[]) => Draft[]): Promise<QueueView> {
    const { serial, held } = this.#core
    return serial.run(async () => {
      const { ledger, state } = await held.of(profile)
      const drafts = change(state.tail.queue.items)
      if (drafts.length) await held.write(ledger, drafts)
      const view = await this.#waiting(profile, state, drafts)
      this.drain()
      return view
    })
  }

  /** Sends what waits, if nothing runs and it may. */
  drain(): void {
    this.#unasked.drain()
  }

  /** Appends what changes the head, and answers the head as stored. What is made in one tick is claimed in it, too. */
  change(profile: ProfileContext, change: (head: SessionHead) => Promise<Draft[]> | Draft[]): Promise<SessionHead> {
    const { serial, held } = this.#core
    return serial.run(async () => {
      const { ledger, state } = await held.of(profile)
      const changing = change(state.head)
      const drafts = changing instanceof Promise ? await changing : changing
      if (drafts.length) await held.write(ledger, drafts)
      return orClaimed(held.reread(), () => headAfter(state.head, drafts, this.p.timers.now()))
    })
  }

  /** Checks a folder that a request names. */
  folder(path: string): Promise<string> {
    return chosenWorkspace(this.p.workspace, path)
  }

  /** Stops a live run, waits for its end, and deletes. */
  remove(profile: ProfileContext): Promise<void> {
    const core = this.#core
    return core.serial.run(async () => {
      await core.held.of(profile)
      const { live } = core
      if (live) {
        await stop(live, 'delete')
        await live.settled
        await live.ended
      }
      const { ledger } = await core.held.of(profile)
      await ledger.write({ drafts: [{ type: 'session.deleted' }] })
      core.held.forget()
      await core.hangUp()
    })
  }

  /** Settles what an earlier process left, and asks the agent where it may have lived on; true if there was a run. */
  recover(): Promise<boolean> {
    return this.#restart.recover()
  }

  /** Takes up a turn that its agent still holds, where a restart has settled it and did not come to that. */
  takeUpLeft(foreign: string): Promise<void> {
    return this.#restart.takeUpLeft(foreign)
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

  /** The queue after drafts that have committed. */
  #waiting(profile: ProfileContext, { tail }: SessionState, drafts: readonly Draft[]): Promise<QueueView> {
    return orClaimed(this.queue(profile), () => ({ queue: { ...tail.queue, items: waitingAfter(tail.queue.items, drafts, this.p.timers.now()) }, paused: queuePaused(lastRunOf(tail)) }))
  }

  /** The head as it is now. */
  async head(profile: ProfileContext): Promise<SessionHead> {
    return owned(await this.p.store.load(this.id), profile).head
  }
}

function viewOf(state: SessionState): QueueView {
  return { queue: state.tail.queue, paused: queuePaused(lastRunOf(state.tail)) }
}
