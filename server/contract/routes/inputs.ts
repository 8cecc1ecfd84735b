import * as z from 'zod/mini'
import { ATTACHMENTS_LIMIT } from '../attachments'
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
/** How hard the model is to think; null or empty: the agent's own measure. */
const effort = z.optional(z.nullable(z.string().check(z.maxLength(40))))
const kind = z.enum(['embedded', 'scripted', 'hermes', 'hermes-gateway', 'acp'])
const none = z.object({})
const item = z.string().check(z.minLength(1), z.maxLength(200))
const items = z.array(item).check(z.minLength(1), z.maxLength(200))
/** Files that were uploaded to the chat before: each its name, its path, or an object that holds `id`, `path` or `name`. */
const word = z.string().check(z.maxLength(4096))
const attachments = z.optional(z.nullable(z.array(z.union([word, z.object({ id: z.optional(word), path: z.optional(word), name: z.optional(word) })])).check(z.maxLength(ATTACHMENTS_LIMIT))))
/** A flag of a JSON body; the original's clients also send it as text or number. */
const yes = z.optional(z.nullable(z.union([z.boolean(), z.enum(['0', '1', 'true', 'false']), z.literal(0), z.literal(1)])))

export const inputs = {
  'GET /health': z.object({ deep: flag }),
  'GET /api/sessions': z.object({ include_archived: flag, archived_limit: count, archived_offset: count, all_profiles: flag }),
  'GET /api/sessions/changes': z.object({ after: cursor, before: text, limit: count }),
  'GET /api/session': z.object({ session_id, messages: flag, msg_limit: count, msg_before: count, resolve_model: flag }),
  'GET /api/session/changes': z.object({ session_id, after: cursor, from: text, before: text, limit: count }),
  'GET /api/session/status': z.object({ session_id }),
  'POST /api/session/new': z.object({ workspace: maybe, ...model, profile: maybe, title: text, agent: z.optional(z.enum(['scripted', 'embedded', 'hermes'])), effort, key }),
  'POST /api/session/rename': z.object({ session_id, title: z.string() }),
  'POST /api/session/update': z.object({ session_id, workspace: maybe, ...model, effort }),
  'POST /api/session/delete': z.object({ session_id }),
  'POST /api/chat/start': z.object({
    session_id, message: text, retry: text, replace_from: text, ...model, effort, workspace: maybe, profile: maybe, attachments, key,
  }),
  'GET /api/chat/stream': z.object({ stream_id, after_event_id: text, after_seq: text, replay: text, cursor: text }),
  'GET /api/chat/stream/status': z.object({ stream_id }),
  'GET /api/chat/cancel': z.object({ stream_id }),
  'POST /api/chat/steer': z.object({ session_id, text: z.string(), key }),
  'GET /api/chat/queue': z.object({ session_id }),
  'POST /api/chat/queue': z.object({ session_id, message: text, attachments, before: maybe, key }),
  'POST /api/chat/queue/change': z.object({ session_id, item, message: text, attachments }),
  'POST /api/chat/queue/move': z.object({ session_id, item, before: maybe }),
  'POST /api/chat/queue/combine': z.object({ session_id, items }),
  'POST /api/chat/queue/remove': z.object({ session_id, item: z.optional(item), items: z.optional(items) }),
  'POST /api/chat/queue/send': z.object({ session_id, item, stop: yes, run: text }),
  'POST /api/upload': none,
  'GET /api/attachment': z.object({ session_id, id: z.string().check(z.minLength(1), z.maxLength(200)) }),
  'GET /api/approval/pending': z.object({ session_id }),
  'GET /api/approval/stream': z.object({ session_id }),
  'POST /api/approval/respond': z.object({ session_id, choice: maybe, choice_id: maybe, approval_id: maybe, yolo: yes }),
  'GET /api/session/yolo': z.object({ session_id }),
  'POST /api/session/yolo': z.object({ session_id, enabled: z.union([z.boolean(), z.enum(['0', '1', 'true', 'false']), z.literal(0), z.literal(1)]) }),
  'GET /api/clarify/pending': z.object({ session_id }),
  'GET /api/clarify/stream': z.object({ session_id }),
  'POST /api/clarify/respond': z.object({ session_id, response: maybe, answer: maybe, choice: maybe, clarify_id: maybe }),
  'GET /api/secret/pending': z.object({ session_id }),
  'POST /api/secret/respond': z.object({ session_id, secret_id: z.string().check(z.minLength(1)), value: maybe, cancel: yes }),
  'POST /api/session/read': z.object({ session_id, seq: z.number().check(z.int(), z.gte(0)) }),
  'GET /api/session/stream': z.object({ session_id, known_count: z.optional(z.string()) }),
  'GET /api/sessions/events': none,
  'GET /api/sessions/{session_id}/events': z.object({ session_id, after_event_id: text, cursor: text }),
  'GET /api/events': z.object({ session_id: z.optional(session_id), after: cursor }),
  'GET /api/models': z.object({ freshness: z.optional(z.enum(['session_visit'])), agent: z.optional(kind) }),
  'GET /api/providers': none,
  'POST /api/providers/delete': z.object({ provider: z.string().check(z.minLength(1)) }),
  'GET /api/onboarding/status': none,
  'POST /api/onboarding/probe': z.object({ provider: text, base_url: text, api_key: text }),
  'POST /api/onboarding/setup': z.object({ provider: text, base_url: text, api_key: text, model: z.string().check(z.minLength(1)) }),
  'GET /api/agents': none,
  'POST /api/agents/choose': z.object({ kind: z.nullable(kind) }),
  'POST /api/agents/restart': z.object({ kind }),
  'GET /api/agents/log': z.object({ kind }),
  'GET /api/openapi.json': none,
  'POST /api/csp-report': z.unknown(),
} satisfies Record<RouteName, z.ZodMiniType>

export type Inputs = { [N in RouteName]: z.output<(typeof inputs)[N]> }
