import type { AgentKind, ModelRef } from './session'

/**
 * Connections to model servers, as pages and other clients see them. A key never travels to a client: `has_key` says that there is one.
 * Members have the original's spelling (spec/features.md §2.6) where the original has them.
 */

/** How the server is spoken to: OpenAI-compatible chat completions, Anthropic messages, or the scripted agent's own. */
export type ProviderKind = 'openai' | 'anthropic' | 'scripted'

/**
 * Where a connection comes from: the profile's `config.yaml` and `.env`, the form of the page, a server found on this machine, or the built-in script.
 * For the same id the page's beats Hermes', Hermes' beats a found one.
 */
export type ConnectionSource = 'page' | 'hermes' | 'local' | 'scripted'

/** `sign_in`: the provider wants a sign-in that we cannot use; `unsupported`: an interface that we do not speak. `needs_key`, `needs_address`, `ambiguous`: the configuration lacks or doubles it. */
export type ConnectionState = 'ready' | 'needs_key' | 'needs_address' | 'sign_in' | 'unsupported' | 'ambiguous'

export interface Connection {
  /** What `ModelRef.provider` names: `openrouter`, `ollama`, `custom:work`, `scripted`. */
  id: string
  display_name: string
  kind: ProviderKind
  source: ConnectionSource
  state: ConnectionState
  /** Says what is missing, in one sentence, when the state is not `ready`. */
  hint?: string
  base_url: string
  has_key: boolean
  key_source: 'page' | 'env_file' | 'config_yaml' | 'auth_json' | 'none'
  /** Its own default model, where one is configured. */
  model: string | null
  /** Only what was given in the page can be removed in the page. */
  removable: boolean
}

/** One of the forms that the page offers. */
export interface Preset {
  id: string
  display_name: string
  kind: ProviderKind
  base_url: string
  /** Names under which Hermes Agent keeps its key. */
  key_env: string[]
  key: 'needed' | 'optional'
  /** Its address may be changed in the form (a server of one's own). */
  editable: boolean
}

/** A model server that answers on this machine. */
export interface LocalServer { id: string; display_name: string; base_url: string; models: ModelName[] }

/** `efforts`: how hard it can be told to think, weakest first; absent where it cannot be told. */
export interface ModelName { id: string; label: string; context_size?: number; efforts?: string[] }

/** What the profile's Hermes Agent configuration says of its model. */
export interface HermesModel {
  /**
   * `none`: no model is configured. `ready`: it is connected, on the built-in agent. Else it cannot be used as it stands, `hint` says why, and the form
   * is the way on. `unreadable`: `config.yaml` does not parse.
   */
  state: 'none' | 'unreadable' | ConnectionState
  /** Id of the connection, when there is one. */
  connection?: string
  display_name?: string
  model?: string
  hint?: string
}

/** `GET /api/onboarding/status`. */
export interface ModelsStatus {
  /** A model can answer: the first screen is not needed. */
  completed: boolean
  /** What new chats of the built-in agent use; null while nothing is connected or chosen. */
  default: ModelRef | null
  /** Who decided it: chosen in the page, the Agent's configuration, or the only thing found. */
  default_source: 'page' | 'hermes' | 'local' | 'scripted' | null
  /** Why there is none, in one sentence. */
  reason?: string
  hermes: HermesModel
  connections: Connection[]
  local: LocalServer[]
  presets: Preset[]
  /** The agent that new chats use, and its own model where that is known; `ready`: it can answer. */
  agent?: { kind: AgentKind; name: string; version?: string; ready: boolean; model: ModelRef | null }
  /** Folder that new chats work in, as an absolute path; made at the first one. */
  default_workspace?: string
}

/** `GET /api/providers`. */
export interface ProvidersAnswer { providers: Connection[]; active_provider: string | null }

/** Why a connection did not work; `words` are the server's own, at most 1200 characters, without keys. */
export interface ConnectionFailure {
  kind: 'address' | 'auth' | 'http' | 'network' | 'timeout' | 'not_a_model_server' | 'key'
  status?: number
  words?: string
}

/** `POST /api/onboarding/probe`: tried, and not kept. */
export type ProbeAnswer =
  /** `listed` is false when it answers but has no list of models. */
  | { ok: true; kind: ProviderKind; base_url: string; listed: boolean; models: ModelName[] }
  | { ok: false; error: ConnectionFailure }

/** `POST /api/onboarding/setup`: kept, and its model is the default of new chats. */
export interface SetupAnswer { ok: true; connection: Connection; default: ModelRef }

/** `GET /api/models`: the models of one agent, by default of the one that new chats use; a group for each connection or provider, in the original's shape; ids in `groups` are bare, unique only within their group. */
export interface OffersGroup {
  provider: string
  provider_id: string
  /** `agent`: the agent's own list, not a connection of ours. */
  source: ConnectionSource | 'agent'
  models: ModelName[]
  /** More than fit a short list. */
  extra_models: ModelName[]
  /** The live list could not be had; what is shown is configured. */
  models_endpoint_error?: { kind: 'auth' | 'http' | 'network'; words?: string }
}
export interface ModelsAnswer {
  active_provider: string | null
  default_model: string | null
  groups: OffersGroup[]
  aliases: Record<string, string>
  configured_model_badges: Record<string, { role: 'primary'; label: string; provider: string }>
  /** Whose models these are. `unlisted`: it could not say which it has. */
  agent?: { kind: AgentKind; name: string; unlisted?: true }
}
