import type { SessionHead } from '../../contract/session'
import type { Connection } from '../driver'
import type { Held } from './held'

/** Everything of a deleted session leaves but its id, the names of the foreign rows that it knew, its profile, its last event and its tombstone in the list. */
export function wipe(db: Connection, { record, open }: Held): void {
  for (const table of ['queue', 'beside', 'rows', 'turns', 'retracted', 'runs', 'context_rows', 'context', 'receipts', 'events']) db.run(`DELETE FROM ${table} WHERE sid = ?`, record.sid)
  db.run('UPDATE foreign_rows SET row = NULL WHERE sid = ?', record.sid)
  record.deleted = 1
  record.run = null
  record.queueSeq = 0
  record.queueRev = 0
  record.head = JSON.stringify({ ...BLANK, id: record.id, profile: record.profile, seq: record.seq })
  open.clear()
}

const BLANK: Omit<SessionHead, 'id' | 'profile' | 'seq'> = {
  title: '', titleBy: 'provisional', workspace: '', agent: null, model: null, source: 'talaria', pinned: false, archived: false, createdAt: 0, lastAt: 0, count: 0,
}
