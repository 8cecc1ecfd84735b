import type { ConnectionFailure, ModelName } from '../contract/models'
import { type Caller, networkWords, textOf } from './http'
import { cleanWords, isObject, looksLikeHtml, messageOf } from './words'

/** Where a list of models is asked, with what is needed to be let in. */
export interface Place { kind: 'openai' | 'anthropic'; base_url: string; key: string | null; headers?: Record<string, string> }

export type Listed = { ok: true; models: ModelName[] } | { ok: false; error: ConnectionFailure }

/** `GET <base>/models`, with a deadline in ms. Never rejects. */
export async function listModels(call: Caller, place: Place, deadline: number): Promise<Listed> {
  const got = await ask(call, place, 'GET', '/models', undefined, deadline)
  if (!got.ok) return got
  const models = namesIn(got.body)
  return models ? { ok: true, models } : { ok: false, error: { kind: 'not_a_model_server', status: got.status, words: 'It answers, but not with a list of models.' } }
}

export type Asked = { ok: true; status: number; body: unknown } | { ok: false; error: ConnectionFailure }

/** One JSON request to a model server, with its own words where it refuses. */
export async function ask(call: Caller, place: Place, method: 'GET' | 'POST', path: string, body: unknown, deadline: number): Promise<Asked> {
  const signal = AbortSignal.timeout(deadline)
  const auth: Record<string, string> = place.key === null ? {} : place.kind === 'anthropic' ? { 'x-api-key': place.key } : { authorization: `Bearer ${place.key}` }
  const fail = (error: ConnectionFailure): Asked => ({ ok: false, error })
  try {
    const answer = await call({
      url: `${place.base_url}${path}`, method, signal,
      headers: { accept: 'application/json', ...(place.kind === 'anthropic' && { 'anthropic-version': '2023-06-01' }), ...(body !== undefined && { 'content-type': 'application/json' }), ...place.headers, ...auth },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await textOf(answer, 8 * 1024 * 1024)
    const json = parsed(text)
    const words = cleanWords(messageOf(json) ?? text, [place.key])
    if (answer.status === 401 || answer.status === 403) return fail({ kind: 'auth', status: answer.status, words })
    if (answer.status >= 300 && answer.status < 400) return fail({ kind: 'http', status: answer.status, words: `The address redirects${answer.location ? ` to ${answer.location}` : ''}.` })
    if (json === undefined) return fail({ kind: answer.status === 200 || looksLikeHtml(text) ? 'not_a_model_server' : 'http', status: answer.status, words: words || `HTTP status ${answer.status}` })
    if (answer.status >= 400) return fail({ kind: 'http', status: answer.status, words: words || `HTTP status ${answer.status}` })
    return { ok: true, status: answer.status, body: json }
  } catch (error) {
    if (signal.aborted) return fail({ kind: 'timeout', words: `No answer within ${deadline / 1000} s.` })
    return fail({ kind: 'network', words: cleanWords(networkWords(error), [place.key]) })
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Names in the lists of model servers: `{data: [{id}]}`, `{models: [{id | name | model}]}`, or a bare list. Null for what is none. */
function namesIn(body: unknown): ModelName[] | null {
  const list = Array.isArray(body) ? body : isObject(body) && Array.isArray(body.data) ? body.data : isObject(body) && Array.isArray(body.models) ? body.models : null
  if (!list) return null
  const seen = new Set<string>()
  return list.flatMap((item: unknown): ModelName[] => {
    const entry = isObject(item) ? item : { id: item }
    const id = [entry.id, entry.model, entry.name].find((value): value is string => typeof value === 'string' && value !== '')
    if (id === undefined || seen.has(id) || id.length > 300 || isNoChatModel(id, entry)) return []
    seen.add(id)
    const label = [entry.display_name, entry.name].find((value): value is string => typeof value === 'string' && value !== '') ?? id
    const size = [entry.context_length, entry.max_model_len, entry.context_window, entry.max_context_length].find((value): value is number => typeof value === 'number' && value > 0)
    return [{ id, label: label.slice(0, 300), ...(size !== undefined && { context_size: size }) }]
  })
}

/** Models that make vectors, pictures or sound answer no chat. */
function isNoChatModel(id: string, entry: Record<string, unknown>): boolean {
  const type = typeof entry.type === 'string' ? entry.type : ''
  return /embedding|rerank/i.test(type) || /(?:^|[-_/:. ])(?:embed|embedding|embeddings|rerank|reranker|whisper|tts|dall-e|moderation)(?:[-_/:. \d]|$)/i.test(id)
}
