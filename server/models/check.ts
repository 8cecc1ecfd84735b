import type { ConnectionFailure, ProbeAnswer } from '../contract/models'
import type { Caller } from './http'
import { ask, listModels, type Place } from './list'

/** ms for one request of a check. */
const DEADLINE = 8_000

/**
 * The address at which a server really has its API, where the given one lacks `/v1`; the given one when nothing else answers in time. For what is kept
 * without a check before.
 */
export async function settleAddress(call: Caller, place: Place, deadline: number): Promise<string> {
  if (/\/v\d/.test(place.base_url)) return place.base_url
  const [plain, below] = await Promise.all([place.base_url, `${place.base_url}/v1`].map((base_url) => listModels(call, { ...place, base_url }, deadline)))
  return below!.ok && !plain!.ok && missing(plain!.error) ? `${place.base_url}/v1` : place.base_url
}

/** Addresses that list their models to anybody; the key is tried here (path below the base). */
const KEY_PATHS: { host: string; path: string }[] = [{ host: 'openrouter.ai', path: '/key' }]

/**
 * Tries an address and a key: asks for the list of models; where there is none, whether chat is served at all; where the list is open to anybody, whether the key is
 * good. An address that answers 404 is also tried with `/v1`. Never rejects.
 */
export async function checkPlace(call: Caller, place: Place): Promise<ProbeAnswer> {
  const first = await tryAt(call, place)
  if (first.ok || !missing(first.error) || /\/v\d/.test(place.base_url)) return first
  const second = await tryAt(call, { ...place, base_url: `${place.base_url}/v1` })
  return second.ok ? second : first
}

async function tryAt(call: Caller, place: Place): Promise<ProbeAnswer> {
  const { kind, base_url } = place
  const listed = await listModels(call, place, DEADLINE)
  if (!listed.ok) {
    if (!missing(listed.error)) return listed
    // No list: a server of chat refuses an empty request with words of its own; anything else has no such path.
    const asked = await ask(call, place, 'POST', kind === 'anthropic' ? '/messages' : '/chat/completions', {}, DEADLINE)
    if (!asked.ok && asked.error.kind === 'auth') return asked
    const serves = asked.ok || (asked.error.kind === 'http' && asked.error.status !== undefined && [400, 402, 409, 422, 429].includes(asked.error.status))
    return serves ? { ok: true, kind, base_url, listed: false, models: [] } : listed
  }
  const tried = KEY_PATHS.find(({ host }) => new URL(base_url).host === host)
  if (tried && place.key !== null) {
    const key = await ask(call, place, 'GET', tried.path, undefined, DEADLINE)
    if (!key.ok && key.error.kind === 'auth') return key
  }
  return { ok: true, kind, base_url, listed: true, models: listed.models }
}

function missing(error: ConnectionFailure): boolean {
  return error.kind === 'not_a_model_server' || (error.kind === 'http' && (error.status === 404 || error.status === 405 || error.status === 501))
}
