import type { Event } from '../../contract/events'
import type { ImportBatch } from '../../contract/fold'
import type { Connection } from '../driver'
import type { Committed, ForeignAmong, ForeignRow, FoundRun } from '../port'
import { entryAt } from './list'
import { inSnapshot, readRev, readRows, readSession, readTurn, type SessionRecord } from './records'

/** `Store.events`. What was pruned is not there to be read. */
export function events(db: Connection, id: string, opts: { afterSeq: number; limit: number }): Event[] {
  const session = readSession(db, id)
  if (!session) return []
  return db.all<{ event: string }>('SELECT event FROM events WHERE sid = ? AND seq > ? ORDER BY seq LIMIT ?', session.sid, opts.afterSeq, opts.limit).map(eventFrom)
}

/**
 * `Store.since`. Costs what it answers: the open session's events by their index, and the list entries that moved by theirs. Entries of other sessions come without events, and only where a
 * revision of the range was the last to move their list entry; at most `limit`, oldest first. Null when an event behind the cursor was pruned.
 */
export function since(db: Connection, opts: { after: number; upTo: number; session?: string; profile: string; limit: number }): Committed[] | null {
  return inSnapshot(db, () => {
    if (opts.after > opts.upTo || opts.upTo > readRev(db)) return null
    const found = new Map<number, Committed>()
    const session = opts.session === undefined ? undefined : readSession(db, opts.session)
    if (session && session.profile === opts.profile) {
      if (!session.deleted && session.prunedRev > opts.after) return null
      for (const { rev, event } of replay(db, session, opts)) {
        const entry = found.get(rev)
        if (entry) entry.events.push(eventFrom({ event }))
        else found.set(rev, { rev, session: session.id, profile: session.profile, events: [eventFrom({ event })] })
      }
    }
    for (const { rev } of db.all<{ rev: number }>('SELECT rev FROM list WHERE profile = ? AND rev > ? AND rev <= ? ORDER BY rev LIMIT ?', opts.profile, opts.after, opts.upTo, opts.limit)) {
      const moved = entryAt(db, rev, opts.profile)!
      found.set(rev, { ...(found.get(rev) ?? { rev, profile: opts.profile, events: [] }), ...moved })
    }
    return [...found.values()].sort((a, b) => a.rev - b.rev).slice(0, opts.limit)
  })
}

interface Logged { seq: number; rev: number; event: string }
const CHUNK = 200

/** A session's events of the first `limit` revisions in the range; the events of one revision are never parted. */
function* replay(db: Connection, { sid, seq }: SessionRecord, opts: { after: number; upTo: number; limit: number }): Generator<Logged> {
  let next = firstAfter(db, sid, seq, opts.after)
  let revisions = 0
  let last = 0
  for (;;) {
    const chunk = db.all<Logged>('SELECT seq, rev, event FROM events WHERE sid = ? AND seq >= ? ORDER BY seq LIMIT ?', sid, next, CHUNK)
    for (const logged of chunk) {
      if (logged.rev > opts.upTo || (logged.rev !== last && ++revisions > opts.limit)) return
      last = logged.rev
      next = logged.seq + 1
      yield logged
    }
    if (chunk.length < CHUNK) return
  }
}

/** The first `seq` of a revision above `after`. Both only rise within a session, so halving finds it and no index by revision has to be written for each event. */
function firstAfter(db: Connection, sid: number, end: number, after: number): number {
  let low = 1
  let high = end + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = db.get<{ rev: number }>('SELECT rev FROM events WHERE sid = ? AND seq >= ? ORDER BY seq LIMIT 1', sid, middle)
    if (!found || found.rev > after) high = middle
    else low = middle + 1
  }
  return low
}

/** `Store.run`. */
export function run(db: Connection, id: string): FoundRun | null {
  return inSnapshot(db, () => {
    const found = db.get<{ sid: number; session: string; turn: string; startedSeq: number; pruned: number }>(
      'SELECT runs.sid AS sid, sessions.id AS session, runs.turn AS turn, runs.started_seq AS startedSeq, runs.pruned AS pruned FROM runs JOIN sessions USING (sid) WHERE runs.id = ?', id)
    const held = found && readTurn(db, found.sid, found.turn)?.runs.find((one) => one.id === id)
    return found && held ? { session: found.session, startedSeq: found.startedSeq, run: held, ...(found.pruned && { pruned: true as const }) } : null
  })
}

/** `Store.imported`: what an event has brought still says so by its `seq`; nothing changes an imported row. */
export function imported(db: Connection, id: string, seq: number): ImportBatch {
  return inSnapshot(db, () => {
    const session = readSession(db, id)
    const logged = session && db.get<{ type: string }>(`SELECT json_extract(event, '$.type') AS type FROM events WHERE sid = ? AND seq = ?`, session.sid, seq)
    if (!session || logged?.type !== 'rows.imported') return { turns: [], rows: [] }
    const rows = readRows(db, 'sid = ? AND seq = ? ORDER BY pos', session.sid, seq)
    const turns = [...new Set(rows.map((row) => row.turn))].flatMap((turn) => readTurn(db, session.sid, turn) ?? [])
    return { turns: turns.filter((turn) => turn.seq === seq), rows }
  })
}

/** `Store.foreign`. */
export function foreign(db: Connection, id: string, among?: ForeignAmong): ForeignRow[] {
  const all = 'SELECT store, session, id AS row, row AS ours FROM foreign_rows WHERE sid = (SELECT sid FROM sessions WHERE id = ?)'
  const found = among
    ? db.all<ForeignRow>(`${all} AND store = ? AND session = ? AND id IN (SELECT value FROM json_each(?))`, id, among.store, among.session, JSON.stringify(among.rows))
    : db.all<ForeignRow>(all, id)
  return found.map((row) => ({ ...row }))
}

/** `Store.unsettled`: by a partial index over live sessions alone. */
export function unsettled(db: Connection): string[] {
  return db.all<{ id: string }>('SELECT id FROM sessions WHERE run IS NOT NULL ORDER BY sid').map((found) => found.id)
}

/** `Store.queued`: from the table of waiting messages alone. */
export function queued(db: Connection): string[] {
  return db.all<{ id: string }>('SELECT id FROM sessions WHERE sid IN (SELECT sid FROM queue) ORDER BY sid').map((found) => found.id)
}

function eventFrom(record: { event: string }): Event {
  return JSON.parse(record.event) as Event
}
