import { entryOf, sameEntry, type ListEntry } from '../../contract/listing'
import type { Connection } from '../driver'
import { listed } from '../read/list'
import type { Held } from './held'

/** What an entry did to the chat list. */
export interface Moved { entry?: ListEntry; removed?: true }

/** Writes the list entry, and moves its revision, only when a field of it changed; a deleted session leaves a tombstone without content. */
export function writeEntry(db: Connection, held: Held, rev: number): Moved {
  const { record, tail } = held
  if (tail.deleted) {
    db.run(`UPDATE list SET rev = ?, removed = 1, entry = '' WHERE sid = ?`, rev, record.sid)
    return { removed: true }
  }
  const fields = entryOf(tail)
  if (!fields || (held.entry && sameEntry(held.entry, fields))) return {}
  held.entry = fields
  db.run(`INSERT INTO list (sid, id, profile, rev, last_at, removed, entry) VALUES (?, ?, ?, ?, ?, 0, ?)
    ON CONFLICT (sid) DO UPDATE SET rev = excluded.rev, last_at = excluded.last_at, entry = excluded.entry`, record.sid, record.id, record.profile, rev, fields.lastAt, JSON.stringify(fields))
  return { entry: listed(fields, rev, held.read) }
}
