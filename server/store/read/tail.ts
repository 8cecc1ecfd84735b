import { emptyTranscript } from '../../contract/fold'
import { insertRow } from '../../contract/order'
import type { Row } from '../../contract/rows'
import type { Transcript } from '../../contract/session'
import type { Connection } from '../driver'
import { headOf, readQueue, readRows, readTurn, readTurns, type SessionRecord } from './records'

/** The end of a transcript, complete from the last turn's `pos` on: what the fold needs to go on. */
export function readTail(db: Connection, session: SessionRecord): Transcript {
  const tail = emptyTranscript()
  tail.seq = session.seq
  if (session.deleted) return { ...tail, deleted: true }
  tail.session = headOf(session)
  tail.queue = readQueue(db, session)
  const last = readTurns(db, 'sid = ? ORDER BY pos DESC LIMIT 1', session.sid)[0]
  if (!last) return tail
  tail.turns.set(last.id, last)
  const before = db.get('SELECT 1 AS found FROM rows WHERE sid = ? AND pos < ? LIMIT 1', session.sid, last.pos)
  tail.from = before ? last.pos : ''
  for (const row of readRows(db, 'sid = ? AND turn = ?', session.sid, last.id)) insertRow(tail, row)
  for (const row of readRows(db, 'sid = ? AND pos > ?', session.sid, last.pos)) take(db, session.sid, tail, row)
  return tail
}

/** Brings in the rows that are open in earlier turns too, because settling asks for them. */
export function takeOpen(db: Connection, sid: number, tail: Transcript): void {
  for (const row of readRows(db, 'sid = ? AND open = 1', sid)) take(db, sid, tail, row)
}

/** Brings an older row, and its turn, into the tail, so that the fold can apply an event that names it. Unknown ids are left out. */
export function takeRow(db: Connection, sid: number, tail: Transcript, id: string): void {
  if (tail.rows.has(id)) return
  for (const found of readRows(db, 'sid = ? AND id = ?', sid, id)) take(db, sid, tail, found)
}

export function takeTurn(db: Connection, sid: number, tail: Transcript, id: string): void {
  if (tail.turns.has(id)) return
  const found = readTurn(db, sid, id)
  if (found) tail.turns.set(id, found)
}

function take(db: Connection, sid: number, tail: Transcript, row: Row): void {
  if (!tail.rows.has(row.id)) insertRow(tail, row)
  takeTurn(db, sid, tail, row.turn)
}
