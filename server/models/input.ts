import type { Preset } from '../contract/models'
import { Refusal } from '../contract/problems'
import { anthropicAddress, baseAddress, serverOf } from './address'
import { slugOf } from './hermes'
import type { Kept } from './kept'
import type { ConnectionInput } from './port'
import { known, knownId, PRESETS } from './providers'

/** A connection as a person gave it, checked. `stored` is what is kept under the same id. Refuses with `connection_invalid`. */
export function readInput(input: ConnectionInput, stored: Kept[]): Omit<Kept, 'model'> {
  const id = idOf(input, stored)
  const preset = presetOf(id)
  const old = stored.find((each) => each.id === id)
  const given = input.base_url?.trim() || old?.base_url || preset?.base_url || ''
  if (given === '') throw invalid('An address is needed.', 'The base address of the API, such as http://127.0.0.1:8000/v1')
  const base = baseAddress(given)
  if (base === null) throw invalid('The address is not one.', 'It begins with http:// or https:// and holds no name and password.')
  const kind = preset?.kind === 'anthropic' || /(?:^|\.)anthropic\.com$/.test(new URL(base).hostname) ? 'anthropic' : 'openai'
  const base_url = kind === 'anthropic' ? anthropicAddress(base) : base
  const key = input.api_key?.trim() ?? ''
  if (/[^\x21-\x7e]/.test(key)) throw invalid('The key has characters that no key has.', 'Copy it again, without line breaks.')
  if (key !== '' && key.length < 8 && preset?.key === 'needed') throw invalid('The key is too short.')
  // A stored key goes only to the server it was given for.
  const kept = old && serverOf(old.base_url) === serverOf(base_url) ? old.api_key : null
  return { id, name: nameOf(id, preset, base_url), kind, base_url, api_key: key === '' ? kept : key }
}

/** A server of one's own is named after its address, so that several can be kept and none takes the place of the Agent's own. */
function idOf({ provider, base_url }: ConnectionInput, stored: Kept[]): string {
  const name = provider?.trim() ?? ''
  if (name === '' || name === 'custom') {
    const base = baseAddress(base_url ?? '')
    if (base === null) return 'custom'
    return stored.find((each) => serverOf(each.base_url) === serverOf(base))?.id ?? slugOf(new URL(base).host) ?? 'custom'
  }
  if (PRESETS.some((each) => each.id === name) || known(name)) return name
  const found = name.startsWith('custom:') ? null : knownId(name)
  if (found !== null && found !== 'custom') return found
  const slug = slugOf(name)
  if (slug === null || slug.length > 80) throw invalid('The name of the connection is not one.')
  return found === null && !name.startsWith('custom:') && /^[a-z0-9-]+$/.test(name) ? name : slug
}

function presetOf(id: string): Preset | undefined {
  const preset = PRESETS.find((each) => each.id === id)
  if (preset) return preset
  const other = known(id)
  if (!other) return undefined
  if (other.refuses) throw invalid(other.refuses.why)
  return { id, display_name: other.name, kind: other.kind, base_url: other.base, key_env: other.keys, key: other.keyless ? 'optional' : 'needed', editable: other.base === '' }
}

function nameOf(id: string, preset: Preset | undefined, base: string): string {
  if (preset && preset.id !== 'custom') return preset.display_name
  return id.startsWith('custom:') && id !== slugOf(new URL(base).host) ? id.slice('custom:'.length) : new URL(base).host
}

export function invalid(error: string, hint?: string): Refusal {
  return new Refusal('connection_invalid', error, hint === undefined ? {} : { hint })
}
