import * as z from 'zod/mini'
import { listOf, liveUsage, maybe, sessionInfo, text, word } from './shapes'

const nothing = z.object({})
const said = z.object({ text })
const subagent = z.object({
  subagent_id: word, parent_id: maybe(word), child_session_id: maybe(word), goal: maybe(text), task_index: maybe(z.number()), task_count: maybe(z.number()), depth: maybe(z.number()),
  model: maybe(word), tool_count: maybe(z.number()), text: maybe(text), tool_name: maybe(word), tool_preview: maybe(text), status: maybe(word), summary: maybe(text),
  duration_seconds: maybe(z.number()), input_tokens: maybe(z.number()), output_tokens: maybe(z.number()),
})

const todo = z.object({ id: maybe(z.union([word, z.number()])), content: text, status: maybe(word) })

/** Every event that is understood, by its name; members that we do not use are not named (spec/hermes-rpc.md §4.2). */
const PAYLOADS = {
  'session.info': sessionInfo,
  'session.title': z.object({ session_id: maybe(word), title: word }),
  'message.start': nothing,
  'message.delta': said,
  'message.interim': z.object({ text, already_streamed: maybe(z.boolean()) }),
  'message.complete': z.object({ text: maybe(text), status: word, reasoning: maybe(text), warning: maybe(text), usage: maybe(liveUsage) }),
  'reasoning.delta': said,
  /** A phrase of a spinner, one at the beginning of each model call; empty: it goes. */
  'thinking.delta': said,
  'tool.generating': z.object({ name: word }),
  'tool.start': z.object({ tool_id: word, name: word, context: maybe(text), args_text: maybe(text) }),
  'tool.complete': z.object({
    tool_id: word, name: word, args: maybe(z.record(z.string(), z.unknown())), result: z.optional(z.unknown()), duration_s: maybe(z.number()), summary: maybe(text), inline_diff: maybe(text),
    todos: listOf(todo),
  }),
  'status.update': z.object({ kind: word, text: maybe(text) }),
  error: z.object({ message: maybe(text) }),
  'approval.request': z.object({ command: text, description: maybe(text), pattern_key: maybe(text), allow_permanent: maybe(z.boolean()), choices: listOf(word) }),
  'clarify.request': z.object({ request_id: word, question: text, choices: listOf(text) }),
  'sudo.request': z.object({ request_id: word }),
  'secret.request': z.object({ request_id: word, prompt: maybe(text), env_var: maybe(word) }),
  'sudo.expire': z.object({ request_id: word }),
  'secret.expire': z.object({ request_id: word }),
  'subagent.start': subagent,
  'subagent.thinking': subagent,
  'subagent.tool': subagent,
  'subagent.progress': subagent,
  'subagent.complete': subagent,
} as const

export type EventType = keyof typeof PAYLOADS
export type Payload<T extends EventType> = z.output<(typeof PAYLOADS)[T]>

/** One event of a live session. */
export type HermesEvent = { [T in EventType]: { type: T; payload: Payload<T> } }[EventType]

/** Whose event it is, and which; `session` is the live id, empty for what belongs to none. */
export interface Heard { session: string; event: HermesEvent | null }

const FRAME = z.object({ method: z.literal('event'), params: z.object({ type: word, session_id: maybe(word), payload: z.optional(z.unknown()) }) })

/**
 * An event out of a frame. Null: the frame is no event. `event` null: a kind that is not known, or one whose payload is not what its kind must have; it still
 * proves that the program lives.
 */
export function parseEvent(frame: unknown): Heard | null {
  const found = FRAME.safeParse(frame)
  if (!found.success) return null
  const { type, session_id: session = '', payload = {} } = found.data.params
  if (!isKnown(type)) return { session, event: null }
  const known = PAYLOADS[type].safeParse(payload)
  return { session, event: known.success ? ({ type, payload: known.data } as HermesEvent) : null }
}

function isKnown(type: string): type is EventType {
  return Object.hasOwn(PAYLOADS, type)
}
