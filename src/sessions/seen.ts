import { attentionOf, type Attention, type ListEntry } from '../../server/contract/listing'

/** What a person saw on this device and the server has not confirmed yet: the highest `seq` by chat. */
export type Seen = Readonly<Record<string, number>>

/** Why a chat asks for a look, with what was seen here meanwhile. A chat that was stopped asks for none: who stopped it knows. */
export function attentionHere(entry: ListEntry, seen: Seen): Attention | null {
  const attention = attentionOf({ ...entry, read: Math.max(entry.read ?? 0, seen[entry.id] ?? 0) })
  return attention === 'unread' && entry.outcome !== 'completed' ? null : attention
}

/** The higher of two marks counts. The same object when nothing moves. */
export function markSeen(seen: Seen, id: string, seq: number): Seen {
  return (seen[id] ?? 0) >= seq ? seen : { ...seen, [id]: seq }
}

/** Without a mark that the server holds now, unless it has moved on here. The same object when nothing changes. */
export function confirmed(seen: Seen, id: string, seq: number): Seen {
  if (!(id in seen) || seen[id]! > seq) return seen
  const { [id]: _, ...rest } = seen
  return rest
}

/** Reads what was kept; anything else than marks is none. */
export function parseSeen(text: string | null): Seen {
  try {
    const value = JSON.parse(text ?? '') as Record<string, unknown>
    return Object.fromEntries(Object.entries(value).filter((mark): mark is [string, number] => typeof mark[1] === 'number'))
  } catch {
    return {}
  }
}
