import type { ConnectionState, HermesModel, ModelName } from '../contract/models'
import type { Settings } from '../profiles/settings'
import { anthropicAddress, baseAddress } from './address'
import type { FullConnection } from './connection'
import { KNOWN, known, knownByHost, knownId, type Known } from './providers'
import { isObject } from './words'

export interface HermesConnections { connections: FullConnection[]; model: HermesModel }

type Entry = Record<string, unknown>

/**
 * What the Agent's configuration connects (spec/hermes-home.md §5.3, §7; spec/server.md §6.1): the provider of `model`, the entries of `providers` and
 * `custom_providers`, and every known provider whose key stands in the profile. Pure.
 */
export function hermesConnections({ config, env, auth }: Settings): HermesConnections {
  if (config.state === 'unreadable') return { connections: withKeys(env, auth, {}, new Set()), model: { state: 'unreadable', hint: `config.yaml cannot be read: ${config.words}` } }
  const value = config.state === 'read' ? config.value : {}
  const section = modelSection(value.model)
  const settings = isObject(value.providers) ? value.providers : {}
  const customs = customConnections(value, env)
  const own = ownConnection(section, settings, customs, env, auth)
  const rest = withKeys(env, auth, settings, new Set([own?.id ?? '']))
  const connections = [...(own && !customs.includes(own) ? [own] : []), ...customs, ...rest]
  return { connections, model: summary(section, own) }
}

interface ModelSection { model: string; provider: string; base: string; key: string; mode: string; contextSize?: number; maxTokens?: number }

function modelSection(raw: unknown): ModelSection {
  const entry: Entry = isObject(raw) ? raw : {}
  return {
    model: typeof raw === 'string' ? raw.trim() : text(entry, 'default', 'model', 'name'), provider: text(entry, 'provider'), base: text(entry, 'base_url', 'api_base'),
    key: text(entry, 'api_key'), mode: text(entry, 'api_mode'), contextSize: number(entry.context_length), maxTokens: number(entry.max_tokens),
  }
}

/** The connection of `model`; null when no model and no provider is configured. */
function ownConnection(section: ModelSection, settings: Entry, customs: FullConnection[], env: Settings['env'], auth: Settings['auth']): FullConnection | null {
  const hinted = /^@([^:]+(?::[^:]+)?):(.+)$/.exec(section.model)
  const wanted = section.provider !== '' && section.provider !== 'auto' ? section.provider : (hinted?.[1] ?? '')
  const model = hinted && wanted === hinted[1] ? hinted[2]! : section.model
  const configured = (c: FullConnection): FullConnection => Object.assign(c, { model: model === '' ? c.model : model, contextSize: section.contextSize ?? c.contextSize, maxTokens: section.maxTokens ?? c.maxTokens })

  const custom = wanted === '' ? undefined : customs.find((c) => c.id === wanted || c.id === slugOf(wanted))
  if (custom) return configured(custom)
  const id = wanted === '' ? (section.base !== '' ? 'custom' : automatic(env, auth)) : knownId(wanted)
  if (id === null) {
    if (model === '' && wanted === '') return null
    const hint = wanted === '' ? 'No provider and no key is configured for it.' : `The provider “${wanted}” of config.yaml is not known here.`
    return configured(connection({ id: slugOf(wanted || 'unknown') ?? 'custom:unknown', name: wanted || 'Unknown provider', kind: 'openai', base: '', key: null, keySource: 'none', state: wanted === '' ? 'needs_key' : 'unsupported', hint }))
  }
  if (id === 'custom') return configured(customModel(section, env))
  const provider = known(id)!
  const bare = model.startsWith(`${id}/`) && !['openrouter', 'nous', 'opencode-zen', 'opencode-go', 'nvidia', 'huggingface'].includes(id) ? model.slice(id.length + 1) : model
  const made = configured(fromKnown(provider, env, auth, isObject(settings[id]) ? settings[id] : {}, section))
  return Object.assign(made, { model: bare === '' ? null : bare })
}

/** The Agent's own order when no provider is named. */
function automatic(env: Settings['env'], auth: Settings['auth']): string | null {
  const withKey = KNOWN.find((each) => !each.keyless && each.keys.some((name) => usableKey(env[name])))
  if (withKey) return withKey.id
  const active = auth?.active_provider
  return typeof active === 'string' ? knownId(active) : null
}

function customModel(section: ModelSection, env: Settings['env']): FullConnection {
  const base = baseAddress(section.base)
  const host = base === null ? undefined : knownByHost(base)
  const [key, keySource] = usableKey(section.key) ? [section.key, 'config_yaml' as const] : fromEnv(env, ['CUSTOM_API_KEY', ...(host?.keys ?? [])])
  const kind = section.mode === 'anthropic_messages' || host?.kind === 'anthropic' ? 'anthropic' : 'openai'
  const name = base === null ? 'Custom server' : new URL(base).host
  return connection({ id: 'custom', name, kind, base: base ?? '', key, keySource, ...(base === null && { state: 'needs_address', hint: 'config.yaml names no usable base_url for it.' }), ...modeState(section.mode) })
}

function fromKnown(provider: Known, env: Settings['env'], auth: Settings['auth'], settings: Entry, section: ModelSection | null): FullConnection {
  const moved = [section?.base ?? '', text(settings, 'base_url', 'url', 'api'), provider.baseEnv ? (env[provider.baseEnv] ?? '') : ''].find((each) => each !== '')
  const base = baseAddress(moved ?? provider.base)
  const named = text(settings, 'key_env')
  const inConfig = [text(settings, 'api_key'), moved !== undefined && section?.base === moved ? section.key : ''].find(usableKey)
  const pooled = inConfig === undefined ? pooledKey(auth, provider.id) : undefined
  const fromFile = fromEnv(env, [...(named === '' ? [] : [named]), ...provider.keys])
  const [key, keySource] = inConfig !== undefined ? [inConfig, 'config_yaml' as const] : pooled !== undefined ? [pooled, 'auth_json' as const] : fromFile
  const more = { listed: listedModels(settings.models), headers: headers(settings.extra_headers) }
  const made = { id: provider.id, name: provider.name, kind: provider.kind, base: base ?? '', key, keySource, ...more }
  if (provider.refuses) return connection({ ...made, key: null, keySource: 'none', state: provider.refuses.state, hint: provider.refuses.why })
  if (base === null) return connection({ ...made, state: 'needs_address', hint: `${provider.name} has no address in the configuration.` })
  const subscribed = key === null ? ['ANTHROPIC_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'].some((name) => usableKey(env[name])) : key.startsWith('sk-ant-oat')
  if (provider.id === 'anthropic' && subscribed)
    return connection({ ...made, key: null, keySource: 'none', state: 'sign_in', hint: 'Anthropic is configured with the sign-in of a subscription, which cannot be used here. A key can.' })
  if (key === null && !provider.keyless) return connection({ ...made, state: 'needs_key', hint: `No key was found: ${provider.keys[0]} is not set in the profile’s .env.` })
  return connection({ ...made, ...modeState(section?.mode ?? '') })
}

/** Every other known provider whose key is there. */
function withKeys(env: Settings['env'], auth: Settings['auth'], settings: Entry, taken: ReadonlySet<string>): FullConnection[] {
  return KNOWN.filter((each) => !taken.has(each.id) && !each.refuses && !each.keyless).flatMap((each) => {
    const made = fromKnown(each, env, auth, isObject(settings[each.id]) ? (settings[each.id] as Entry) : {}, null)
    return made.state === 'ready' ? [made] : []
  })
}

/** Entries of `providers` that are no known provider, and of the older list `custom_providers`. Two with one slug are ambiguous (spec/server.md §6.1). */
function customConnections(value: Entry, env: Settings['env']): FullConnection[] {
  const entries: Entry[] = []
  if (isObject(value.providers)) for (const [name, entry] of Object.entries(value.providers)) if (isObject(entry) && (knownId(name) ?? 'custom') === 'custom') entries.push({ ...entry, name: text(entry, 'name') || name, slug: name })
  if (Array.isArray(value.custom_providers)) for (const entry of value.custom_providers) if (isObject(entry)) entries.push(entry)
  const found = new Map<string, FullConnection>()
  for (const entry of entries) {
    const made = entry.enabled === false ? null : customConnection(entry, env)
    if (!made) continue
    const before = found.get(made.id)
    if (!before) found.set(made.id, made)
    else if (before.base_url !== made.base_url) Object.assign(before, { state: 'ambiguous', hint: `Two servers in config.yaml have the name “${before.display_name}”; rename one.`, key: null, has_key: false })
  }
  return [...found.values()]
}

function customConnection(entry: Entry, env: Settings['env']): FullConnection | null {
  const id = slugOf(text(entry, 'slug') || text(entry, 'name'))
  if (id === null) return null
  const base = baseAddress(text(entry, 'base_url', 'url', 'api'))
  const mode = text(entry, 'api_mode', 'transport')
  const named = text(entry, 'key_env')
  const [key, keySource] = usableKey(text(entry, 'api_key'))
    ? [text(entry, 'api_key'), 'config_yaml' as const]
    : fromEnv(env, [...(named === '' ? [] : [named]), `CUSTOM_${id.slice('custom:'.length).toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`, ...(base === null ? [] : (knownByHost(base)?.keys ?? []))])
  const wanted = text(entry, 'model', 'default_model')
  return connection({
    id, name: text(entry, 'name') || id, kind: mode === 'anthropic_messages' ? 'anthropic' : 'openai', base: base ?? '', key, keySource, model: wanted === '' ? null : wanted, listed: listedModels(entry.models),
    headers: headers(entry.extra_headers), contextSize: number(entry.context_length), ...(base === null && { state: 'needs_address', hint: 'config.yaml names no usable base_url for it.' }), ...modeState(mode),
  })
}

function connection(c: {
  id: string; name: string; kind: 'openai' | 'anthropic'; base: string; key: string | null; keySource: FullConnection['key_source']; state?: ConnectionState; hint?: string
  model?: string | null; listed?: ModelName[] | null; headers?: Record<string, string>; contextSize?: number
}): FullConnection {
  return {
    id: c.id, display_name: c.name, kind: c.kind, source: 'hermes', state: c.state ?? 'ready', hint: c.hint, base_url: c.base !== '' && c.kind === 'anthropic' ? anthropicAddress(c.base) : c.base,
    has_key: c.key !== null, key_source: c.keySource, model: c.model ?? null, removable: false, key: c.key, headers: c.headers ?? {}, listed: c.listed ?? null, contextSize: c.contextSize,
  }
}

function modeState(mode: string): { state?: ConnectionState; hint?: string } {
  const strange = mode === 'bedrock_converse' || mode === 'codex_app_server'
  return strange ? { state: 'unsupported', hint: `The interface “${mode}” cannot be used here yet.` } : {}
}

function summary(section: ModelSection, own: FullConnection | null): HermesModel {
  if (!own) return { state: 'none' }
  if (own.state === 'ready' && own.model === null) return { state: 'none', connection: own.id, display_name: own.display_name, hint: 'The configuration names a provider, but no model.' }
  return { state: own.state, connection: own.id, display_name: own.display_name, ...(section.model !== '' && { model: own.model ?? section.model }), ...(own.hint !== undefined && { hint: own.hint }) }
}

/** `custom:<slug>` of a name; null when nothing of it is left. */
export function slugOf(name: string): string | null {
  const slug = name.toLowerCase().replace(/^custom:/, '').replace(/[^a-z0-9._-]+/g, '-').replace(/-+/g, '-').replace(/^-|-$/g, '')
  return slug === '' ? null : `custom:${slug}`
}

/** The configured list: ids, a mapping of them, or entries with `id`, `model` or `name`. */
function listedModels(raw: unknown): ModelName[] | null {
  const named = (id: string, entry: unknown): ModelName[] => {
    if (id === '') return []
    const more = isObject(entry) ? entry : {}
    const size = number(more.context_length)
    return [{ id, label: text(more, 'label') || id, ...(size !== undefined && { context_size: size }) }]
  }
  if (isObject(raw)) return Object.entries(raw).flatMap(([id, entry]) => named(id, entry))
  if (!Array.isArray(raw)) return null
  return raw.flatMap((item: unknown) => (typeof item === 'string' ? named(item, null) : isObject(item) ? named(text(item, 'id', 'model', 'name'), item) : []))
}

/** A key of the Agent's own store that is a plain key and not known to be dead. */
function pooledKey(auth: Settings['auth'], id: string): string | undefined {
  const pool = isObject(auth?.credential_pool) ? auth.credential_pool[id] : undefined
  if (!Array.isArray(pool)) return undefined
  return pool
    .filter((e): e is Entry => isObject(e) && e.auth_type === 'api_key' && e.last_status !== 'dead' && typeof e.access_token === 'string')
    .sort((a, b) => Number(a.priority ?? 0) - Number(b.priority ?? 0))
    .map((e) => e.access_token as string)
    .find(usableKey)
}

function fromEnv(env: Settings['env'], names: string[]): [string, 'env_file'] | [null, 'none'] {
  for (const name of names) {
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (usableKey(value)) return [value, 'env_file']
  }
  return [null, 'none']
}

/** Not empty, not a template whose variable is not set, not what was masked away, and fit for a header. */
function usableKey(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '' && !/\$\{/.test(value) && !/^\*+$/.test(value) && !/[^\x21-\x7e]/.test(value)
}

function headers(raw: unknown): Record<string, string> {
  if (!isObject(raw)) return {}
  return Object.fromEntries(Object.entries(raw).flatMap(([name, value]) => (typeof value === 'string' && /^[\w-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value) ? [[name.toLowerCase(), value]] : [])))
}

function text(entry: Entry, ...names: string[]): string {
  for (const name of names) {
    const value = entry[name]
    if (typeof value === 'string' && value.trim() !== '') return value.trim()
    if (typeof value === 'number') return String(value)
  }
  return ''
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}
