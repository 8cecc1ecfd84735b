import type { Connection } from '../driver'
import type { SessionState } from '../port'
import { headOf, inSnapshot, readSession } from './records'
import { beside } from './small'
import { readTail } from './tail'

/** `Store.load`. */
export function load(db: Connection, id: string): SessionState | null {
  return inSnapshot(db, () => {
    const session = readSession(db, id)
    if (!session) return null
    const { seq, rev, generation, n, pos } = session
    const read = db.get<{ read: number | null }>('SELECT read FROM list WHERE sid = ? AND removed = 0', session.sid)?.read ?? null
    return {
      head: headOf(session), deleted: session.deleted === 1, seq, rev, generation, n, pos, tail: readTail(db, session), ...(read === null ? {} : { read }), beside: beside(db, session.sid),
    }
  })
}
