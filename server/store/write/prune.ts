import type { Connection } from '../driver'

/** How many events are looked at for each that may go, before a call that has removed some ends. */
const LOOK = 20

interface Due { id: string; sid: number; keptFrom: number }
interface Logged { seq: number; rev: number; type: string; run: string | null }

/**
 * `Store.prune`, one short transaction. Runs come in the order in which they settled; `kept_from` remembers how far each has been looked at, so that no event is met twice. What goes is said
 * by its revision, so that no reader is replayed a log with a hole.
 */
export function prune(db: Connection, { settledBefore, limit }: { settledBefore: number; limit: number }): number {
  let gone = 0
  if (db.inTransaction) db.exec('ROLLBACK')
  db.exec('BEGIN IMMEDIATE')
  try {
    for (let looked = 0; gone < limit && (gone === 0 || looked < limit * LOOK); ) {
      const due = db.get<Due>('SELECT id, sid, kept_from AS keptFrom FROM runs WHERE kept_from IS NOT NULL AND settled_at < ? ORDER BY settled_at LIMIT 1', settledBefore)
      if (!due) break
      const chunk = db.all<Logged>(
        `SELECT seq, rev, json_extract(event, '$.type') AS type, json_extract(event, '$.run') AS run FROM events WHERE sid = ? AND seq > ? ORDER BY seq LIMIT ?`, due.sid, due.keptFrom, limit - gone)
      looked += chunk.length + 1
      gone += pruneRun(db, due, chunk)
    }
    db.exec('COMMIT')
    return gone
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Events of a run stand between its start and its end; what belongs to none, or is no row's, stays. */
function pruneRun(db: Connection, { id, sid }: Due, chunk: readonly Logged[]): number {
  let keptFrom: number | null = null
  let gone = 0
  let rev = 0
  for (const logged of chunk) {
    keptFrom = logged.seq
    if (logged.run !== id) continue
    if (logged.type === 'run.settled') {
      keptFrom = null
      break
    }
    if (!logged.type.startsWith('row.')) continue
    db.run('DELETE FROM events WHERE sid = ? AND seq = ?', sid, logged.seq)
    rev = logged.rev
    gone++
  }
  db.run('UPDATE runs SET kept_from = ?, pruned = max(pruned, ?) WHERE id = ?', keptFrom, gone > 0 ? 1 : 0, id)
  if (gone > 0) db.run('UPDATE sessions SET pruned_rev = max(pruned_rev, ?) WHERE sid = ?', rev, sid)
  return gone
}
