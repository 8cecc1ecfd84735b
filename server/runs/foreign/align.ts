import type { StoredMessage } from '../../agents/port'
import type { Row } from '../../contract/rows'

/**
 * Rows of an agent's own store beside ours (spec/agents.md §7). Pure. What is known by its id is what it was; the rest is matched in order, by equal words or by the id of a
 * call, and only where it can be nothing else. What matches nothing and stands behind everything known is new. Nothing is guessed, and nothing comes twice.
 */
export interface Aligned {
  /** By the index of each stored message: our row that shows it; null: it was retracted here; undefined: it is new, or cannot be placed. */
  ours: (string | null | undefined)[]
  /** Index of the first new one; their number when there is none. */
  fresh: number
  /** Whether `ours` was known by its id before. */
  known: boolean[]
  /** The store was known and holds nothing of it any more: what is new there cannot be told from what we have. */
  strange: boolean
}

/** `known`: what was known of this stored session, by the ids of its rows. `rows`: all that stand here before the turn that is about to begin, in order. */
export function align(messages: readonly StoredMessage[], known: ReadonlyMap<string, string | null>, rows: readonly Row[]): Aligned {
  const ours = messages.map(({ id }) => known.get(id))
  const were = ours.map((row) => row !== undefined)
  const places = new Map(rows.map((row, i) => [row.id, i]))
  const lastKnown = ours.findLastIndex((row) => row !== undefined)
  let from = 0
  for (const row of ours) if (row) from = Math.max(from, (places.get(row) ?? -1) + 1)
  let matched = lastKnown
  for (let i = lastKnown + 1; i < messages.length; i++) {
    const message = messages[i]!
    const at = rows.findIndex((row, k) => (message.role === 'tool' || k >= from) && same(message, row))
    if (at < 0) continue
    ours[i] = rows[at]!.id
    if (message.role !== 'tool') from = at + 1
    matched = i
  }
  // A copy, a marker or a summary between rows that we have is no news.
  for (let i = 0; i <= matched; i++) ours[i] ??= were[i] ? null : nearest(ours, i, matched)
  return { ours, fresh: matched + 1, known: were, strange: matched < 0 && known.size > 0 && messages.length > 0 }
}

function same(message: StoredMessage, row: Row): boolean {
  if (message.role === 'tool') return row.kind === 'tool' && row.tool.call === message.call
  if (message.role === 'user') return row.kind === 'user' && plain(row.text) === plain(message.text)
  if (row.kind === 'answer' && message.text.trim() !== '' && plain(row.text) === plain(message.text)) return true
  return message.calls.some(({ call }) => row.kind === 'tool' && row.tool.call === call)
}

function nearest(ours: readonly (string | null | undefined)[], at: number, last: number): string | undefined {
  for (let i = at - 1; i >= 0; i--) if (ours[i]) return ours[i]!
  for (let i = at + 1; i <= last; i++) if (ours[i]) return ours[i]!
  return undefined
}

/** Words without the white space in which two programs may differ. */
export function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Whether a message begins something that is shown as a turn of its own: a person's words, or others that the agent has answered. */
export function asks(messages: readonly StoredMessage[], at: number): boolean {
  const message = messages[at]!
  return message.role === 'user' && (!message.synthetic || (message.synthetic === 'begins' && messages[at + 1]?.role === 'assistant'))
}

/**
 * What of a store belongs to the turn that has just ended: from the message that has its words to the next one that a person wrote. Rows before and behind it are another program's. `question` null: a
 * turn that the agent began, of which the first row of a user is the beginning.
 */
export function spanOf(messages: readonly StoredMessage[], known: ReadonlyMap<string, string | null>, question: string | null): { from: number; to: number } | null {
  const fresh = messages.flatMap((message, i) => (known.has(message.id) ? [] : [i]))
  const from = fresh.find((i) => {
    const message = messages[i]!
    return message.role === 'user' && (question === null || plain(message.text).includes(plain(question)))
  })
  if (from === undefined) return null
  const next = fresh.find((i) => i > from && messages[i]!.role === 'user' && !(messages[i] as { synthetic?: string }).synthetic)
  return { from, to: next ?? messages.length }
}

/** Our row for each message of a turn's span, in order: by call, by words, else the row before; the turn's question to begin with. */
export function attribute(span: readonly StoredMessage[], rows: readonly Row[], question: string): string[] {
  let last = question
  let from = 0
  return span.map((message) => {
    const at = rows.findIndex((row, k) => (message.role === 'tool' || k >= from) && same(message, row))
    if (at >= 0) {
      last = rows[at]!.id
      if (message.role !== 'tool') from = at + 1
    }
    return last
  })
}
