import type { Endpoint } from '../../models/port'
import type { Usage } from '../../contract/session'
import type { Message } from './messages'
import type { Frame } from './sse'

/** A tool as the model is told of it. */
export interface ToolOffer { name: string; description: string; parameters: Record<string, unknown> }

/** What the loop asks of a model; neutral, each dialect gives it its provider's shape. */
export interface Ask { system: string; messages: Message[]; tools: ToolOffer[] }

/** What one provider could not take, learned from its refusals and kept for as long as the process lives. */
export interface Quirks {
  /** It refuses `stream_options`. */
  noUsageOption?: true
  /** It refuses tools. */
  noTools?: true
  /** It demands its own reasoning back with tool turns (or refuses it, where false). */
  echoReasoning?: boolean
  /** Its largest `max_tokens`. */
  maxTokens?: number
  /** It calls that `max_completion_tokens`. */
  completionTokens?: true
  /** It takes no pictures. */
  noImages?: true
}

/** A piece of one tool call. Which call it belongs to is decided in `calls.ts`. */
export interface CallFragment { index?: number; id?: string; name?: string; args?: string }

export type FinishReason = 'stop' | 'calls' | 'length' | 'filter'

/** What a frame means. */
export type Part =
  | { type: 'text'; delta: string; last?: true }
  /** The whole answer once more, or for the first time (servers that do not stream). */
  | { type: 'whole'; text: string }
  | { type: 'reasoning'; delta: string }
  /** Closes the thought before it: its provider wants the mark back. */
  | { type: 'signature'; signature: string }
  | { type: 'call'; fragment: CallFragment }
  | { type: 'usage'; usage: Usage }
  | { type: 'finish'; reason: FinishReason }
  /** The provider's own sign that the stream is over. */
  | { type: 'done' }
  | { type: 'failure'; words: string; status?: number; code?: string }
  /** A frame that is not what it should be: left out, and counted. */
  | { type: 'skipped' }

/** One provider's wire format. Pure. */
export interface Dialect {
  /** Every whole message of it ends with a sign; without one it was cut. */
  alwaysEnds: boolean
  url(endpoint: Endpoint): string
  headers(endpoint: Endpoint): Record<string, string>
  body(endpoint: Endpoint, ask: Ask, quirks: Quirks): Record<string, unknown>
  read(frame: Frame): Part[]
  /** A JSON body that came instead of a stream. */
  readBody(body: unknown): Part[]
}
