import type * as z from 'zod/mini'
import { inputs } from '../contract/routes/inputs'
import { methodOf } from '../contract/routes'
import type { InputOf, RouteName } from '../contract/routes'
import { Refusal } from '../contract/problems'

/** The input of a route, or `bad_request` with a sentence that names the first member that is wrong. */
export function parseInput<N extends RouteName>(name: N, raw: unknown): InputOf<N> {
  const schema = inputs[name] as z.ZodMiniType
  const parsed = schema.safeParse(raw)
  if (parsed.success) return parsed.data as InputOf<N>
  const issue = parsed.error.issues[0]
  const member = issue?.path.join('.') ?? ''
  const given = member === '' ? undefined : (raw as Record<string, unknown>)[String(issue!.path[0])]
  if (given === undefined || given === '') throw new Refusal('bad_request', `${member} is required`)
  throw new Refusal('bad_request', `${member} is not valid`)
}

/** The query as an object; of a name that comes twice the first counts. */
export function queryOf(search: URLSearchParams): Record<string, string> {
  const query: Record<string, string> = {}
  for (const [name, value] of search) if (!Object.hasOwn(query, name)) Object.defineProperty(query, name, { value, enumerable: true, configurable: true, writable: true })
  return query
}

/** Which member names the session that a route is about; decided by the schema, so that no route can forget its guard. */
export function guardOf(name: RouteName): 'session_id' | 'stream_id' | null {
  const shape = (inputs[name] as { shape?: Record<string, unknown> }).shape ?? {}
  return 'session_id' in shape ? 'session_id' : 'stream_id' in shape ? 'stream_id' : null
}

export function isGet(name: RouteName): boolean {
  return methodOf(name) === 'GET'
}

/** Flags of a query. */
export function isOn(flag: '0' | '1' | 'true' | 'false' | undefined): boolean {
  return flag === '1' || flag === 'true'
}

/** Flags of a JSON body; the original's clients also send them as text or number. */
export function isYes(flag: boolean | 0 | 1 | '0' | '1' | 'true' | 'false' | null | undefined): boolean {
  return flag === true || flag === 1 || flag === '1' || flag === 'true'
}

/** Text that is a wire cursor. */
export function isCursor(text: string | undefined): text is string {
  return text !== undefined && /^\d{1,15}$/.test(text)
}
