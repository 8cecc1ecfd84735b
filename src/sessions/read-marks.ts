import type { ListEntry } from '../../server/contract/listing'

/**
 * Which answers were seen on this device. `base`: everything up to it counts as seen, so that a first visit does not shout; `seen`: the
 * `lastAt` under which a chat was last looked at. Server's ms.
 */
export interface ReadMarks { base: number; seen: Record<string, number> }

/** So many chats are remembered one by one. */
const LIMIT = 400

export const NO_MARKS: ReadMarks = { base: -1, seen: {} }

export function isUnread(entry: ListEntry, marks: ReadMarks): boolean {
  if (marks.base < 0 || entry.state !== 'idle' || entry.outcome !== 'completed') return false
  return entry.lastAt > Math.max(marks.base, marks.seen[entry.id] ?? 0)
}

/** The marks after the first list was seen. */
export function firstMarks(marks: ReadMarks, entries: Iterable<ListEntry>): ReadMarks {
  if (marks.base >= 0) return marks
  let base = 0
  for (const entry of entries) base = Math.max(base, entry.lastAt)
  return { base, seen: {} }
}

/** The marks after a chat was looked at. The same object when nothing changed. */
export function markSeen(marks: ReadMarks, id: string, lastAt: number): ReadMarks {
  if ((marks.seen[id] ?? 0) >= lastAt) return marks
  const kept = Object.entries({ ...marks.seen, [id]: lastAt }).sort((a, b) => b[1] - a[1])
  return { base: marks.base, seen: Object.fromEntries(kept.slice(0, LIMIT)) }
}

/** Reads what was kept; anything else than marks is no marks. */
export function parseMarks(text: string | null): ReadMarks {
  try {
    const value = JSON.parse(text ?? '') as ReadMarks
    if (typeof value.base === 'number' && value.seen && typeof value.seen === 'object') return value
  } catch {
    // Nothing was kept, or something else was: start anew.
  }
  return NO_MARKS
}
