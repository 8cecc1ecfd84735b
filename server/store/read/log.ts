import type { Event } from '../../contract/events'
import type { Run } from '../../contract/session'
import type { Connection } from '../driver'
import type { Committed } from '../port'
import { entryAt } from './list'
import { inSnapshot, readRev, readSession, readTurn } from './records'

/** `Store.events`. */
export function events(db: Connection, id: string, opts: { afterSeq: number; limit: number }): Event[] {
  const session = readSession(db, id)
  if (!session) return []
  return db.all<{ event: string }>('SELECT event FROM events WHERE sid = ? AND seq > ? ORDER BY seq LIMIT ?', session.sid, opts.afterSeq, opts.limit).map(eventFrom)
}

/**
 * `Store.since`. Costs what it answers: the open session's events by their index, and the list entries that moved by theirs. Entries of other sessions come without events, and only where a
 * revision of the range was the last to move their list entry; at most `limit`, oldest first.
 */
export function since(db: Connection, opts: { after: number; upTo: number; session?: string; profile: string; limit: number }): Committed[] | null {
  return inSnapshot(db, () => {
    if (opts.after > opts.upTo || opts.upTo > readRev(db)) return null
    const found = new Map<number, Committed>()
    const session = opts.session === undefined ? undefined : readSession(db, opts.session)
    if (session && session.profile === opts.profile) {
      // The limit counts revisions; one revision's events are never parted.
      const revs = db.all<{ rev: number }>('SELECT DISTINCT rev FROM events WHERE sid = ? AND rev > ? AND rev <= ? ORDER BY rev LIMIT ?', session.sid, opts.after, opts.upTo, opts.limit)
      const last = revs[revs.length - 1]?.rev ?? opts.after
      for (const record of db.all<{ rev: number; event: string }>('SELECT rev, event FROM events WHERE sid = ? AND rev > ? AND rev <= ? ORDER BY seq', session.sid, opts.after, last)) {
        const entry = found.get(record.rev)
        if (entry) entry.events.push(eventFrom(record))
        else found.set(record.rev, { rev: record.rev, session: session.id, profile: session.profile, events: [eventFrom(record)] })
      }
    }
    for (const { rev } of db.all<{ rev: number }>('SELECT rev FROM list WHERE profile = ? AND rev > ? AND rev <= ? ORDER BY rev LIMIT ?', opts.profile, opts.after, opts.upTo, opts.limit)) {
      const moved = entryAt(db, rev, opts.profile)!
      found.set(rev, { ...(found.get(rev) ?? { rev, profile: opts.profile, events: [] }), ...moved })
    }
    return [...found.values()].sort((a, b) => a.rev - b.rev).slice(0, opts.limit)
  })
}

/** `Store.run`. */
export function run(db: Connection, id: string): { session: string; startedSeq: number; run: Run } | null {
  return inSnapshot(db, () => {
    const found = db.get<{ sid: number; session: string; turn: string; startedSeq: number }>(
      'SELECT runs.sid AS sid, sessions.id AS session, runs.turn AS turn, runs.started_seq AS startedSeq FROM runs JOIN sessions USING (sid) WHERE runs.id = ?', id)
    const held = found && readTurn(db, found.sid, found.turn)?.runs.find((one) => one.id === id)
    return found && held ? { session: found.session, startedSeq: found.startedSeq, run: held } : null
  })
}

/** `Store.unsettled`: by a partial index over live sessions alone. */
export function unsettled(db: Connection): string[] {
  return db.all<{ id: string }>('SELECT id FROM sessions WHERE run IS NOT NULL ORDER BY sid').map((found) => found.id)
}

function eventFrom(record: { event: string }): Event {
  return JSON.parse(record.event) as Event
}
