import type { Connection } from '../driver'
import type { ContextItem, Receipt, ReceiptScope, ToolProcess } from '../port'
import { readSession, textOf } from './records'

/** How long a receipt answers for its key: 30 days, ms (spec/log.md §2). */
export const RECEIPT_MS = 30 * 24 * 3600 * 1000

/** `Store.receipt`; `now` in server's ms. */
export function receipt(db: Connection, scope: ReceiptScope, now: number): Receipt | null {
  const found = db.get<{ bodyHash: string; status: number; body: string }>(
    'SELECT body_hash AS bodyHash, status, body FROM receipts WHERE profile = ? AND route = ? AND key = ? AND at > ?', scope.profile, scope.route, scope.key, now - RECEIPT_MS)
  return found ? { ...found, body: JSON.parse(found.body) as unknown } : null
}

/** `Store.context`. */
export function context(db: Connection, id: string): ContextItem[] {
  const session = readSession(db, id)
  if (!session) return []
  return db.all<{ turn: string; rows: string; message: string }>('SELECT turn, rows, message FROM context WHERE sid = ? ORDER BY item', session.sid)
    .map((item) => ({ turn: item.turn, rows: JSON.parse(item.rows) as string[], message: JSON.parse(item.message) as unknown }))
}

/** `SessionState.beside`: values of the open questions of a session. */
export function beside(db: Connection, sid: number): { id: string; foreign: string }[] {
  return db.all<{ question: string; value: string }>('SELECT question, value FROM beside WHERE sid = ? ORDER BY question', sid).map(({ question, value }) => ({ id: question, foreign: textOf(value) }))
}

/** `Store.processes`. */
export function processes(db: Connection): ToolProcess[] {
  return db.all<{ pid: number; startTime: string; bootId: string; session: string; run: string }>(
    'SELECT pid, start_time AS startTime, boot_id AS bootId, session, run FROM processes ORDER BY pid').map((found) => ({ ...found }))
}

/** `Store.check`. Slow: reads every page. */
export function check(db: Connection): { ok: boolean; words: string } {
  const words = db.all<{ integrity_check: string }>('PRAGMA integrity_check(20)').map((found) => found.integrity_check)
  const foreign = db.all('PRAGMA foreign_key_check').length
  const broken = db.all<{ id: string }>(
    'SELECT id FROM sessions WHERE deleted = 0 AND seq <> (SELECT max(seq) FROM events WHERE events.sid = sessions.sid)').map((found) => found.id)
  const ok = words.length === 1 && words[0] === 'ok' && foreign === 0 && broken.length === 0
  return { ok, words: [...words, `${foreign} rows without their session`, `${broken.length} logs with another end than their session`].join('; ') }
}
