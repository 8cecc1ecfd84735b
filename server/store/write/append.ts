import { apply, addTouched, emptyTranscript, untouched, IMPORT_LIMIT, type ImportBatch, type Touched } from '../../contract/fold'
import { runOf, type Event, type EventOf } from '../../contract/events'
import type { Connection } from '../driver'
import { StoreRefusal, type Append } from '../port'
import { receipt } from '../read/small'
import { asked, bring, isOpen, type Held, type HeldSessions } from './held'
import { addContext, addReceipt, keepBeside } from './extras'
import { writeForeign } from './foreign'
import { writeImported } from './imported'
import { writeEntry, type Moved } from './listing'
import { writeItems, writeRemoved, type Written } from './items'
import { writeQueue } from './queue'
import { wipe } from './wipe'

export interface Accepted extends Moved { rev: number; profile: string }

/**
 * Checks and writes one entry at revision `rev` inside the open transaction: log, fold, context, list entry and receipt. Throws `StoreRefusal` for what
 * the entry got wrong; the caller then undoes what was written and forgets what is held of the session.
 */
export function appendEntry(db: Connection, sessions: HeldSessions, entry: Append, rev: number, now: number): Accepted {
  if (entry.receipt) {
    const known = receipt(db, entry.receipt, now)
    if (known) throw new StoreRefusal('key_reused', known)
  }
  const held = heldFor(db, sessions, entry)
  if (held.record.seq + 1 !== entry.expectSeq || entry.events.length === 0) throw new StoreRefusal('sequence')
  const { queue } = held.tail
  const written: Written = { touched: untouched(), opened: new Set(), whole: new Set(), grown: new Map() }
  for (const event of entry.events) {
    if (event.session !== entry.session) throw new StoreRefusal('sequence')
    fence(held, entry, event)
    if (!bring(db, held, event, entry.imported)) throw new StoreRefusal('sequence')
    if (event.type === 'run.settled') refuseOpen(held, event.run)
    if (event.type === 'rows.imported') refuseOdd(event, entry.imported)
    const applied = apply(held.tail, event, entry.imported)
    if (applied.state !== 'applied') throw new StoreRefusal('sequence')
    if (event.type === 'rows.imported') takeImported(db, held, entry.imported!, applied.touched, rev)
    addTouched(written.touched, applied.touched)
    for (const id of applied.touched.rows) noteOpen(held, id)
    count(db, held, event, written)
    held.record.seq = event.seq
    if (event.type === 'session.deleted') wipe(db, held)
    db.run('INSERT INTO events (sid, seq, rev, event) VALUES (?, ?, ?, ?)', held.record.sid, event.seq, rev, JSON.stringify(event))
  }
  held.record.rev = rev
  if (written.touched.queue && !held.tail.deleted) writeQueue(db, held, queue, rev)
  writeSession(db, held, rev, written.touched.head)
  if (!held.tail.deleted) {
    writeItems(db, held, written, rev)
    writeRemoved(db, held, written.touched.removed, rev)
    if (written.touched.removed.size > 0) sessions.renew(held)
    if (entry.context) addContext(db, held.record.sid, entry.context)
    keepBeside(db, held.record.sid, entry)
    if (entry.foreign) writeForeign(db, held.record.sid, entry.foreign)
  }
  if (entry.receipt) addReceipt(db, held.record.sid, entry.receipt, now)
  const moved = entry.events.every((event) => event.type === 'row.grew') ? {} : writeEntry(db, held, rev)
  return { rev, profile: held.record.profile, ...moved }
}

function heldFor(db: Connection, sessions: HeldSessions, entry: Append): Held {
  const first = entry.events[0]
  const held = sessions.get(entry.session)
  if (held?.record.deleted) throw new StoreRefusal('deleted')
  if (first?.type === 'session.created') {
    if (held) throw new StoreRefusal('exists')
    return create(db, sessions, first)
  }
  if (!held) throw new StoreRefusal('unknown_session')
  return held
}

function create(db: Connection, sessions: HeldSessions, event: EventOf<'session.created'>): Held {
  db.run(`INSERT INTO sessions (id, profile, deleted, seq, rev, head_rev, generation, n, pos, head) VALUES (?, ?, 0, 0, 0, 0, 0, 0, '', '')`, event.session, event.profile)
  const { sid } = db.get<{ sid: number }>('SELECT sid FROM sessions WHERE id = ?', event.session)!
  const record = { sid, id: event.session, profile: event.profile, deleted: 0, seq: 0, rev: 0, generation: 0, run: null, n: 0, pos: '', head: '', queueSeq: 0, queueRev: 0, prunedRev: 0 }
  const held: Held = { record, tail: emptyTranscript(), open: new Set(), entry: null, read: null }
  sessions.add(event.session, held)
  return held
}

/** The fence (law 6): an event of a run is taken only from the run that is live, under its generation; a new run only under the next one, when none is live. */
function fence({ record }: Held, entry: Append, event: Event): void {
  const run = runOf(event)
  if (run === undefined) return
  if (event.type === 'run.started') {
    if (event.generation !== entry.generation || event.generation !== record.generation + 1 || record.run !== null) throw new StoreRefusal('stale_generation')
  } else if (run !== record.run || entry.generation !== record.generation) throw new StoreRefusal('stale_generation')
}

function refuseOpen(held: Held, run: string): void {
  for (const id of held.open) {
    const row = held.tail.rows.get(id)
    if (row && (row.run === run || asked(row).some((question) => question?.run === run))) throw new StoreRefusal('open_rows')
  }
}

/** Counters of the session, and how the text of each row is to be written. */
function count(db: Connection, held: Held, event: Event, written: Written): void {
  const { record } = held
  switch (event.type) {
    case 'turn.admitted':
    case 'row.opened':
      if (event.type === 'turn.admitted') written.opened.add(event.turn)
      written.opened.add(event.row)
      record.n = Math.max(record.n, event.n)
      if (event.pos > record.pos) record.pos = event.pos
      break
    case 'run.started':
      record.run = event.run
      record.generation = event.generation
      db.run('INSERT INTO runs (id, sid, turn, started_seq, kept_from) VALUES (?, ?, ?, ?, ?)', event.run, record.sid, event.turn, event.seq, event.seq)
      break
    case 'run.settled':
      record.run = null
      db.run('UPDATE runs SET settled_at = ? WHERE id = ?', event.at, event.run)
      break
    case 'row.grew':
      written.grown.set(event.row, (written.grown.get(event.row) ?? '') + event.text)
      break
    case 'row.cut':
    case 'row.closed':
      written.whole.add(event.row)
      break
  }
}

/** A batch is what its event says, closed, and no larger than one commit may be. */
function refuseOdd(event: EventOf<'rows.imported'>, batch: ImportBatch | undefined): void {
  const sound = batch && batch.rows.length === event.rows && batch.turns.length === event.turns && event.rows <= IMPORT_LIMIT && batch.rows.every((row) => row.seq === event.seq && !isOpen(row))
  if (!sound) throw new StoreRefusal('sequence')
}

/** Imported rows are written as they come, whichever part of the transcript is held here; what the fold says of them beyond that is nothing. */
function takeImported(db: Connection, { record }: Held, batch: ImportBatch, touched: Touched, rev: number): void {
  writeImported(db, record.sid, batch, rev)
  for (const { id } of batch.turns) touched.turns.delete(id)
  for (const { id, n, pos } of batch.rows) {
    touched.rows.delete(id)
    record.n = Math.max(record.n, n)
    if (pos > record.pos) record.pos = pos
  }
}

function noteOpen({ tail, open }: Held, id: string): void {
  const row = tail.rows.get(id)
  if (row && isOpen(row)) open.add(id)
  else open.delete(id)
}

function writeSession(db: Connection, { record, tail }: Held, rev: number, head: boolean): void {
  if (head && tail.session) record.head = JSON.stringify(tail.session)
  db.run('UPDATE sessions SET deleted = ?, seq = ?, rev = ?, head_rev = iif(?, ?, head_rev), generation = ?, run = ?, n = ?, pos = ?, head = ?, queue_seq = ?, queue_rev = ? WHERE sid = ?',
    record.deleted, record.seq, rev, head ? 1 : 0, rev, record.generation, record.run, record.n, record.pos, record.head, record.queueSeq, record.queueRev, record.sid)
}
