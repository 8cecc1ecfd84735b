import type { Connection, ModelName } from '../contract/models'

/** A connection with what stays on the server. */
export interface FullConnection extends Connection {
  key: string | null
  headers: Record<string, string>
  /** Models named in the configuration; they beat the live list. */
  listed: ModelName[] | null
  maxTokens?: number
  /** Context size of its default model. */
  contextSize?: number
}

/** The part that clients see. Members are picked by name, so that a new secret one cannot slip out. */
export function visible(c: FullConnection): Connection {
  const { id, display_name, kind, source, state, hint, base_url, has_key, key_source, model, removable } = c
  return { id, display_name, kind, source, state, ...(hint !== undefined && { hint }), base_url, has_key, key_source, model, removable }
}

/** The script of *Try it*, always there. */
export const SCRIPTED: FullConnection = {
  id: 'scripted', display_name: 'Scripted', kind: 'scripted', source: 'scripted', state: 'ready', base_url: '', has_key: false, key_source: 'none', model: 'scripted', removable: false,
  key: null, headers: {}, listed: [{ id: 'scripted', label: 'Scripted' }],
}
