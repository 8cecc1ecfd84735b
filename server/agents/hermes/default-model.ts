import type { ModelRef } from '../../contract/session'
import type { Settings } from '../../profiles/settings'

/** The model that a profile's `config.yaml` names for every chat; null where it names none, or cannot be read. The file is Hermes' own and is never written here. */
export function defaultModel({ config }: Pick<Settings, 'config'>): ModelRef | null {
  if (config.state !== 'read') return null
  const section: unknown = config.value.model
  if (typeof section === 'string') return refOf('auto', section)
  if (typeof section !== 'object' || section === null) return null
  const { provider, default: id, model, name } = section as Record<string, unknown>
  return refOf(provider, [id, model, name].find((each) => typeof each === 'string' && each !== ''))
}

function refOf(provider: unknown, id: unknown): ModelRef | null {
  return typeof id === 'string' && id.trim() !== '' ? { provider: typeof provider === 'string' && provider.trim() !== '' ? provider.trim() : 'auto', id: id.trim() } : null
}
