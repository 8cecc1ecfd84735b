import { outside } from './apply-rows'
import { changeHead } from './apply-runs'
import type { EventOf } from './events'
import { insertRow, removeRows } from './order'
import type { Row } from './rows'
import type { Transcript, Turn } from './session'
import type { Touched } from './touched'

/** Rows that one append may import (spec/log.md §3): what a long history takes, other chats do not wait for. */
export const IMPORT_LIMIT = 200

/**
 * What one `rows.imported` brings: new turns, and rows of them or of turns that stand, all with the event's `seq`, closed, and numbered and placed like any other. What of it
 * was retracted later is missing when it is read again.
 */
export interface ImportBatch { turns: Turn[]; rows: Row[] }

/** Takes the batch in and what it replaces out. Answers false, with nothing changed, for rows of a turn that neither stands nor comes with them. */
export function importRows(value: Transcript, event: EventOf<'rows.imported'>, batch: ImportBatch, touched: Touched): boolean {
  const coming = new Set(batch.turns.map(({ id }) => id))
  const rows = batch.rows.filter((row) => row.pos >= value.from)
  if (rows.some((row) => !coming.has(row.turn) && !value.turns.has(row.turn))) return false
  if (rows.length < batch.rows.length || event.replaced.some((id) => !value.rows.has(id))) outside(value, event.seq)
  removeRows(value, event.replaced)
  for (const id of event.replaced) touched.removed.add(id)
  const needed = new Set(rows.map((row) => row.turn))
  for (const turn of batch.turns) {
    if (value.turns.has(turn.id) || !needed.has(turn.id)) continue
    value.turns.set(turn.id, turn)
    touched.turns.add(turn.id)
  }
  for (const row of rows) {
    if (value.rows.has(row.id)) continue
    insertRow(value, row)
    touched.rows.add(row.id)
  }
  changeHead(value, event.seq, touched, (head) => ({ count: head.count + event.counted, lastAt: Math.max(head.lastAt, event.lastAt) }))
  return true
}
