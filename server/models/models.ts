import type { HermesModel, LocalServer, ModelName, ModelsStatus, OffersGroup, ProbeAnswer } from '../contract/models'
import { Refusal } from '../contract/problems'
import type { ModelRef } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import { makeSettings, type Settings } from '../profiles/settings'
import { baseAddress, serverOf } from './address'
import { checkPlace, settleAddress } from './check'
import { type FullConnection, SCRIPTED, visible } from './connection'
import { type HermesConnections, hermesConnections } from './hermes'
import { makeCaller } from './http'
import { invalid, readInput } from './input'
import type { Kept, KeptFile } from './kept'
import { type LocalCandidate, makeLocal } from './local'
import { makeLists } from './lists'
import type { Endpoint, EndpointMissing, Models } from './port'
import { PRESETS } from './providers'
import { refOf } from './reference'

export interface ModelsDeps {
  kept: KeptFile
  /** Ports of this machine that are looked at; empty: none. */
  local: LocalCandidate[]
  /** ms that one of them has to answer; 800. */
  localWait?: number
  /** ms since the epoch. */
  now(): number
}

/** More than this stand in a group's short list; the others follow in `extra_models`. */
const SHORT = 15
const LONG = 25
/** ms in which an address without `/v1` is tried before it is kept. */
const SETTLE = 1_500

interface View { connections: FullConnection[]; hermes: HermesModel; local: LocalServer[]; default: ModelRef | null; source: ModelsStatus['default_source']; reason?: string }

/** Connections and models of a profile, from its files, from the page and from this machine. `end` closes what it holds open. */
export function makeModels(deps: ModelsDeps): Models & { end(): Promise<void> } {
  const caller = makeCaller()
  const readSettings = makeSettings()
  const local = makeLocal(caller.call, deps.local, deps.now, deps.localWait)
  const lists = makeLists(caller.call, deps.now)
  /** Made once for each reading of the files. */
  const made = new WeakMap<Settings, HermesConnections>()
  const connectionsOf = (settings: Settings): HermesConnections => {
    const known = made.get(settings) ?? hermesConnections(settings)
    made.set(settings, known)
    return known
  }

  /** Everything that can be said without asking anybody; found servers only where a caller wants them. */
  const look = async (profile: ProfileContext, withLocal: boolean): Promise<View> => {
    const [settings, kept, found] = await Promise.all([readSettings(profile), deps.kept.read(profile.name), withLocal ? local() : Promise.resolve([])])
    const fromAgent = connectionsOf(settings)
    const page = kept.connections.map(fromPage)
    const own = new Set(page.map((c) => c.id))
    const agent = fromAgent.connections.filter((c) => !own.has(c.id))
    const taken = new Set([...page, ...agent].filter((c) => c.base_url !== '').map((c) => serverOf(c.base_url)))
    const ids = new Set([...page, ...agent].map((c) => c.id))
    const free = found.filter((server) => !taken.has(serverOf(server.base_url)) && !ids.has(server.id))
    const connections = [...page, ...agent, ...free.map(fromLocal), SCRIPTED]
    return { connections, hermes: fromAgent.model, local: free, ...defaultOf(kept.default, connections, fromAgent.model) }
  }

  const status = async (profile: ProfileContext): Promise<ModelsStatus> => {
    let view: View
    try {
      view = await look(profile, true)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { completed: false, default: null, default_source: null, reason: `${error.message} ${error.problem.hint ?? ''}`.trim(), hermes: { state: 'none' }, connections: [visible(SCRIPTED)], local: await local(), presets: PRESETS }
    }
    return {
      completed: view.default !== null, default: view.default, default_source: view.source, ...(view.reason !== undefined && { reason: view.reason }), hermes: view.hermes,
      connections: view.connections.map(visible), local: view.local, presets: PRESETS,
    }
  }

  const chooseDefault = async (profile: ProfileContext, model: ModelRef): Promise<ModelRef> => {
    const view = await look(profile, true)
    const connection = view.connections.find((c) => c.id === model.provider)
    if (!connection || connection.state !== 'ready' || model.id === '') throw new Refusal('model_unknown', `No usable connection is called ${model.provider}.`)
    const ref = { provider: connection.id, id: model.id }
    await deps.kept.change(profile.name, (now) => ({
      default: ref,
      // A found server is kept, so that it stays the default while it is not running.
      connections: connection.source === 'local' ? [...now.connections, { id: connection.id, name: connection.display_name, kind: 'openai', base_url: connection.base_url, api_key: null, model: model.id }] : now.connections,
    }))
    return ref
  }

  const endpoint = async (profile: ProfileContext, model: ModelRef): Promise<Endpoint | EndpointMissing> => {
    if (model.provider === 'scripted') return { state: 'missing', code: 'scripted', words: 'The scripted agent is not a model.', hint: 'Connect a model, or start a new chat with the scripted agent.' }
    let view = await look(profile, false)
    if (!view.connections.some((c) => c.id === model.provider)) view = await look(profile, true)
    const connection = view.connections.find((c) => c.id === model.provider)
    if (!connection || connection.kind === 'scripted') return { state: 'missing', code: 'model_unknown', words: `The connection “${model.provider}” of this chat is no longer there.`, hint: 'Choose another model.' }
    if (connection.state !== 'ready') return { state: 'missing', code: codeOf(connection), words: connection.hint ?? `${connection.display_name} cannot be used.`, hint: 'Connect a model in the settings, or choose another one.' }
    const size = (connection.model === model.id ? connection.contextSize : undefined) ?? connection.listed?.find((m) => m.id === model.id)?.context_size ?? lists.sizeOf(connection, model.id)
    return {
      state: 'ready', connection: connection.id, name: connection.display_name, kind: connection.kind, baseUrl: connection.base_url, key: connection.key, headers: connection.headers, model: model.id,
      ...(size !== undefined && { contextSize: size }), ...(connection.model === model.id && connection.maxTokens !== undefined && { maxTokens: connection.maxTokens }),
    }
  }

  return {
    status, chooseDefault, endpoint,
    connections: async (profile) => {
      const view = await look(profile, true)
      return { providers: view.connections.map(visible), active_provider: view.default?.provider ?? null }
    },
    offers: async (profile) => {
      const view = await look(profile, true)
      const usable = view.connections.filter((c) => c.state === 'ready')
      usable.sort((a, b) => Number(b.id === view.default?.provider) - Number(a.id === view.default?.provider))
      const groups = await Promise.all(usable.map(async (c) => groupOf(c, view.default, c.kind === 'scripted' ? null : await lists.of(c))))
      const label = 'Primary'
      return {
        active_provider: view.default?.provider ?? null, default_model: view.default?.id ?? null, groups, aliases: {},
        configured_model_badges: view.default ? Object.fromEntries([view.default.id, `@${view.default.provider}:${view.default.id}`].map((key) => [key, { role: 'primary' as const, label, provider: view.default!.provider }])) : {},
      }
    },
    check: async (profile, input): Promise<ProbeAnswer> => {
      const given = readInput(input, (await deps.kept.read(profile.name)).connections)
      if (given.api_key === null && PRESETS.some((p) => p.id === given.id && p.key === 'needed')) return { ok: false, error: { kind: 'key', words: 'This provider needs a key.' } }
      return await checkPlace(caller.call, { kind: given.kind, base_url: given.base_url, key: given.api_key })
    },
    save: async (profile, input) => {
      const model = input.model.trim()
      if (model === '' || model.length > 300) throw invalid('A model is needed.')
      const view = await look(profile, true)
      const there = view.connections.find((c) => c.id === input.provider)
      const moves = there !== undefined && there.state === 'ready' && !input.api_key?.trim() && isAt(there, input.base_url?.trim() ?? '')
      if (moves && there.source !== 'page') {
        const chosen = await chooseDefault(profile, { provider: there.id, id: model })
        const now = await look(profile, true)
        return { ok: true, connection: visible(now.connections.find((c) => c.id === chosen.provider)!), default: chosen }
      }
      if (input.provider === 'scripted') throw invalid('The scripted agent has no address and no key.')
      let saved: Kept | undefined
      const first = readInput(input, (await deps.kept.read(profile.name)).connections)
      const base_url = await settleAddress(caller.call, { kind: first.kind, base_url: first.base_url, key: first.api_key }, SETTLE)
      await deps.kept.change(profile.name, (now) => {
        const given = { ...readInput(input, now.connections), base_url }
        if (given.api_key === null && PRESETS.some((p) => p.id === given.id && p.key === 'needed')) throw invalid('This provider needs a key.')
        saved = { ...given, model }
        const others = now.connections.filter((each) => each.id !== given.id)
        return { default: { provider: given.id, id: model }, connections: [...others, saved] }
      })
      lists.forget()
      return { ok: true, connection: visible(fromPage(saved!)), default: { provider: saved!.id, id: model } }
    },
    remove: async (profile, id) => {
      const view = await look(profile, false)
      const found = view.connections.find((c) => c.id === id)
      if (!found) throw new Refusal('not_found', `No connection is called ${id}.`)
      if (!found.removable) throw invalid('It was not connected in the page, so it cannot be removed here.')
      await deps.kept.change(profile.name, (now) => ({ default: now.default?.provider === id ? null : now.default, connections: now.connections.filter((each) => each.id !== id) }))
      lists.forget()
    },
    defaultModel: async (profile) => (await look(profile, false)).default ?? (await look(profile, true)).default,
    resolve: async (profile, input) => {
      // Most messages name no model; they do not wait for a look at files.
      if (!input.model?.trim() && !input.model_provider?.trim()) return null
      const view = await look(profile, false)
      const ref = refOf(input, view.connections, view.default)
      if (ref !== 'unknown') return ref
      const wider = await look(profile, true)
      const found = refOf(input, wider.connections, wider.default)
      if (found === 'unknown') throw new Refusal('model_unknown', 'This model belongs to no connection.')
      return found
    },
    end: () => caller.end(),
  }
}

/** No address was given, or that of the same server. */
function isAt(connection: FullConnection, given: string): boolean {
  const base = baseAddress(given)
  return given === '' || (base !== null && (connection.base_url === '' || serverOf(base) === serverOf(connection.base_url)))
}

function fromPage(kept: Kept): FullConnection {
  return {
    id: kept.id, display_name: kept.name, kind: kept.kind, source: 'page', state: 'ready', base_url: kept.base_url, has_key: kept.api_key !== null, key_source: kept.api_key === null ? 'none' : 'page',
    model: kept.model, removable: true, key: kept.api_key, headers: {}, listed: null,
  }
}

function fromLocal(server: LocalServer): FullConnection {
  return {
    id: server.id, display_name: server.display_name, kind: 'openai', source: 'local', state: 'ready', base_url: server.base_url, has_key: false, key_source: 'none',
    model: server.models[0]?.id ?? null, removable: false, key: null, headers: {}, listed: null,
  }
}

/** The page's choice beats the Agent's configuration, as long as its connection is there. */
function defaultOf(chosen: ModelRef | null, connections: FullConnection[], hermes: HermesModel): Pick<View, 'default' | 'source' | 'reason'> {
  const ready = (id: string): FullConnection | undefined => connections.find((c) => c.id === id && c.state === 'ready')
  if (chosen) {
    const connection = ready(chosen.provider)
    if (connection) return { default: chosen, source: connection.source === 'scripted' ? 'scripted' : 'page' }
  }
  const own = hermes.connection === undefined ? undefined : ready(hermes.connection)
  if (hermes.state === 'ready' && own && own.source === 'hermes' && own.model !== null) return { default: { provider: own.id, id: own.model }, source: 'hermes' }
  return { default: null, source: null, reason: hermes.hint ?? 'No model is connected yet.' }
}

function codeOf(connection: FullConnection): EndpointMissing['code'] {
  if (connection.state === 'sign_in') return 'sign_in'
  return connection.state === 'needs_key' ? 'needs_key' : 'unsupported'
}

function groupOf(connection: FullConnection, chosen: ModelRef | null, live: Awaited<ReturnType<ReturnType<typeof makeLists>['of']>> | null): OffersGroup {
  const all: ModelName[] = [...(connection.listed ?? live?.models ?? [])]
  const wanted = [chosen?.provider === connection.id ? chosen.id : null, connection.model].filter((id): id is string => id !== null)
  for (const id of [...new Set(wanted)].reverse()) {
    const at = all.findIndex((m) => m.id === id)
    all.unshift(...(at < 0 ? [{ id, label: id }] : all.splice(at, 1)))
  }
  const short = all.length > LONG ? SHORT : all.length
  return {
    provider: connection.display_name, provider_id: connection.id, source: connection.source, models: all.slice(0, short), extra_models: all.slice(short),
    ...(live?.error && !connection.listed && { models_endpoint_error: live.error }),
  }
}
