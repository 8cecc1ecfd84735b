import * as z from 'zod/mini'
import type { RouteName } from './table'

/**
 * What each route takes: the query of a GET, the JSON body of a POST. The server validates with these; unknown members are dropped, so that
 * the original's clients may send more than we use. Numbers and flags of a query arrive as text and are coerced.
 */
const session_id = z.string().check(z.minLength(1))
const stream_id = z.string().check(z.minLength(1))
const flag = z.optional(z.enum(['0', '1', 'true', 'false']))
const count = z.optional(z.coerce.number().check(z.int(), z.gte(0)))
const cursor = z.optional(z.string().check(z.regex(/^\d{1,15}$/)))
const text = z.optional(z.string())
const maybe = z.optional(z.nullable(z.string()))
/** The client's key for an idempotent write; the header `Idempotency-Key` says the same. */
const key = z.optional(z.string().check(z.minLength(1), z.maxLength(200)))
/** Names of models and connections stand in every list entry: no longer than any real one, as where one is connected. */
const name = z.optional(z.nullable(z.string().check(z.maxLength(300))))
/** Which model: the id alone, or with the id of its connection. */
const model = { model: name, model_provider: name }
const none = z.object({})

export const inputs = {
  'GET /health': z.object({ deep: flag }),
  'GET /api/sessions': z.object({ include_archived: flag, archived_limit: count, archived_offset: count, all_profiles: flag }),
  'GET /api/sessions/changes': z.object({ after: cursor, before: text, limit: count }),
  'GET /api/session': z.object({ session_id, messages: flag, msg_limit: count, msg_before: count, resolve_model: flag }),
  'GET /api/session/changes': z.object({ session_id, after: cursor, from: text, before: text, limit: count }),
  'GET /api/session/status': z.object({ session_id }),
  'POST /api/session/new': z.object({ workspace: maybe, ...model, profile: maybe, title: text, agent: z.optional(z.enum(['scripted', 'embedded'])), key }),
  'POST /api/session/rename': z.object({ session_id, title: z.string() }),
  'POST /api/session/update': z.object({ session_id, workspace: maybe, ...model }),
  'POST /api/session/delete': z.object({ session_id }),
  'POST /api/chat/start': z.object({
    session_id, message: text, retry: text, ...model, workspace: maybe, profile: maybe, attachments: z.optional(z.array(z.unknown())), key,
  }),
  'GET /api/chat/stream': z.object({ stream_id, after_event_id: text, after_seq: text, replay: text, cursor: text }),
  'GET /api/chat/stream/status': z.object({ stream_id }),
  'GET /api/chat/cancel': z.object({ stream_id }),
  'GET /api/approval/pending': z.object({ session_id }),
  'POST /api/approval/respond': z.object({ session_id, choice: z.string(), approval_id: maybe }),
  'GET /api/events': z.object({ session_id: z.optional(session_id), after: cursor }),
  'GET /api/models': z.object({ freshness: z.optional(z.enum(['session_visit'])) }),
  'GET /api/providers': none,
  'POST /api/providers/delete': z.object({ provider: z.string().check(z.minLength(1)) }),
  'GET /api/onboarding/status': none,
  'POST /api/onboarding/probe': z.object({ provider: text, base_url: text, api_key: text }),
  'POST /api/onboarding/setup': z.object({ provider: text, base_url: text, api_key: text, model: z.string().check(z.minLength(1)) }),
  'GET /api/openapi.json': none,
  'POST /api/csp-report': z.unknown(),
} satisfies Record<RouteName, z.ZodMiniType>

export type Inputs = { [N in RouteName]: z.output<(typeof inputs)[N]> }
