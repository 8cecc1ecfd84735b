import type { Event, EventOf } from '../../server/contract/events'
import { addTouched, apply, emptyTranscript, fold, untouched } from '../../server/contract/fold'
import { comparePos } from '../../server/contract/ids'
import { entryOf, sameEntry, type EntryFields, type ListEntry } from '../../server/contract/listing'
import type { Row } from '../../server/contract/rows'
import type { SessionHead, Transcript } from '../../server/contract/session'
import { StoreRefusal, type Append, type Committed, type ContextItem, type ForeignRow, type Receipt, type RefusalWhy, type ToolProcess } from '../../server/store/port'

/** What a store keeps of one session. Revisions stand beside the fold's value, per part. */
export interface KeptSession {
  profile: string
  value: Transcript
  /** The last head, also of a deleted session. */
  head: SessionHead
  generation: number
  /** The run that has not settled. */
  run: { id: string; generation: number } | null
  /** Highest ever given out. */
  n: number
  pos: string
  rev: number
  log: { rev: number; event: Event }[]
  /** Revision of the last change of each row and turn. */
  revs: Map<string, number>
  retracted: Map<string, number>
  /** Revision of the last change of the queue. */
  queueRev: number
  entry: ListEntry | null
  /** Up to which `seq` a person has seen it. */
  read: number | undefined
  removed: number | null
  started: Map<string, { seq: number; turn: string; settledAt?: number; pruned?: true }>
  /** Foreign values of open questions, by the question. */
  beside: Map<string, string>
  /** Highest revision of which an event was pruned. */
  prunedRev: number
  context: ContextItem[]
}

/** What survives a crash: the committed state of a model store, changed by whole entries only. */
export interface ModelDisk {
  id: string
  rev: number
  sessions: Map<string, KeptSession>
  receipts: Map<string, Receipt & { at: number }>
  processes: Map<number, ToolProcess>
  /** Known rows of foreign stores, by `foreignKey`, with the chat that knows them. */
  foreign: Map<string, ForeignRow & { chat: string }>
}

export function emptyDisk(id = 'store_model'): ModelDisk {
  return { id, rev: 0, sessions: new Map(), receipts: new Map(), processes: new Map(), foreign: new Map() }
}

function foreignKey({ store, session, row }: ForeignRow): string {
  return JSON.stringify([store, session, row])
}

export function receiptKey(scope: { profile: string; route: string; key: string }): string {
  return JSON.stringify([scope.profile, scope.route, scope.key])
}

/** How long a receipt answers, ms (spec/log.md §2). */
const RECEIPT_MS = 30 * 24 * 3600 * 1000

/** What a key was answered, while that stands. */
export function receiptOf(disk: ModelDisk, scope: { profile: string; route: string; key: string }, now: number): Receipt | null {
  const kept = disk.receipts.get(receiptKey(scope))
  if (!kept || kept.at <= now - RECEIPT_MS) return null
  const { at: _, ...receipt } = kept
  return receipt
}

/** Commits one entry, whole or not at all. Throws `StoreRefusal`. */
export function commitEntry(disk: ModelDisk, entry: Append, now = 0): Committed {
  const { receipt } = entry
  const given = receipt && receiptOf(disk, receipt, now)
  if (given) throw new StoreRefusal('key_reused', given)
  const held = disk.sessions.get(entry.session)
  const creation = entry.events[0]?.type === 'session.created' ? entry.events[0] : undefined
  if (!held && !creation) throw new StoreRefusal('unknown_session')
  if (held?.value.deleted) throw new StoreRefusal('deleted')
  if (held && creation) throw new StoreRefusal('exists')
  const kept = held ? copyOf(held) : newSession(creation!.profile)
  if (entry.expectSeq !== kept.value.seq + 1) throw new StoreRefusal('sequence')

  const rev = disk.rev + 1
  const touched = untouched()
  for (const event of entry.events) {
    const refused = fence(kept, event, entry.generation)
    if (refused) throw new StoreRefusal(refused)
    if (event.type === 'rows.imported' && !isSound(event, entry)) throw new StoreRefusal('sequence')
    const applied = apply(kept.value, event, entry.imported)
    if (applied.state !== 'applied') throw new StoreRefusal('sequence')
    addTouched(touched, applied.touched)
    kept.log.push({ rev, event })
    count(kept, event, entry)
  }
  for (const id of [...touched.turns, ...touched.rows, ...touched.grew.keys()]) kept.revs.set(id, rev)
  for (const id of touched.removed) {
    kept.revs.delete(id)
    kept.retracted.set(id, rev)
  }
  if (touched.queue) kept.queueRev = rev
  for (const { id, foreign } of entry.beside ?? []) kept.beside.set(id, foreign)
  const asked = openQuestions(kept.value)
  for (const id of kept.beside.keys()) if (!asked.has(id)) kept.beside.delete(id)
  kept.context.push(...(entry.context?.add ?? []))
  kept.context = kept.context.filter((item) => item.rows.length === 0 || item.rows.some((id) => !kept.retracted.has(id)))
  for (const row of entry.foreign ?? []) refuseMapped(disk, entry.session, standing(kept, row))
  kept.head = kept.value.session ?? kept.head
  kept.rev = rev
  const committed: Committed = { rev, session: entry.session, profile: kept.profile, events: entry.events }
  const fields = entryOf(kept.value)
  if (kept.value.deleted) {
    // Its last event stays, so that a reader learns of it by replay; nothing that a person wrote does.
    kept.log = kept.log.slice(-1)
    kept.prunedRev = 0
    kept.head = { ...BLANK, id: entry.session, profile: kept.profile, seq: kept.value.seq }
    kept.context = []
    kept.started = new Map()
    kept.entry = null
    kept.removed = rev
    kept.run = null
    committed.removed = true
  } else if (fields && !(kept.entry && sameEntry(withoutMark(kept.entry), fields))) {
    kept.entry = listed(kept, fields, rev)
    committed.entry = kept.entry
  }
  disk.rev = rev
  disk.sessions.set(entry.session, kept)
  for (const row of entry.foreign ?? []) disk.foreign.set(foreignKey(row), { ...standing(kept, row), chat: entry.session })
  for (const row of disk.foreign.values()) if (row.chat === entry.session) row.ours = kept.value.deleted ? null : standing(kept, row).ours
  if (receipt) disk.receipts.set(receiptKey(receipt), { bodyHash: receipt.bodyHash, status: receipt.status, body: receipt.body, at: now })
  return committed
}

/** Notes up to where a session was read; null for one that is not there. Nothing has committed where the mark did not move. */
export function commitMark(disk: ModelDisk, session: string, seq: number): { committed?: Committed } | null {
  const kept = disk.sessions.get(session)
  if (!kept?.entry || kept.value.deleted) return null
  const read = Math.min(seq, kept.value.seq)
  if (read <= (kept.read ?? 0)) return {}
  const next = { ...kept, read }
  next.entry = listed(next, kept.entry, ++disk.rev)
  disk.sessions.set(session, next)
  return { committed: { rev: disk.rev, session, profile: kept.profile, events: [], entry: next.entry } }
}

/** Removes `row.*` events of runs that settled before a time; answers how many. */
export function pruneDisk(disk: ModelDisk, settledBefore: number, limit: number): number {
  const due = [...disk.sessions.values()].flatMap((kept) => [...kept.started].filter(([, { settledAt }]) => settledAt !== undefined && settledAt < settledBefore).map(([id, started]) => ({ kept, id, started })))
  due.sort((a, b) => a.started.settledAt! - b.started.settledAt!)
  let gone = 0
  for (const { kept, id, started } of due) {
    const log: KeptSession['log'] = []
    for (const one of kept.log) {
      if (gone < limit && one.event.type.startsWith('row.') && 'run' in one.event && one.event.run === id) {
        gone++
        started.pruned = true
        kept.prunedRev = Math.max(kept.prunedRev, one.rev)
      } else log.push(one)
    }
    kept.log = log
  }
  return gone
}

function withoutMark({ read: _, ...entry }: ListEntry): EntryFields {
  return entry
}

/** The fold's fields and what the store keeps beside them. */
function listed({ read }: KeptSession, fields: EntryFields, rev: number): ListEntry {
  return { ...fields, rev, ...(read !== undefined && { read }) }
}

/** Ids of the questions that wait for a person. */
function openQuestions(value: Transcript): Set<string> {
  return new Set([...value.rows.values()].flatMap(openOf))
}

function openOf(row: Row): string[] {
  const asked = row.kind === 'question' ? [row.approval, row.clarify, row.secret] : row.kind === 'tool' ? [row.approval] : []
  return asked.flatMap((question) => (question?.state === 'open' ? [question.id] : []))
}

/** Fencing and law 4: why an event may not be written, if so. */
function fence(kept: KeptSession, event: Event, generation: number | undefined): RefusalWhy | null {
  if (!('run' in event) || event.run === undefined) return null
  if (event.type === 'run.started') return event.generation === kept.generation + 1 && !kept.run ? null : 'stale_generation'
  if (kept.run?.id !== event.run || generation !== kept.run.generation) return 'stale_generation'
  if (event.type !== 'run.settled') return null
  for (const row of kept.value.rows.values()) {
    if (row.run === event.run && (row.state === 'live' || openOf(row).length > 0)) return 'open_rows'
  }
  return null
}

/** A batch is what its event says, closed, and of a size for one commit. */
function isSound({ rows, turns, seq }: EventOf<'rows.imported'>, { imported }: Append): boolean {
  return imported?.rows.length === rows && imported.turns.length === turns && rows <= 200 && imported.rows.every((row) => row.seq === seq && row.state !== 'live')
}

/** A foreign row as it is known once what was retracted is gone. */
function standing<T extends ForeignRow>(kept: KeptSession, row: T): T {
  return { ...row, ours: row.ours !== null && kept.retracted.has(row.ours) ? null : row.ours }
}

function refuseMapped(disk: ModelDisk, chat: string, row: ForeignRow): void {
  const known = disk.foreign.get(foreignKey(row))
  if (known && (known.chat !== chat || known.ours !== row.ours)) throw new StoreRefusal('mapped')
}

function count(kept: KeptSession, event: Event, entry: Append): void {
  if (event.type === 'turn.admitted' || event.type === 'row.opened') {
    kept.n = Math.max(kept.n, event.n)
    if (comparePos(event.pos, kept.pos) > 0) kept.pos = event.pos
  } else if (event.type === 'rows.imported') {
    for (const { n, pos } of entry.imported!.rows) {
      kept.n = Math.max(kept.n, n)
      if (comparePos(pos, kept.pos) > 0) kept.pos = pos
    }
  } else if (event.type === 'run.started') {
    kept.generation = event.generation
    kept.run = { id: event.run, generation: event.generation }
    kept.started.set(event.run, { seq: event.seq, turn: event.turn })
  } else if (event.type === 'run.settled') {
    kept.run = null
    kept.started.set(event.run, { ...kept.started.get(event.run)!, settledAt: event.at })
  }
}

const BLANK: Omit<SessionHead, 'id' | 'profile' | 'seq'> = {
  title: '', titleBy: 'provisional', workspace: '', agent: null, model: null, source: 'talaria', pinned: false, archived: false, createdAt: 0, lastAt: 0, count: 0,
}

function newSession(profile: string): KeptSession {
  return {
    profile, value: emptyTranscript(), head: null as unknown as SessionHead, generation: 0, run: null, n: 0, pos: '', rev: 0, log: [], revs: new Map(),
    retracted: new Map(), queueRev: 0, entry: null, read: undefined, removed: null, started: new Map(), beside: new Map(), prunedRev: 0, context: [],
  }
}

function copyOf(kept: KeptSession): KeptSession {
  return {
    ...kept, value: fold(kept.value, []), log: [...kept.log], revs: new Map(kept.revs), retracted: new Map(kept.retracted), started: new Map(kept.started),
    beside: new Map(kept.beside), context: [...kept.context],
  }
}
