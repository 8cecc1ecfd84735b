import type { ModelsAnswer, OffersGroup } from '../contract/models'
import { Refusal } from '../contract/problems'
import type { AgentKind, ModelRef } from '../contract/session'
import type { Models } from '../models/port'
import type { ProfileContext } from '../profiles/context'
import { AGENT_NAMES } from '../runs/admit'
import { within } from '../runs/timers'
import type { Agent, ModelOffer, Timers } from './port'

/** ms that an agent may take to list its models. */
const LIST_MS = 10_000

/** What a client sends of the model and the effort of the turns to come. */
export interface Wish { model?: string | null | undefined; model_provider?: string | null | undefined; effort?: string | null | undefined }

/** What it comes to; absent: nothing changes. `effort` null: the agent's own measure. */
export interface Wished { model?: ModelRef; effort?: string | null }

/**
 * Models and efforts of the agent that answers in a chat. Our connections serve the built-in agent and the script; an agent with a program of its own
 * has its own list (spec/agents.md §2), and what a chat asks of it is checked against that one.
 */
export interface Offers {
  answer(profile: ProfileContext, kind: AgentKind): Promise<ModelsAnswer>
  /** `now`: what the chat uses so far. Refuses `model_unknown`, and `bad_request` for an effort that this model is not offered with. */
  resolve(profile: ProfileContext, kind: AgentKind, wish: Wish, now?: { model: ModelRef | null; effort?: string }): Promise<Wished>
}

export function makeOffers(agents: readonly Agent[], models: Models, timers: Timers): Offers {
  /** Null: the agent cannot list any, or did not just now. */
  const listOf = async (profile: ProfileContext, kind: AgentKind): Promise<ModelOffer[] | null> => {
    const asked = agents.find((each) => each.kind === kind)?.models?.(profile)
    return asked ? await within<ModelOffer[] | null>(timers, LIST_MS, asked, () => null).catch(() => null) : null
  }
  const ownModel = async (profile: ProfileContext, kind: AgentKind): Promise<ModelRef | null> => {
    const probe = await agents.find((each) => each.kind === kind)?.probe(profile).catch(() => null)
    return probe?.state === 'ready' ? probe.model : null
  }
  return {
    async answer(profile, kind) {
      if (isOurs(kind)) return { ...(await models.offers(profile)), agent: { kind, name: AGENT_NAMES[kind] } }
      const [list, own] = await Promise.all([listOf(profile, kind), ownModel(profile, kind)])
      return {
        active_provider: own?.provider ?? null, default_model: own?.id ?? null, groups: groupsOf(list ?? []), aliases: {}, configured_model_badges: {},
        agent: { kind, name: AGENT_NAMES[kind], ...(list === null ? { unlisted: true } : {}) },
      }
    },
    async resolve(profile, kind, wish, now) {
      const model = isOurs(kind) ? await models.resolve(profile, { model: wish.model ?? null, model_provider: wish.model_provider ?? null }) : null
      const asks = Boolean(wish.model?.trim() || wish.model_provider?.trim())
      if (wish.effort === undefined && !(asks && !isOurs(kind))) return model ? { model } : {}
      const list = await listOf(profile, kind)
      const chosen = model ?? (asks ? refIn(list, wish) : null)
      const efforts = effortsOf(list, chosen ?? now?.model ?? (await ownModel(profile, kind)))
      return { ...(chosen ? { model: chosen } : {}), ...effortFor(wish.effort, efforts, now?.effort) }
    },
  }
}

/** Its models are our connections. */
function isOurs(kind: AgentKind): boolean {
  return kind === 'embedded' || kind === 'scripted'
}

/** One of the list, or another model of a provider in it, as people may name one that is not listed. Without a list the agent's own word decides. */
function refIn(list: ModelOffer[] | null, wish: Wish): ModelRef {
  const id = wish.model?.trim() ?? ''
  const provider = wish.model_provider?.trim() ?? ''
  const found = list?.find((offer) => offer.ref.id === id && (provider === '' || offer.ref.provider === provider))
  if (found) return found.ref
  if (id !== '' && provider !== '' && (list === null || list.some((offer) => offer.ref.provider === provider))) return { provider, id }
  throw new Refusal('model_unknown', 'The agent of this chat does not offer this model.')
}

/** Undefined: not known. */
function effortsOf(list: ModelOffer[] | null, model: ModelRef | null): string[] | undefined {
  if (list === null) return undefined
  const found = list.find((offer) => model !== null && offer.ref.id === model.id && offer.ref.provider === model.provider)
  return found ? (found.efforts ?? []) : undefined
}

function effortFor(asked: string | null | undefined, offered: string[] | undefined, now: string | undefined): Pick<Wished, 'effort'> {
  if (asked === undefined) return now !== undefined && offered && !offered.includes(now) ? { effort: null } : {}
  if (asked === null || asked === '') return { effort: null }
  if (offered && !offered.includes(asked)) throw new Refusal('bad_request', offered.length ? `effort is one of ${offered.join(', ')}` : 'This model cannot be told how hard to think.')
  return { effort: asked }
}

function groupsOf(list: readonly ModelOffer[]): OffersGroup[] {
  const groups = new Map<string, OffersGroup>()
  for (const { ref, label, contextSize, efforts } of list) {
    const group = groups.get(ref.provider) ?? { provider: ref.provider, provider_id: ref.provider, source: 'agent', models: [], extra_models: [] }
    group.models.push({ id: ref.id, label, ...(contextSize === undefined ? {} : { context_size: contextSize }), ...(efforts?.length ? { efforts } : {}) })
    groups.set(ref.provider, group)
  }
  return [...groups.values()]
}
