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
    return { head: headOf(session), deleted: session.deleted === 1, seq, rev, generation, n, pos, tail: readTail(db, session), beside: beside(db, session.sid) }
  })
}
