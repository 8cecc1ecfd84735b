import type { StoredContext } from '../port'

/**
 * What the model receives next, in no provider's shape. Stored by `runs/` with the turn (spec/log.md §4) and read back at the next one.
 * `args` is the text as the model wrote it, always a JSON object.
 */
export type Message = UserMessage | AssistantMessage | ToolMessage
export interface UserMessage { role: 'user'; text: string; images?: Picture[] }
/** `path`: where its bytes lie; absolute. `data`: the bytes as base64, in memory for one turn, never kept. */
export interface Picture { name: string; mime: string; path: string; data?: string }
export interface AssistantMessage { role: 'assistant'; text: string; reasoning?: string; signature?: string; calls?: ModelCall[] }
export interface ToolMessage { role: 'tool'; call: string; name: string; result: string; failed?: true }
export interface ModelCall { id: string; name: string; args: string }

/** What a call is answered whose end nobody recorded. */
export const LOST_RESULT = 'No result: the run ended while this was open. It is not known whether it ran.'

/** Reads stored messages; what is not one of ours is left out. */
export function fromStored(stored: StoredContext[]): { message: Message; turn: string }[] {
  return stored.flatMap(({ message, turn }) => (isMessage(message) ? [{ message, turn }] : []))
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false
  const m = value as Record<string, unknown>
  if (m.role === 'user') return typeof m.text === 'string' && (m.images === undefined || (Array.isArray(m.images) && m.images.every(isPicture)))
  if (m.role === 'tool') return typeof m.call === 'string' && typeof m.name === 'string' && typeof m.result === 'string'
  return m.role === 'assistant' && typeof m.text === 'string' && (m.calls === undefined || (Array.isArray(m.calls) && m.calls.every(isCall)))
}

function isPicture(value: unknown): value is Picture {
  const p = value as Picture | null
  return typeof p?.name === 'string' && typeof p.mime === 'string' && typeof p.path === 'string'
}

function isCall(value: unknown): value is ModelCall {
  const c = value as ModelCall | null
  return typeof c?.id === 'string' && typeof c.name === 'string' && typeof c.args === 'string'
}

/**
 * The same history in a form that strict providers take: it begins with a user message; user messages that stand together are one; each call
 * has exactly one result, the first that came after it, right behind it; no result without a call; no empty list of calls; no assistant message without content;
 * roles alternate, where results count as the other side's (spec/settlement.md §1.6). Nothing that a person said is left out.
 */
export function wellFormed(history: readonly Message[]): Message[] {
  const results = new Map<string, { at: number; message: ToolMessage }[]>()
  for (const [at, message] of history.entries()) if (message.role === 'tool') results.set(message.call, [...(results.get(message.call) ?? []), { at, message }])
  const asked = new Set<string>()
  const out: Message[] = []
  for (const [at, m] of history.entries()) {
    if (m.role === 'tool') continue
    const last = out[out.length - 1]
    if (m.role === 'user') {
      if (last?.role === 'user') out[out.length - 1] = { role: 'user', text: joined(last.text, m.text), ...pictures([...(last.images ?? []), ...(m.images ?? [])]) }
      else out.push({ role: 'user', text: m.text, ...pictures(m.images ?? []) })
      continue
    }
    const calls = (m.calls ?? []).filter((call) => !asked.has(call.id) && asked.add(call.id))
    if (last === undefined || (m.text.trim() === '' && calls.length === 0)) continue
    if (last.role === 'assistant' && calls.length === 0) {
      out[out.length - 1] = { ...last, text: joined(last.text, m.text) }
      continue
    }
    // A half answer before tools, such as one that broke off.
    const half = last.role === 'assistant' && last.calls === undefined ? last.text : ''
    if (last.role === 'assistant' && last.calls === undefined) out.pop()
    out.push({ role: 'assistant', text: joined(half, m.text), reasoning: m.reasoning, signature: m.signature, ...(calls.length > 0 && { calls }) })
    for (const call of calls) out.push(results.get(call.id)?.find((result) => result.at > at)?.message ?? { role: 'tool', call: call.id, name: call.name, result: LOST_RESULT, failed: true })
  }
  return out
}

function pictures(images: Picture[]): Pick<UserMessage, 'images'> {
  return images.length > 0 ? { images } : {}
}

function joined(a: string, b: string): string {
  return a.trim() === '' ? b : b.trim() === '' ? a : `${a}\n\n${b}`
}
