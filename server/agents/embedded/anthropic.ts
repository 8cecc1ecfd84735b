import type { Usage } from '../../contract/session'
import { isObject, messageOf } from '../../models/words'
import type { Ask, Dialect, FinishReason, Part, Quirks } from './dialect'
import { withoutPictures } from './given'
import type { Message, UserMessage } from './messages'

/** Tokens that one answer may have, where nothing is configured: the API demands a number. */
const MAX_TOKENS = 8192

/** Messages as Anthropic speaks them. */
export const anthropic: Dialect = {
  alwaysEnds: true,
  url: (endpoint) => `${endpoint.baseUrl}/messages`,
  headers: (endpoint) => ({ 'anthropic-version': '2023-06-01', ...endpoint.headers, ...(endpoint.key !== null && { 'x-api-key': endpoint.key }) }),
  body: (endpoint, ask, quirks) => ({
    model: endpoint.model,
    max_tokens: quirks.maxTokens ?? endpoint.maxTokens ?? MAX_TOKENS,
    system: ask.system,
    messages: turns(ask.messages, quirks),
    ...tools(ask, quirks),
    stream: true,
  }),
  read: ({ event, data }) => {
    let value: unknown
    try {
      value = data === null ? null : JSON.parse(data)
    } catch {
      value = undefined
    }
    if (event === 'error' || (isObject(value) && value.type === 'error')) return failure(value ?? data)
    if (data === null || data.trim() === '[DONE]') return []
    return isObject(value) ? readEvent(value) : [{ type: 'skipped' }]
  },
  readBody: (body) => {
    if (!isObject(body)) return [{ type: 'skipped' }]
    if (body.type === 'error') return failure(body)
    const blocks = Array.isArray(body.content) ? body.content : []
    return [
      ...blocks.flatMap((block: unknown, index) => (isObject(block) ? [...blockStart(block, index), ...blockWhole(block, index)] : [])),
      ...usage(body.usage), ...finish(body.stop_reason), { type: 'done' },
    ]
  },
}

function tools(ask: Ask, quirks: Quirks): Record<string, unknown> {
  if (quirks.noTools || ask.tools.length === 0) return {}
  return { tools: ask.tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })) }
}

/** Roles alternate; results stand at the head of the user message behind their calls; text blocks are never empty. */
function turns(messages: Message[], quirks: Quirks): { role: string; content: unknown[] }[] {
  const out: { role: string; content: unknown[] }[] = []
  for (const m of messages) {
    const role = m.role === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(m, quirks)
    const last = out[out.length - 1]
    if (last?.role === role) last.content.push(...blocks)
    else if (blocks.length > 0) out.push({ role, content: blocks })
  }
  return out
}

function blocksOf(m: Message, quirks: Quirks): unknown[] {
  if (m.role === 'user') return blocksFor(m, quirks)
  if (m.role === 'tool') return [{ type: 'tool_result', tool_use_id: safeId(m.call), content: m.result === '' ? '(nothing)' : m.result, ...(m.failed && { is_error: true }) }]
  const thought = m.reasoning && m.signature && m.calls ? [{ type: 'thinking', thinking: m.reasoning, signature: m.signature }] : []
  const text = m.text.trim() === '' ? [] : [{ type: 'text', text: m.text.trimEnd() }]
  return [...thought, ...text, ...(m.calls ?? []).map((call) => ({ type: 'tool_use', id: safeId(call.id), name: call.name, input: JSON.parse(call.args) as unknown }))]
}

function blocksFor(m: UserMessage, quirks: Quirks): unknown[] {
  const images = quirks.noImages ? [] : (m.images ?? [])
  const text = quirks.noImages ? withoutPictures(m) : m.text
  const shown = images.map(({ mime, data }) => ({ type: 'image', source: { type: 'base64', media_type: mime, data: data ?? '' } }))
  return text.trim() === '' && shown.length > 0 ? shown : [...shown, { type: 'text', text: text.trim() === '' ? '(empty)' : text }]
}

/** The API takes ids of another provider only in this alphabet. */
function safeId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '_')
}

function readEvent(value: Record<string, unknown>): Part[] {
  const index = typeof value.index === 'number' ? value.index : 0
  switch (value.type) {
    case 'message_start': return usage(isObject(value.message) ? value.message.usage : null)
    case 'content_block_start': return isObject(value.content_block) ? blockStart(value.content_block, index) : [{ type: 'skipped' }]
    case 'content_block_delta': return isObject(value.delta) ? blockDelta(value.delta, index) : [{ type: 'skipped' }]
    case 'message_delta': return [...usage(value.usage), ...finish(isObject(value.delta) ? value.delta.stop_reason : null)]
    case 'message_stop': return [{ type: 'done' }]
    default: return []
  }
}

function blockStart(block: Record<string, unknown>, index: number): Part[] {
  if (block.type === 'text' && typeof block.text === 'string' && block.text !== '') return [{ type: 'text', delta: block.text }]
  if (block.type === 'thinking' && typeof block.thinking === 'string' && block.thinking !== '') return [{ type: 'reasoning', delta: block.thinking }]
  if (block.type !== 'tool_use') return []
  return [{ type: 'call', fragment: { index, id: typeof block.id === 'string' ? block.id : undefined, name: typeof block.name === 'string' ? block.name : undefined } }]
}

/** What only a block that came whole carries. */
function blockWhole(block: Record<string, unknown>, index: number): Part[] {
  if (block.type === 'thinking' && typeof block.signature === 'string') return [{ type: 'signature', signature: block.signature }]
  return block.type === 'tool_use' ? [{ type: 'call', fragment: { index, args: JSON.stringify(block.input ?? {}) } }] : []
}

function blockDelta(delta: Record<string, unknown>, index: number): Part[] {
  if (delta.type === 'text_delta' && typeof delta.text === 'string') return [{ type: 'text', delta: delta.text }]
  if (delta.type === 'thinking_delta' && typeof delta.thinking === 'string') return [{ type: 'reasoning', delta: delta.thinking }]
  if (delta.type === 'signature_delta' && typeof delta.signature === 'string') return [{ type: 'signature', signature: delta.signature }]
  if (delta.type === 'input_json_delta' && typeof delta.partial_json === 'string') return [{ type: 'call', fragment: { index, args: delta.partial_json } }]
  return []
}

function usage(value: unknown): Part[] {
  if (!isObject(value)) return []
  const read = (name: string): number | undefined => (typeof value[name] === 'number' ? (value[name] as number) : undefined)
  const input = read('input_tokens')
  const cached = read('cache_read_input_tokens')
  const found: Usage = {}
  // Its `input_tokens` leaves out what came from the cache.
  if (input !== undefined) found.input = input + (cached ?? 0) + (read('cache_creation_input_tokens') ?? 0)
  if (cached !== undefined) found.cached = cached
  const output = read('output_tokens')
  if (output !== undefined) found.output = output
  return Object.keys(found).length > 0 ? [{ type: 'usage', usage: found }] : []
}

function finish(stop: unknown): Part[] {
  if (typeof stop !== 'string') return []
  const reason: FinishReason = stop === 'tool_use' ? 'calls' : stop === 'max_tokens' || stop === 'model_context_window_exceeded' ? 'length' : stop === 'refusal' ? 'filter' : 'stop'
  return [{ type: 'finish', reason }]
}

function failure(body: unknown): Part[] {
  const error = isObject(body) && isObject(body.error) ? body.error : {}
  return [{ type: 'failure', words: messageOf(body) ?? 'The model server reported an error without words.', ...(typeof error.type === 'string' && { code: error.type }) }]
}
