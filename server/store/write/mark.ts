import type { Connection } from '../driver'
import { StoreRefusal } from '../port'
import { listed } from '../read/list'
import type { Accepted } from './append'
import type { HeldSessions } from './held'

/** A person has seen a session up to this `seq`. It waits and commits beside appends, so that its revision takes its place in their order. */
export interface ReadMark { session: string; read: number }

/** Moves the mark at revision `rev` inside the open transaction; null when it stands there or further already. Throws `StoreRefusal` for a session that is not there. */
export function markRead(db: Connection, sessions: HeldSessions, mark: ReadMark, rev: number): Accepted | null {
  const held = sessions.get(mark.session)
  if (!held?.entry) throw new StoreRefusal('unknown_session')
  if (held.record.deleted) throw new StoreRefusal('deleted')
  const read = Math.min(mark.read, held.record.seq)
  if (read <= (held.read ?? 0)) return null
  held.read = read
  db.run('UPDATE list SET rev = ?, read = ? WHERE sid = ?', rev, read, held.record.sid)
  return { rev, profile: held.record.profile, entry: listed(held.entry, rev, read) }
}
