import { join } from 'node:path'
import type { ModelRef } from '../../contract/session'
import { parseConfig } from '../../profiles/config-file'
import type { ProfileContext } from '../../profiles/context'
import { readProfileFile } from '../../profiles/read-file'

/** The model that a profile's `config.yaml` names for every chat; null where it names none, or cannot be read. The file is Hermes' own and is never written here. */
export async function defaultModel({ home, env }: Pick<ProfileContext, 'home' | 'env'>): Promise<ModelRef | null> {
  const config = parseConfig(await readProfileFile(join(home, 'config.yaml')).catch(() => null), env)
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
