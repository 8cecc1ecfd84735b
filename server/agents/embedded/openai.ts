import type { Usage } from '../../contract/session'
import { isObject, messageOf } from '../../models/words'
import type { Ask, CallFragment, Dialect, FinishReason, Part, Quirks } from './dialect'
import { withoutPictures } from './given'
import type { Message, UserMessage } from './messages'

/** Chat completions as OpenAI, Ollama, LM Studio, vLLM, llama.cpp, OpenRouter and many more speak them. */
export const openai: Dialect = {
  alwaysEnds: false,
  url: (endpoint) => `${endpoint.baseUrl}/chat/completions`,
  headers: (endpoint) => ({ ...endpoint.headers, ...(endpoint.key !== null && { authorization: `Bearer ${endpoint.key}` }) }),
  body: (endpoint, ask, quirks) => ({
    model: endpoint.model,
    messages: [{ role: 'system', content: ask.system }, ...ask.messages.map((m) => shaped(m, quirks))],
    ...tools(ask, quirks),
    ...limit(quirks.maxTokens ?? endpoint.maxTokens, quirks),
    stream: true,
    ...(!quirks.noUsageOption && { stream_options: { include_usage: true } }),
  }),
  read: ({ event, data }) => {
    if (event === 'error') return failure(parsed(data) ?? data, 'The model server reported an error without words.')
    // Named events are a server's own progress marks (R231): never answer text.
    if (event !== '' && event !== 'message') return []
    if (data === null) return []
    if (data.trim() === '[DONE]') return [{ type: 'done' }]
    const whole = parsed(data)
    if (whole !== undefined) return readChunk(whole)
    // Servers that leave out the blank line between events.
    return data.split('\n').flatMap((line) => {
      if (line.trim() === '') return []
      if (line.trim() === '[DONE]') return [{ type: 'done' as const }]
      const chunk = parsed(line)
      return chunk === undefined ? [{ type: 'skipped' as const }] : readChunk(chunk)
    })
  },
  readBody: (body) => [...readChunk(body), { type: 'done' }],
}

function limit(tokens: number | undefined, quirks: Quirks): Record<string, number> {
  if (tokens === undefined) return {}
  return quirks.completionTokens ? { max_completion_tokens: tokens } : { max_tokens: tokens }
}

function tools(ask: Ask, quirks: Quirks): Record<string, unknown> {
  if (quirks.noTools || ask.tools.length === 0) return {}
  return { tools: ask.tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } })) }
}

function shaped(m: Message, quirks: Quirks): Record<string, unknown> {
  if (m.role === 'user') return { role: 'user', content: quirks.noImages ? withoutPictures(m) : contentFor(m) }
  if (m.role === 'tool') return { role: 'tool', tool_call_id: m.call, content: m.result }
  const calls = m.calls ?? []
  return {
    role: 'assistant',
    content: m.text === '' && calls.length > 0 ? null : m.text,
    ...(quirks.echoReasoning && m.reasoning && calls.length > 0 && { reasoning_content: m.reasoning }),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.args } })) }),
  }
}

/** Text alone stays text: not every server takes parts. */
function contentFor({ text, images }: UserMessage): unknown {
  if (!images) return text
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...images.map(({ mime, data }) => ({ type: 'image_url', image_url: { url: `data:${mime};base64,${data ?? ''}` } }))]
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}

function readChunk(chunk: unknown): Part[] {
  if (!isObject(chunk)) return [{ type: 'skipped' }]
  const choice = Array.isArray(chunk.choices) ? (chunk.choices.find((c) => isObject(c) && (c.index ?? 0) === 0) as unknown) : undefined
  if (chunk.error !== undefined && chunk.error !== null) return failure(chunk, 'The model server reported an error without words.')
  if (chunk.object === 'error' || (chunk.choices === undefined && (chunk.detail !== undefined || chunk.type === 'error'))) return failure(chunk, 'The model server reported an error without words.')
  const usage = readUsage(chunk.usage)
  return [...(isObject(choice) ? readChoice(choice) : []), ...(usage ? [{ type: 'usage' as const, usage }] : [])]
}

function readChoice(choice: Record<string, unknown>): Part[] {
  const out: Part[] = []
  const delta = isObject(choice.delta) ? choice.delta : null
  const message = isObject(choice.message) ? choice.message : null
  const said = delta ?? message
  const finish = choice.finish_reason
  if (said) {
    const { text, thought } = contentOf(said.content)
    const reasoning = thought || reasoningOf(said)
    // Some mirror the answer in the reasoning field (R227).
    if (reasoning !== '' && reasoning !== text) out.push({ type: 'reasoning', delta: reasoning })
    if (text !== '') out.push(delta ? { type: 'text', delta: text, ...(finish != null && { last: true }) } : { type: 'whole', text })
    if (typeof said.refusal === 'string' && said.refusal !== '' && text === '') out.push({ type: 'text', delta: said.refusal })
    for (const fragment of fragmentsOf(said)) out.push({ type: 'call', fragment })
  }
  if (delta && message) {
    const { text } = contentOf(message.content)
    if (text !== '') out.push({ type: 'whole', text })
  }
  if (finish === 'error') out.push(...failure(choice.error ?? said?.error ?? choice, 'The model server ended the answer with an error.'))
  else if (typeof finish === 'string' && finish !== '') out.push({ type: 'finish', reason: reasonOf(finish) })
  return out
}

function contentOf(content: unknown): { text: string; thought: string } {
  if (typeof content === 'string') return { text: content, thought: '' }
  let text = ''
  let thought = ''
  if (Array.isArray(content))
    for (const part of content) {
      if (!isObject(part)) continue
      if (typeof part.text === 'string') text += part.text
      if (part.type === 'thinking') thought += contentOf(part.thinking).text
    }
  return { text, thought }
}

function reasoningOf(said: Record<string, unknown>): string {
  for (const name of ['reasoning_content', 'reasoning', 'thinking']) {
    const value = said[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return Array.isArray(said.reasoning_details) ? contentOf(said.reasoning_details).text : ''
}

function fragmentsOf(said: Record<string, unknown>): CallFragment[] {
  const list = Array.isArray(said.tool_calls) ? said.tool_calls : isObject(said.function_call) ? [{ function: said.function_call }] : []
  return list.flatMap((item: unknown) => {
    if (!isObject(item)) return []
    const fn = isObject(item.function) ? item.function : {}
    const args = typeof fn.arguments === 'string' ? fn.arguments : isObject(fn.arguments) ? JSON.stringify(fn.arguments) : undefined
    return [{ index: typeof item.index === 'number' ? item.index : undefined, id: textual(item.id), name: textual(fn.name), args }]
  })
}

function textual(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function reasonOf(finish: string): FinishReason {
  if (finish === 'tool_calls' || finish === 'function_call' || finish === 'tool_use') return 'calls'
  if (finish === 'length' || finish === 'max_tokens' || finish === 'model_length') return 'length'
  return finish === 'content_filter' ? 'filter' : 'stop'
}

function readUsage(usage: unknown): Usage | null {
  if (!isObject(usage)) return null
  const inner = (name: string): Record<string, unknown> => (isObject(usage[name]) ? (usage[name] as Record<string, unknown>) : {})
  const found: Usage = {
    input: count(usage.prompt_tokens), output: count(usage.completion_tokens),
    cached: count(inner('prompt_tokens_details').cached_tokens) ?? count(usage.prompt_cache_hit_tokens),
    reasoning: count(inner('completion_tokens_details').reasoning_tokens), cost: count(usage.cost),
  }
  const known = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)) as Usage
  return Object.keys(known).length > 0 ? known : null
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

function failure(body: unknown, otherwise: string): Part[] {
  const error = isObject(body) && isObject(body.error) ? body.error : isObject(body) ? body : {}
  const number = Number(error.status ?? error.code)
  const code = textual(error.type) ?? textual(error.code)
  return [{ type: 'failure', words: messageOf(body) ?? otherwise, ...(number >= 400 && number < 600 && { status: number }), ...(code !== undefined && { code }) }]
}
