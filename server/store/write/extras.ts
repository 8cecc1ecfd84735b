import type { Event } from '../../contract/events'
import type { Connection } from '../driver'
import type { Append, ContextChange } from '../port'
import { textFor } from '../read/records'
import { RECEIPT_MS } from '../read/small'
import { buryForeign } from './foreign'

/** The receipt of an accepted request, in the append that writes its events; those past their time leave on the way. */
export function addReceipt(db: Connection, sid: number, receipt: NonNullable<Append['receipt']>, now: number): void {
  db.run('DELETE FROM receipts WHERE at <= ?', now - RECEIPT_MS)
  db.run('INSERT INTO receipts (profile, route, key, sid, body_hash, status, body, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    receipt.profile, receipt.route, receipt.key, sid, receipt.bodyHash, receipt.status, JSON.stringify(receipt.body ?? null), now)
}

/** Items go behind those that stand. One whose rows have all been retracted already never enters. */
export function addContext(db: Connection, sid: number, change: ContextChange): void {
  for (const { message, rows, turn } of change.add) {
    const standing = new Set(rows.filter((row) => !db.get('SELECT 1 AS found FROM retracted WHERE sid = ? AND id = ?', sid, row)))
    if (rows.length > 0 && standing.size === 0) continue
    db.run('INSERT INTO context (sid, turn, standing, rows, message) VALUES (?, ?, ?, ?, ?)', sid, turn, standing.size, JSON.stringify(rows), JSON.stringify(message))
    const { item } = db.get<{ item: number }>('SELECT max(item) AS item FROM context WHERE sid = ?', sid)!
    for (const row of standing) db.run('INSERT INTO context_rows (sid, row, item) VALUES (?, ?, ?)', sid, row, item)
  }
}

/** Values beside questions come with the question and leave once it is over, at the latest with its run. */
export function keepBeside(db: Connection, sid: number, { events, beside = [] }: Append): void {
  for (const { id, foreign } of beside) db.run('INSERT OR REPLACE INTO beside (sid, question, value) VALUES (?, ?, ?)', sid, id, textFor(foreign))
  for (const event of events) {
    if (event.type === 'run.settled') db.run('DELETE FROM beside WHERE sid = ?', sid)
    const over = questionOver(event)
    if (over !== undefined) db.run('DELETE FROM beside WHERE sid = ? AND question = ?', sid, over)
  }
}

function questionOver(event: Event): string | undefined {
  switch (event.type) {
    case 'approval.decided':
    case 'approval.retired': return event.approval
    case 'clarify.answered':
    case 'clarify.retired': return event.clarify
    case 'secret.answered':
    case 'secret.retired': return event.secret
    default: return undefined
  }
}

/** Context items whose last row has been retracted leave with it, and where a row came from is remembered as gone (spec/log.md §7 law 5). */
export function forgetRows(db: Connection, sid: number, rows: Iterable<string>): void {
  buryForeign(db, sid, rows)
  for (const row of rows) {
    for (const { item } of db.all<{ item: number }>('SELECT item FROM context_rows WHERE sid = ? AND row = ?', sid, row)) {
      db.run('DELETE FROM context_rows WHERE sid = ? AND row = ? AND item = ?', sid, row, item)
      db.run('UPDATE context SET standing = standing - 1 WHERE item = ?', item)
      db.run('DELETE FROM context WHERE item = ? AND standing = 0', item)
    }
  }
}
