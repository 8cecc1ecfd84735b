import type { Wished } from '../agents/offers'
import { isPathSafeId } from '../contract/ids'
import { entryOf } from '../contract/listing'
import type { CompactSession } from '../contract/routes'
import type { AgentKind, ModelRef, SessionHead, Usage } from '../contract/session'
import { lastRun } from '../contract/session'
import { Refusal } from '../contract/problems'
import type { NewChoice } from '../runs/port'
import type { SessionState, Store } from '../store/port'
import { compactOf, seconds } from './compact'
import { keyOf } from './key'
import { loadSession, notFound } from './load'
import { attentionOf, openIn } from './pending'
import { pageSize } from './sessions'
import type { Handlers } from './call'
import type { Parts } from './parts'

type Names = 'GET /api/session/changes' | 'GET /api/session/status' | 'POST /api/session/new' | 'POST /api/session/rename' | 'POST /api/session/update' | 'POST /api/session/delete' | 'POST /api/session/read'

/** One chat: its rows from a cursor on, its state, and what changes it. */
export function session({ store, runs, models, offers, choice, timers, attachments, report }: Pick<Parts, 'store' | 'runs' | 'models' | 'offers' | 'choice' | 'timers' | 'attachments' | 'report'>): Handlers<Names> {
  return {
    async 'GET /api/session/changes'({ input }) {
      if (!isPathSafeId(input.session_id)) throw notFound()
      const limit = pageSize(input.limit)
      const changes =
        input.after === undefined
          ? await store.window(input.session_id, { limit, ...(input.before === undefined ? {} : { before: input.before }) })
          : await store.changes(input.session_id, { after: input.after, from: input.from ?? '', limit })
      if (!changes) throw notFound()
      return changes
    },
    async 'GET /api/session/status'({ input }) {
      const state = await loadSession(store, input.session_id)
      const usage = lastUsage(state)
      return {
        ...compactState(state),
        input_tokens: usage.input ?? 0,
        output_tokens: usage.output ?? 0,
        estimated_cost: usage.cost ?? null,
        server_time: seconds(timers.now()),
      }
    },
    async 'POST /api/session/new'({ input, profile, header }) {
      const idempotency = keyOf(input, header('idempotency-key'))
      if (input.profile != null && input.profile !== profile.name) throw new Refusal('bad_request', 'invalid profile')
      const lookUp = async (): Promise<NewChoice> => {
        const kind = input.agent ?? (await choice.of(profile)).kind
        const wished = await offers.resolve(profile, kind, input)
        const agent = input.agent ?? (await agentFor(kind, wished, () => models.defaultModel(profile)))
        return { ...wished, ...(agent === undefined ? {} : { agent }) }
      }
      const head = await runs.create(profile, {
        ...(input.title === undefined ? {} : { title: input.title }),
        ...(input.workspace == null ? {} : { workspace: input.workspace }),
        lookUp,
        ...idempotency,
      })
      return { session: await compact(store, head) }
    },
    async 'POST /api/session/rename'({ input, profile }) {
      return { ok: true, session: await compact(store, await runs.rename(profile, input.session_id, input.title)) }
    },
    async 'POST /api/session/update'({ input, profile }) {
      const head = await runs.update(profile, input.session_id, { lookUp: (agent, now) => offers.resolve(profile, agent, input, now), ...(input.workspace == null ? {} : { workspace: input.workspace }) })
      return { ok: true, session: await compact(store, head) }
    },
    async 'POST /api/session/read'({ input }) {
      if (!isPathSafeId(input.session_id) || !(await store.markRead(input.session_id, input.seq))) throw notFound()
      return { ok: true }
    },
    async 'POST /api/session/delete'({ input, profile }) {
      await loadSession(store, input.session_id)
      await runs.remove(profile, input.session_id)
      // What stays behind here, the sweep removes.
      await attachments.remove(input.session_id).catch(report)
      return { ok: true, state_db_cleanup_failed: false }
    },
  }
}

/**
 * Who answers a chat that names no agent: what it names of an agent's own list binds it at once. Of the models that were connected here, the script's is played
 * by the script. Undefined: the agent that new chats use when it begins.
 */
async function agentFor(kind: AgentKind, { model, effort }: Wished, fallback: () => Promise<ModelRef | null>): Promise<AgentKind | undefined> {
  if (kind !== 'embedded' && kind !== 'scripted') return model || effort != null ? kind : undefined
  if (model) return model.provider === 'scripted' ? 'scripted' : 'embedded'
  return (await fallback())?.provider === 'scripted' ? 'scripted' : undefined
}

async function compact(store: Store, head: SessionHead): Promise<CompactSession> {
  return compactState(await loadSession(store, head.id))
}

function compactState(state: SessionState): CompactSession {
  const entry = entryOf(state.tail)
  if (!entry) throw notFound()
  return compactOf({ ...entry, ...(state.read === undefined ? {} : { read: state.read }) }, attentionOf(openIn(state.tail)))
}

/** The last turn's own numbers; an unknown one is absent. */
function lastUsage(state: SessionState): Usage {
  const turn = [...state.tail.turns.values()].pop()
  return (turn && lastRun(turn)?.usage) ?? {}
}
