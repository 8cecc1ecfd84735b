import type { Approval } from '../../contract/approvals'
import type { Event } from '../../contract/events'
import type { ImportBatch } from '../../contract/fold'
import type { EntryFields } from '../../contract/listing'
import type { Clarify, Secret } from '../../contract/questions'
import type { Row } from '../../contract/rows'
import type { Transcript } from '../../contract/session'
import type { Connection } from '../driver'
import { readSession, type SessionRecord } from '../read/records'
import { readTail, takeOpen, takeRow, takeTurn } from '../read/tail'

/** What the writer keeps of a session between two appends; always what the database says, or dropped. */
export interface Held {
  record: SessionRecord
  tail: Transcript
  /** Ids of rows of the tail that are live or ask something; all of the session's are in it. */
  open: Set<string>
  /** The list entry as stored, without its revision. */
  entry: EntryFields | null
  /** How far a person has read; null: no mark. */
  read: number | null
}

/** Enough for every session that runs on one machine; a chat's tail is its last turns. */
export const KEEP = { sessions: 128, rows: 1000 }

/** The writer's memory of the sessions written last. Dropped as a whole after a fault and read again. */
export class HeldSessions {
  readonly #held = new Map<string, Held>()

  constructor(private readonly db: Connection, private readonly keep = KEEP) {}

  get(id: string): Held | undefined {
    const known = this.#held.get(id) ?? this.#read(id)
    if (known) this.#keep(id, known)
    return known
  }

  add(id: string, held: Held): void {
    this.#keep(id, held)
  }

  drop(id: string): void {
    this.#held.delete(id)
  }

  clear(): void {
    this.#held.clear()
  }

  /** Reads the tail of a session again, after its end was retracted or has become long. */
  renew(held: Held): void {
    Object.assign(held, this.#end(held.record))
  }

  /** A tail that has grown over several turns is cut back to the last one. */
  trim(held: Held): void {
    if (held.tail.rows.size > this.keep.rows && held.tail.turns.size > 1 && !held.record.run) this.renew(held)
  }

  #read(id: string): Held | undefined {
    const record = readSession(this.db, id)
    if (!record) return undefined
    const listed = record.deleted ? undefined : this.db.get<{ entry: string; read: number | null }>('SELECT entry, read FROM list WHERE sid = ?', record.sid)
    return { record: { ...record }, ...this.#end(record), entry: listed ? (JSON.parse(listed.entry) as EntryFields) : null, read: listed?.read ?? null }
  }

  #end(record: SessionRecord): Pick<Held, 'tail' | 'open'> {
    const tail = readTail(this.db, record)
    takeOpen(this.db, record.sid, tail)
    return { tail, open: openRows(tail) }
  }

  #keep(id: string, held: Held): void {
    this.#held.delete(id)
    this.#held.set(id, held)
    if (this.#held.size > this.keep.sessions) this.#held.delete(this.#held.keys().next().value!)
  }
}

/** Live, or with an open question: what keeps a run from settling. */
export function isOpen(row: Row): boolean {
  return row.state === 'live' || asked(row).some((question) => question?.state === 'open')
}

/** What a row asks, or asked, a person. */
export function asked(row: Row): (Approval | Clarify | Secret | undefined)[] {
  if (row.kind === 'question') return [row.approval, row.clarify, row.secret]
  return row.kind === 'tool' ? [row.approval] : []
}

function openRows(tail: Transcript): Set<string> {
  const open = new Set<string>()
  for (const row of tail.rows.values()) if (isOpen(row)) open.add(row.id)
  return open
}

/** Loads what an event names and the tail does not hold. Answers false when something it builds on does not exist at all. */
export function bring(db: Connection, { record: { sid }, tail }: Held, event: Event, batch?: ImportBatch): boolean {
  // `queue.taken` stands before the turn that it names is there.
  if (event.type === 'turn.admitted' || event.type === 'queue.taken') return true
  if ('turn' in event) {
    takeTurn(db, sid, tail, event.turn)
    if (!tail.turns.has(event.turn)) return false
  }
  if (event.type === 'rows.imported') {
    for (const turn of new Set(batch?.rows.map((row) => row.turn))) takeTurn(db, sid, tail, turn)
    return true
  }
  if (event.type === 'run.started' && event.reopens) {
    for (const row of event.reopens) takeRow(db, sid, tail, row)
    return event.reopens.every((row) => tail.rows.has(row))
  }
  if (!('row' in event) || event.type === 'row.opened') return true
  takeRow(db, sid, tail, event.row)
  return tail.rows.has(event.row)
}
