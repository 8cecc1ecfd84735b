import * as z from 'zod/mini'
import { listOf, maybe, text, word } from './shapes'

/** Content of a stored message: text, or parts of which the texts are read. */
const content = z.union([text, z.array(z.unknown())])

/** One row of a stored session (spec/hermes-home.md §3.3). `id` is unique over all sessions of the store, and grows. */
export const hermesMessage = z.object({
  id: z.number(), role: word, content: maybe(content), tool_call_id: maybe(word), tool_name: maybe(word), tool_calls: listOf(z.unknown()), reasoning: maybe(text), reasoning_content: maybe(text),
  timestamp: maybe(z.number()), finish_reason: maybe(word),
})
export type HermesMessage = z.output<typeof hermesMessage>

/** `GET /api/sessions/{id}/messages`. `session_id` may be a newer one that the session was moved to. */
export const messagesAnswer = z.object({ session_id: maybe(word), messages: listOf(hermesMessage) })

/** `GET /api/sessions/{id}`: the columns that we use. */
export const sessionAnswer = z.object({
  id: word, title: maybe(word), cwd: maybe(word), model: maybe(word), source: maybe(word), message_count: maybe(z.number()), input_tokens: maybe(z.number()), output_tokens: maybe(z.number()),
  cache_read_tokens: maybe(z.number()), reasoning_tokens: maybe(z.number()), estimated_cost_usd: maybe(z.number()), actual_cost_usd: maybe(z.number()), cost_status: maybe(word),
})

/** `POST /api/sessions/import`: how many sessions were written, and what was wrong with the others. */
export const importAnswer = z.looseObject({ imported: maybe(z.number()), skipped: maybe(z.number()) })

/** The text of a stored message; parts that are no text are left out. */
export function textOf({ content }: Pick<HermesMessage, 'content'>): string {
  if (content === undefined) return ''
  if (typeof content === 'string') return content
  return content.flatMap((part) => (typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string' ? [part.text] : [])).join('')
}
