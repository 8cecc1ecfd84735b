import type { Row } from '../../contract/rows'
import { EMPTY_QUEUE, type Queue, type QueueItem } from '../../contract/queue'
import type { SessionHead, Turn } from '../../contract/session'
import type { Connection, Value } from '../driver'

/** How rows and turns stand in their tables, and how they come out again: equal, key by key, to what the fold made. */
export interface SessionRecord {
  sid: number
  id: string
  profile: string
  deleted: number
  seq: number
  rev: number
  generation: number
  run: string | null
  n: number
  pos: string
  head: string
  queueSeq: number
  queueRev: number
  prunedRev: number
}

interface RowRecord { rid: number; seq: number; open: number; row: string; text: string }

export function readSession(db: Connection, id: string): SessionRecord | undefined {
  return db.get<SessionRecord>('SELECT sid, id, profile, deleted, seq, rev, generation, run, n, pos, head, queue_seq AS queueSeq, queue_rev AS queueRev, pruned_rev AS prunedRev FROM sessions WHERE id = ?', id)
}

/** The highest committed revision, as this connection's snapshot sees it. */
export function readRev(db: Connection): number {
  return db.get<{ rev: number }>('SELECT rev FROM head')!.rev
}

/** Rows by a condition over the table `rows`; text is joined from its pieces where a row is still open. */
export function readRows(db: Connection, where: string, ...values: Value[]): Row[] {
  return db.all<RowRecord>(`SELECT rid, seq, open, row, text FROM rows WHERE ${where}`, ...values).map((record) => {
    const row = JSON.parse(record.row) as Omit<Row, 'seq' | 'text'>
    return { ...row, seq: record.seq, text: textOf(record.text) + (record.open ? pieces(db, record.rid) : '') } as Row
  })
}

/** Text is kept as a JSON string: SQLite's own would lose a NUL, and half a surrogate pair that a delta ended in. */
export function textFor(text: string): string {
  return JSON.stringify(text)
}

export function textOf(stored: string): string {
  return JSON.parse(stored) as string
}

function pieces(db: Connection, rid: number): string {
  return db.all<{ text: string }>('SELECT text FROM row_text WHERE rid = ? ORDER BY n', rid).map((piece) => textOf(piece.text)).join('')
}

export function readTurns(db: Connection, where: string, ...values: Value[]): Turn[] {
  return db.all<{ turn: string }>(`SELECT turn FROM turns WHERE ${where}`, ...values).map((record) => JSON.parse(record.turn) as Turn)
}

export function readTurn(db: Connection, sid: number, id: string): Turn | undefined {
  return readTurns(db, 'sid = ? AND id = ?', sid, id)[0]
}

/** The waiting messages of a session, in their order. */
export function readQueue(db: Connection, { sid, queueSeq }: SessionRecord): Queue {
  if (queueSeq === 0) return EMPTY_QUEUE
  const items = db.all<{ item: string }>('SELECT item FROM queue WHERE sid = ? ORDER BY place', sid)
  return { items: items.map(({ item }) => JSON.parse(item) as QueueItem), seq: queueSeq }
}

/** A deleted session keeps its id, its profile and nothing a person wrote. */
export function headOf(session: SessionRecord): SessionHead {
  return JSON.parse(session.head) as SessionHead
}

/** Runs reads in one snapshot. */
export function inSnapshot<T>(db: Connection, read: () => T): T {
  db.exec('BEGIN')
  try {
    return read()
  } finally {
    if (db.inTransaction) db.exec('COMMIT')
  }
}
