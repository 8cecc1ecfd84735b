import type { Connection } from '../driver'
import { StoreRefusal, type ForeignRow } from '../port'

/** Rows of a foreign store are known once: one that is known as another row, as none, or in another chat refuses the entry. */
export function writeForeign(db: Connection, sid: number, foreign: readonly ForeignRow[]): void {
  for (const { store, session, row, ours } of foreign) {
    const standing = ours !== null && db.get('SELECT 1 AS found FROM retracted WHERE sid = ? AND id = ?', sid, ours) ? null : ours
    const known = db.get<{ sid: number; row: string | null }>('SELECT sid, row FROM foreign_rows WHERE store = ? AND session = ? AND id = ?', store, session, row)
    if (known && (known.sid !== sid || known.row !== standing)) throw new StoreRefusal('mapped')
    if (!known) db.run('INSERT INTO foreign_rows (store, session, id, sid, row) VALUES (?, ?, ?, ?, ?)', store, session, row, sid, standing)
  }
}

/** Rows that leave do not come back from where they came from. */
export function buryForeign(db: Connection, sid: number, rows: Iterable<string>): void {
  for (const row of rows) db.run('UPDATE foreign_rows SET row = NULL WHERE sid = ? AND row = ?', sid, row)
}
