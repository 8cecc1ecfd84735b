import { textOf } from './protocol/rest'
import type { HermesMessage } from './protocol/rest'

/** The answer that a turn ended with, as it is stored; null where it has none, and so did not end by itself. */
export function answerIn(rows: readonly HermesMessage[]): string | null {
  const last = rows.at(-1)
  const text = last?.role === 'assistant' ? textOf(last) : ''
  return text.trim() !== '' && (last?.tool_calls ?? []).length === 0 && !text.startsWith('Operation interrupted') ? text : null
}

/** Rows of the turn: from the first user row that was not there before it, up to the next one. */
export function turnRows(rows: readonly HermesMessage[], before: number | undefined): HermesMessage[] {
  const users = rows.flatMap(({ role }, i) => (role === 'user' ? [i] : []))
  const first = before === undefined ? users.at(-1) : users.find((i) => i >= before)
  if (first === undefined) return []
  return rows.slice(first, users.find((i) => i > first) ?? rows.length)
}

/** What tools answered, by their call. */
export function resultsIn(rows: readonly HermesMessage[]): Map<string, string> {
  return new Map(rows.flatMap((row) => (row.role === 'tool' && row.tool_call_id !== undefined ? [[row.tool_call_id, textOf(row)] as const] : [])))
}

/** Calls that the model made, in order. */
export function callsIn(rows: readonly HermesMessage[]): Map<string, { name: string; args?: Record<string, unknown> }> {
  return new Map(rows.flatMap(({ tool_calls: calls }) => (calls ?? []).flatMap((call) => {
    const { id, function: named } = call as { id?: unknown; function?: { name?: unknown; arguments?: unknown } }
    if (typeof id !== 'string' || typeof named?.name !== 'string') return []
    const args = argsIn(named.arguments)
    return [[id, { name: named.name, ...(args ? { args } : {}) }] as const]
  })))
}

function argsIn(text: unknown): Record<string, unknown> | undefined {
  try {
    const value: unknown = typeof text === 'string' ? JSON.parse(text) : text
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
