import type { AgentChoice } from '../agents/choice'
import type { Agent, Timers } from '../agents/port'
import type { Draft, Event, EventOf } from '../contract/events'
import { emptyTranscript, fold } from '../contract/fold'
import { isPathSafeId } from '../contract/ids'
import type { Mint } from '../contract/ids'
import { Refusal } from '../contract/problems'
import type { AgentKind, AgentRef, SessionHead } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { Store } from '../store/port'
import { StoreRefusal } from '../store/port'
import { SessionActor } from './actor'
import { effortChange, modelChange, namedAgent } from './admit'
import { clarify } from './clarify'
import { decide } from './decide'
import { findQuestion } from './find-question'
import type { QuestionKind } from './questions'
import { owned } from './held'
import { orClaimed } from './durable'
import { LIMITS } from './limits'
import type { Limits } from './limits'
import type { Runs } from './port'
import { endLeftovers, systemProcesses } from './processes'
import type { ProcessTable } from './processes'
import { changing, combining, moving, QUEUE_ROUTE, removing, sending } from './queue'
import { keyReused, OneByKey, storedReceipt } from './receipt'
import { refusalOf, shuttingDown } from './refuse'
import { reusedReceipt, steer, steeredBefore, STEER_ROUTE } from './steer'
import { give } from './secrets'
import { shorten, TITLE_LENGTH } from './title'
import { within } from './timers'
import { chosenWorkspace, systemFolders } from './workspace'
import type { Folders } from './workspace'

/** Scope of the receipts of new chats. */
export const NEW_ROUTE = '/api/session/new'

export interface RunsParts {
  store: Store
  /** The agents this server has, by kind. A chat of a kind that is not here fails closed at its next turn. */
  agents: Partial<Record<AgentKind, Agent>>
  mint: Mint
  timers: Timers
  /** Absolute path; where a chat works that names no folder. Made at the first turn. */
  defaultWorkspace: string
  /** Absolute paths whose insides may be chosen as working folders, such as the person's home. */
  workspaceRoots: string[]
  /** Agent of a chat that names none. */
  choice: Pick<AgentChoice, 'of'>
  /** The profile of this name, for what nobody asks for: the queue, a re-attach. Null or absent: such chats wait for their person. */
  profileOf?: (name: string) => ProfileContext | null
  /** Where a file of a chat lies, by its name; absolute. */
  pathOf?: (session: string, name: string) => string
  limits?: Partial<Limits>
  processes?: ProcessTable
  /** The machine's own unless given. */
  folders?: Folders
}

/** The domain of sessions and runs over a store and agents. One per server; `recover()` before it listens, `drain()` at its end. */
export function makeRuns(parts: RunsParts): Runs {
  const { store, timers, mint } = parts
  const limits: Limits = { ...LIMITS, ...parts.limits }
  const rules = { defaultWorkspace: parts.defaultWorkspace, roots: parts.workspaceRoots, folders: parts.folders ?? systemFolders }
  const actors = new Map<string, SessionActor>()
  const byKey = new OneByKey()
  let draining = false

  const agentOf = (head: Pick<SessionHead, 'agent'>): Agent => {
    const agent = head.agent && parts.agents[head.agent.kind]
    if (!agent) throw new Refusal('agent_unavailable', `This server has no agent of the kind ${head.agent?.kind ?? 'of new chats'}.`, { hint: ELSEWHERE })
    return agent
  }
  const refOf = async (head: Pick<SessionHead, 'agent'>, profile: ProfileContext): Promise<AgentRef> => head.agent ?? namedAgent((await parts.choice.of(profile)).kind)
  const actor = (id: string): SessionActor => {
    let found = actors.get(id)
    if (!found) {
      if (actors.size >= 512) for (const [other, idle] of actors) if (idle.idle) actors.delete(other)
      found = new SessionActor(id, { store, timers, mint, limits, workspace: rules, agentOf, refOf, profileOf: parts.profileOf ?? (() => null), admitting: () => !draining, ...(parts.pathOf ? { pathOf: parts.pathOf } : {}) })
      actors.set(id, found)
    }
    return found
  }
  const stoppable = (run: string) => {
    for (const each of actors.values()) {
      const found = each.stoppable(run)
      if (found) return found
    }
    return null
  }

  const find = (profile: ProfileContext, session: string, kind: QuestionKind, id: string | undefined) =>
    findQuestion({ store, live: actors.get(session)?.live ?? null, profile, session }, kind, id)

  const runs: Runs = {
    async create(profile, input) {
      if (draining) throw shuttingDown()
      if (input.id !== undefined && !isPathSafeId(input.id)) throw new Refusal('invalid_id', 'This id cannot be used for a chat.')
      const { key, bodyHash = '' } = input
      if (key !== undefined && bodyHash === '') throw new Refusal('bad_request', 'A key needs the digest of its body.')
      const scope = key === undefined ? null : { profile: profile.name, route: NEW_ROUTE, key }
      const before = scope && (await storedReceipt(store, scope, bodyHash))
      if (before) return actor((before.body as { session: string }).session).head(profile)
      const workspace = input.workspace === undefined ? rules.defaultWorkspace : await chosenWorkspace(rules, input.workspace)
      const { model, effort, agent } = { ...input, ...(await input.lookUp?.()) }
      if (agent !== undefined && !parts.agents[agent]) throw new Refusal('agent_unavailable', `This server has no agent of the kind ${agent}.`)
      const session = input.id ?? mint('ses')
      const title = shorten(input.title ?? '', TITLE_LENGTH)
      const created: EventOf<'session.created'> = {
        session, seq: 1, at: timers.now(), type: 'session.created', title, titleBy: title === '' ? 'provisional' : 'person', profile: profile.name, workspace, model: model ?? null, source: 'talaria',
        agent: agent === undefined ? null : namedAgent(agent),
      }
      const events: Event[] = effort == null ? [created] : [created, { session, seq: 2, at: created.at, type: 'session.changed', effort }]
      try {
        await store.append({
          session, expectSeq: 1, urgency: 'now', events,
          ...(scope ? { receipt: { ...scope, bodyHash, status: 200, body: { session } } } : {}),
        })
      } catch (error) {
        if (error instanceof StoreRefusal && (error.why === 'exists' || error.why === 'sequence' || error.why === 'deleted')) throw new Refusal('invalid_id', 'A chat with this id exists already.')
        if (error instanceof StoreRefusal && error.why === 'key_reused') {
          if (error.receipt?.bodyHash !== bodyHash) throw keyReused()
          return actor((error.receipt.body as { session: string }).session).head(profile)
        }
        throw error
      }
      return orClaimed(actor(session).head(profile), () => fold(emptyTranscript(), events).session!)
    },

    async start(profile, input) {
      if (draining) throw shuttingDown()
      return actor(input.session).start(profile, input)
    },

    async stop(profile, run, by) {
      const live = stoppable(run)
      if (live) {
        if (live.profile !== profile.name) throw mismatch(live.session, live.profile)
        return { cancelled: await live.stop(by), session: live.session }
      }
      const known = await store.run(run)
      if (!known) return { cancelled: false, session: null }
      owned(await store.load(known.session), profile)
      return { cancelled: false, session: known.session }
    },

    async decide(profile, { session, approval, choice }) {
      const { run, question } = await find(profile, session, 'approval', approval)
      return decide(run, question, choice)
    },

    async answer(profile, { session, clarify: id, text }) {
      const { run, question } = await find(profile, session, 'clarify', id)
      return clarify(run, question, text)
    },

    async give(profile, { session, secret, value }) {
      const { run, question } = await find(profile, session, 'secret', secret)
      return give(run, question, value)
    },

    async approveAll(profile, session, enabled) {
      return actor(session).autoApprove.set(profile, enabled)
    },

    async steer(profile, { session, text, key, bodyHash = '' }) {
      if (text.trim() === '') throw new Refusal('message_required', 'A message is required.')
      if (key !== undefined && bodyHash === '') throw new Refusal('bad_request', 'A key needs the digest of its body.')
      const scope = key === undefined ? null : { profile: profile.name, route: STEER_ROUTE, key }
      return byKey.run(scope, async () => {
        const before = scope && (await storedReceipt(store, scope, bodyHash))
        const live = actors.get(session)?.live
        if (live && live.profile !== profile.name) throw mismatch(live.session, live.profile)
        const again = (stored: { run: string; steer: string }) => steeredBefore(actors.get(session)?.answered(stored), stored)
        if (before) return again(before.body as { run: string; steer: string })
        if (!live) {
          const state = await store.load(session)
          if (!state || state.deleted) return { accepted: false, code: 'session_not_found' }
          owned(state, profile)
          return { accepted: false, code: 'not_running' }
        }
        const receipt = (id: string) => ({ ...scope!, bodyHash, status: 200, body: { run: live.id, steer: id } })
        return steer(live, text, scope ? receipt : undefined).catch((error: unknown) => again(reusedReceipt(error, bodyHash)))
      })
    },

    async queue(profile, session) {
      return actor(session).queue(profile)
    },

    async enqueue(profile, input) {
      if (draining) throw shuttingDown()
      if (input.key !== undefined && input.bodyHash === undefined) throw new Refusal('bad_request', 'A key needs the digest of its body.')
      const scope = input.key === undefined ? null : { profile: profile.name, route: QUEUE_ROUTE, key: input.key }
      return byKey.run(scope, () => actor(input.session).enqueue(profile, input))
    },

    async changeQueued(profile, { session, item, text, attach }) {
      if (attach) await actor(session).queue(profile)
      const attachments = await attach?.()
      return actor(session).changeQueue(profile, (items) => changing(items, item, text, attachments))
    },

    async moveQueued(profile, { session, item, before }) {
      return actor(session).changeQueue(profile, (items) => moving(items, item, before))
    },

    async combineQueued(profile, { session, items: ids }) {
      return actor(session).changeQueue(profile, (items) => combining(items, ids))
    },

    async removeQueued(profile, { session, items: ids }) {
      return actor(session).changeQueue(profile, (items) => removing(items, ids))
    },

    async sendQueued(profile, { session, item, stop: first, run }) {
      if (draining) throw shuttingDown()
      // The run that the person sees now, never the one that this message becomes.
      const seen = first ? actors.get(session)?.stoppable(run) : null
      const view = await actor(session).changeQueue(profile, (items) => sending(items, item))
      if (seen) await seen.stop('person')
      return view
    },

    async rename(profile, session, title) {
      const line = shorten(title, TITLE_LENGTH)
      if (line === '') throw new Refusal('bad_request', 'A title is required.')
      return actor(session).change(profile, (head) => (head.title === line && head.titleBy === 'person' ? [] : [{ type: 'session.changed', title: line, titleBy: 'person' }]))
    },

    async update(profile, session, change) {
      return actor(session).change(profile, async (head) => {
        const workspace = change.workspace === undefined ? head.workspace : await chosenWorkspace(rules, change.workspace)
        const { model, effort } = { ...change, ...(change.lookUp && (await change.lookUp((await refOf(head, profile)).kind, head))) }
        const draft: Draft = { type: 'session.changed', ...(workspace === head.workspace ? {} : { workspace }), ...modelChange(head, model), ...effortChange(head, effort) }
        return Object.keys(draft).length > 1 ? [draft] : []
      })
    },

    async remove(profile, session) {
      await actor(session).remove(profile)
      actors.delete(session)
    },

    async recover() {
      const processes = await endLeftovers(parts.processes ?? systemProcesses(), await store.processes(), (pid) => store.forgetProcess(pid))
      let settled = 0
      for (const session of await store.unsettled()) if (await actor(session).recover()) settled++
      await Promise.all(Object.values(parts.agents).map(async (agent) => {
        const left = agent.survivors ? await within(timers, limits.probe, agent.survivors(), () => []).catch(() => []) : []
        for (const { session, foreign } of left) await actor(session).takeUpLeft(foreign).catch(() => undefined)
      }))
      for (const session of await store.queued()) actor(session).drain()
      return { runs: settled, processes }
    },

    async drain() {
      draining = true
      await Promise.all([...actors.values()].map((each) => each.interrupt()))
      await Promise.all(Object.values(parts.agents).map((agent) => agent.end().catch(() => undefined)))
    },

    live() {
      const found: { session: string; run: string; startedAt: number }[] = []
      for (const each of actors.values()) if (each.live) found.push({ session: each.live.session, run: each.live.id, startedAt: each.live.startedAt })
      return found
    },
  }
  return {
    ...runs, create: refusing(runs.create), stop: refusing(runs.stop), decide: refusing(runs.decide), answer: refusing(runs.answer), give: refusing(runs.give), steer: refusing(runs.steer), queue: refusing(runs.queue),
    sendQueued: refusing(runs.sendQueued),
  }
}

/** What a person can do whose chat's agent is not here. */
const ELSEWHERE = 'Start a new chat, which another agent answers; the settings say which agents are here.'

function mismatch(session: string, profile: string): Refusal {
  return new Refusal('session_profile_mismatch', 'This run belongs to another profile.', { session_id: session, profile })
}


/** What the store could not do is told as a refusal, also when it only had to read. */
function refusing<A extends unknown[], T>(verb: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  return (...args) => verb(...args).catch((error: unknown) => { throw refusalOf(error) })
}
