import type { Touched } from '../../contract/fold'
import type { Row } from '../../contract/rows'
import type { Turn } from '../../contract/session'
import type { Connection } from '../driver'
import { textFor } from '../read/records'
import { forgetRows } from './extras'
import { isOpen, type Held } from './held'

/** What an entry did to the fold, and what that means for the tables. */
export interface Written {
  touched: Touched
  /** Ids of rows and turns that the entry opened. */
  opened: Set<string>
  /** Rows whose text is written whole: shortened or closed. */
  whole: Set<string>
  /** Text that rows gained. */
  grown: Map<string, string>
}

/** Writes exactly the turns and rows that were touched. Growth is one piece per row and entry, whatever the row's length. */
export function writeItems(db: Connection, { record: { sid }, tail }: Held, written: Written, rev: number): void {
  const { touched, opened, whole, grown } = written
  for (const id of touched.turns) {
    const turn = tail.turns.get(id)
    if (!turn) continue
    if (opened.has(id)) insertTurn(db, sid, turn, rev)
    else db.run('UPDATE turns SET rev = ?, turn = ? WHERE sid = ? AND id = ?', rev, JSON.stringify(turn), sid, id)
  }
  for (const id of touched.rows) {
    const row = tail.rows.get(id)
    if (!row) continue
    if (opened.has(id)) insertRow(db, sid, row, rev)
    else updateRow(db, sid, row, rev, whole.has(id), grown.get(id))
  }
  for (const [id, text] of touched.grew) {
    const { seq } = tail.rows.get(id)!
    db.run('UPDATE rows SET seq = ?, rev = ? WHERE sid = ? AND id = ?', seq, rev, sid, id)
    addPiece(db, sid, id, seq, text)
  }
}

/** Retracted rows and turns leave; their ids stay as tombstones for catch-up. */
export function writeRemoved(db: Connection, { record: { sid } }: Held, removed: ReadonlySet<string>, rev: number): void {
  for (const id of removed) {
    db.run('DELETE FROM rows WHERE sid = ? AND id = ?', sid, id)
    db.run('DELETE FROM turns WHERE sid = ? AND id = ?', sid, id)
    db.run('INSERT OR REPLACE INTO retracted (sid, id, rev) VALUES (?, ?, ?)', sid, id, rev)
  }
  if (removed.size > 0) forgetRows(db, sid, removed)
}

export function insertTurn(db: Connection, sid: number, turn: Turn, rev: number): void {
  db.run('INSERT INTO turns (sid, id, pos, rev, turn) VALUES (?, ?, ?, ?, ?)', sid, turn.id, turn.pos, rev, JSON.stringify(turn))
}

export function insertRow(db: Connection, sid: number, row: Row, rev: number): void {
  db.run('INSERT INTO rows (sid, id, turn, pos, seq, rev, open, row, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    sid, row.id, row.turn, row.pos, row.seq, rev, isOpen(row) ? 1 : 0, headOf(row), textFor(row.text))
}

function updateRow(db: Connection, sid: number, row: Row, rev: number, whole: boolean, grown: string | undefined): void {
  const open = isOpen(row) ? 1 : 0
  if (!whole) {
    db.run('UPDATE rows SET seq = ?, rev = ?, open = ?, row = ? WHERE sid = ? AND id = ?', row.seq, rev, open, headOf(row), sid, row.id)
    if (grown) addPiece(db, sid, row.id, row.seq, grown)
    return
  }
  db.run('UPDATE rows SET seq = ?, rev = ?, open = ?, row = ?, text = ? WHERE sid = ? AND id = ?', row.seq, rev, open, headOf(row), textFor(row.text), sid, row.id)
  db.run('DELETE FROM row_text WHERE rid = (SELECT rid FROM rows WHERE sid = ? AND id = ?)', sid, row.id)
}

/** A row's pieces are numbered by the `seq` of their last event, which only rises. */
function addPiece(db: Connection, sid: number, id: string, seq: number, text: string): void {
  db.run('INSERT INTO row_text (rid, n, text) SELECT rid, ?, ? FROM rows WHERE sid = ? AND id = ?', seq, textFor(text), sid, id)
}

function headOf(row: Row): string {
  const { seq: _seq, text: _text, ...head } = row
  return JSON.stringify(head)
}
