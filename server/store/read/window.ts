import type { Changes, Cursor } from '../../contract/wire'
import type { Row } from '../../contract/rows'
import type { Turn } from '../../contract/session'
import type { Connection } from '../driver'
import { headOf, inSnapshot, readQueue, readRev, readRows, readSession, readTurn, readTurns, type SessionRecord } from './records'

/** After every `pos` that is ever given out: those begin with a digit or a small letter. */
const END = '~'

/** `Store.window`: one snapshot, O(rows asked for). */
export function window(db: Connection, store: string, id: string, opts: { limit: number; before?: string }): Changes | null {
  return inSnapshot(db, () => {
    const session = readSession(db, id)
    return !session || session.deleted ? null : windowOf(db, store, session, opts)
  })
}

/** `Store.changes`: one snapshot, O(what changed). */
export function changes(db: Connection, store: string, id: string, opts: { after: Cursor; from: string; limit: number }): Changes | null {
  return inSnapshot(db, () => {
    const session = readSession(db, id)
    if (!session || session.deleted) return null
    const after = revision(opts.after)
    if (after === null || after > readRev(db)) return { ...windowOf(db, store, session, opts), reset: true as const }
    const { sid } = session
    return {
      ...common(db, store, session),
      turns: readTurns(db, 'sid = ? AND rev > ? ORDER BY pos', sid, after),
      rows: readRows(db, 'sid = ? AND rev > ? AND pos >= ? ORDER BY pos', sid, after, opts.from),
      retracted: db.all<{ id: string }>('SELECT id FROM retracted WHERE sid = ? AND rev > ? ORDER BY rev, id', sid, after).map((gone) => gone.id),
      from: opts.from,
      ...(session.queueRev > after && { queue: readQueue(db, session) }),
    }
  })
}

/** A cursor as a revision; null for what this store never gave out. */
export function revision(cursor: Cursor): number | null {
  return /^\d{1,15}$/.test(cursor) ? Number(cursor) : null
}

function windowOf(db: Connection, store: string, session: SessionRecord, opts: { limit: number; before?: string }): Changes {
  const limit = Math.max(1, opts.limit)
  const rows = readRows(db, 'sid = ? AND pos < ? ORDER BY pos DESC LIMIT ?', session.sid, opts.before ?? END, limit + 1)
  const more = rows.length > limit
  if (more) rows.pop()
  rows.reverse()
  return { ...common(db, store, session), turns: turnsOf(db, session.sid, rows), rows, queue: readQueue(db, session), retracted: [], from: more ? rows[0]!.pos : '' }
}

/** The turns of these rows, also where the turn began before them. */
function turnsOf(db: Connection, sid: number, rows: readonly Row[]): Turn[] {
  const turns = new Map<string, Turn>()
  for (const row of rows) {
    const turn = turns.has(row.turn) ? undefined : readTurn(db, sid, row.turn)
    if (turn) turns.set(turn.id, turn)
  }
  return [...turns.values()]
}

function common(db: Connection, store: string, session: SessionRecord): Pick<Changes, 'store' | 'session' | 'seq' | 'cursor'> {
  return { store, session: headOf(session), seq: session.seq, cursor: String(readRev(db)) }
}
