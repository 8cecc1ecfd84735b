import type { ModelsAnswer, ModelsStatus, ProbeAnswer, ProvidersAnswer, ProviderKind, SetupAnswer } from '../contract/models'
import type { ModelRef } from '../contract/session'
import type { ProfileContext } from '../profiles/context'

/** What routes and agents may ask about models (DESIGN §9, §11). Keys stay behind `endpoint`, which only the embedded agent calls. */
export interface Models {
  /** What is connected, what was found on this machine, which model new chats use, or why there is none. Answers within about a second. */
  status(profile: ProfileContext): Promise<ModelsStatus>
  connections(profile: ProfileContext): Promise<ProvidersAnswer>
  /** Models by connection; live lists, asked with a deadline and kept for some minutes. */
  offers(profile: ProfileContext): Promise<ModelsAnswer>
  /** Tries an address and key without keeping them. Never rejects for what the far side did; `Refusal` `connection_invalid` for input that is none. */
  check(profile: ProfileContext, input: ConnectionInput): Promise<ProbeAnswer>
  /**
   * Keeps a connection (0600, durable before it answers) and makes its model the default of new chats. An absent key keeps the one stored for the same id
   * and address. With `provider` of something that is connected already (Hermes', found, scripted) and nothing else, only the default moves.
   * Refuses with `connection_invalid`.
   */
  save(profile: ProfileContext, input: ConnectionInput & { model: string }): Promise<SetupAnswer>
  /** Removes what was given in the page; `not_found` for unknown ids, `connection_invalid` for what comes from elsewhere. */
  remove(profile: ProfileContext, id: string): Promise<void>
  /** Makes a model of a connection the default of new chats; `model_unknown` when no such connection is usable. */
  chooseDefault(profile: ProfileContext, model: ModelRef): Promise<ModelRef>
  /** The default of new chats; null when nothing is connected. */
  defaultModel(profile: ProfileContext): Promise<ModelRef | null>
  /** From what a client sent (`model`, `model_provider`, or the original's `@provider:model`) to a reference; `model_unknown` when it names no connection. Null for nothing sent. */
  resolve(profile: ProfileContext, input: { model?: string | null; model_provider?: string | null }): Promise<ModelRef | null>
  /** How to reach a model; with the key. Never leaves the server. */
  endpoint(profile: ProfileContext, model: ModelRef): Promise<Endpoint | EndpointMissing>
}

export interface ConnectionInput {
  /** A preset's id, the id of a kept connection, or `custom:<name>`; `custom` or absent: named after the address (`custom:127.0.0.1-8000`). */
  provider?: string
  base_url?: string
  api_key?: string
}

export interface Endpoint {
  state: 'ready'
  connection: string
  name: string
  kind: Exclude<ProviderKind, 'scripted'>
  baseUrl: string
  key: string | null
  headers: Record<string, string>
  model: string
  /** Tokens, where configured or listed. */
  contextSize?: number
  maxTokens?: number
}
export interface EndpointMissing { state: 'missing'; code: 'no_model' | 'model_unknown' | 'needs_key' | 'sign_in' | 'unsupported' | 'scripted'; words: string; hint?: string }
