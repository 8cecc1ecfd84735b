import type { ImportBatch } from '../../contract/fold'
import type { Connection } from '../driver'
import { insertRow, insertTurn } from './items'

/** Writes what was imported, also where it stands before the part that the writer holds. */
export function writeImported(db: Connection, sid: number, { turns, rows }: ImportBatch, rev: number): void {
  for (const turn of turns) insertTurn(db, sid, turn, rev)
  for (const row of rows) insertRow(db, sid, row, rev)
}
