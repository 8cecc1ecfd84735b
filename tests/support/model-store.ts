import type { Event } from '../../server/contract/events'
import { emptyTranscript, type ImportBatch } from '../../server/contract/fold'
import type { Row } from '../../server/contract/rows'
import type { Transcript } from '../../server/contract/session'
import type { Changes, ListChanges } from '../../server/contract/wire'
import { StoreFault } from '../../server/store/port'
import type { Append, Committed, ContextItem, ForeignAmong, ForeignRow, Receipt, ReceiptScope, SessionState, Store, StoreStats, ToolProcess } from '../../server/store/port'
import { checkInvariants } from './invariants'
import { commitEntry, commitMark, emptyDisk, pruneDisk, receiptOf, type KeptSession, type ModelDisk } from './model-disk'

export interface ModelStoreOptions {
  /** The state that an earlier store left behind. */
  disk?: ModelDisk
  /** Interval of group commits, ms. */
  groupMs?: number
  /** A timer; a fake clock's, where a test has one. */
  after?: (ms: number, then: () => void) => void
  /** Server's ms, for the age of receipts. */
  clock?: () => number
}

interface Waiting { entry: Append | ReadMark; resolve: (committed: Committed | boolean) => void; reject: (error: Error) => void }
/** Up to where a person has seen a chat. */
interface ReadMark { session: string; read: number }

/**
 * The store's port in memory: the laws of spec/log.md without a disk, and with faults at will. Commits by itself unless held; what has
 * committed lives in `disk`, from which another store can be opened, as after a crash.
 */
export class ModelStore implements Store {
  readonly disk: ModelDisk
  readonly #after: (ms: number, then: () => void) => void
  readonly #groupMs: number
  readonly #clock: () => number
  #waiting: Waiting[] = []
  #listener: (batch: Committed[]) => void = () => {}
  #held = false
  #due = false
  #closed = false
  #appends = 0
  #commits = 0
  #events = 0

  /** Asked for every append when it commits, and for a read mark as for an append without events, `n` counting from 1: a word makes it fail so. */
  fault: (append: Append, n: number) => 'full' | 'failed' | undefined = () => undefined

  constructor(options: ModelStoreOptions = {}) {
    this.disk = options.disk ?? emptyDisk()
    this.#groupMs = options.groupMs ?? 30
    this.#clock = options.clock ?? (() => 0)
    this.#after = options.after ?? ((ms, then) => void setTimeout(then, ms))
  }

  /** The n-th append from now on fails; 1 is the next. */
  failAppend(n: number, kind: 'full' | 'failed' = 'failed'): void {
    const target = this.#appends + n
    const before = this.fault
    this.fault = (append, count) => (count === target ? kind : before(append, count))
  }

  /** From now on nothing commits until `commit` or `release`. */
  hold(): void {
    this.#held = true
  }

  release(): void {
    this.#held = false
    this.commit()
  }

  /** How many appends wait. */
  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * One transaction over everything that waits. With `answer: false` it commits and tells nobody: what a crash between the commit and
   * its answer looks like; follow it by `crash`.
   */
  commit(options: { answer?: boolean } = {}): void {
    const batch = this.#waiting
    this.#waiting = []
    const told: Committed[] = []
    const answers: (() => void)[] = []
    for (const { entry, resolve, reject } of batch) {
      const mark = 'read' in entry
      const fault = this.fault(mark ? { session: entry.session, expectSeq: 0, events: [], urgency: 'now' } : entry, ++this.#appends)
      try {
        if (fault) throw new StoreFault(fault, fault === 'full' ? 'the disk is full' : 'the disk failed')
        const marked = mark ? commitMark(this.disk, entry.session, entry.read) : null
        const committed = mark ? marked?.committed : commitEntry(this.disk, structuredClone(entry), this.#clock())
        if (committed) told.push(committed)
        answers.push(() => resolve(mark ? marked !== null : committed!))
      } catch (error) {
        answers.push(() => reject(error as Error))
      }
    }
    this.#commits += 1
    for (const committed of told) this.#events += committed.events.length
    if (options.answer === false) return
    if (told.length > 0) this.#listener(told)
    for (const answer of answers) answer()
  }

  /** As `kill -9`: what waits is lost, its promises never settle, nothing answers any more. Open the next store with the disk. */
  crash(): ModelDisk {
    this.#waiting = []
    this.#closed = true
    return this.disk
  }

  get id(): string {
    return this.disk.id
  }

  append(entry: Append): Promise<Committed> {
    return this.#wait(entry, entry.urgency) as Promise<Committed>
  }

  markRead(session: string, seq: number): Promise<boolean> {
    return this.#wait({ session, read: seq }, 'now') as Promise<boolean>
  }

  async prune(opts: { settledBefore: number; limit: number }): Promise<number> {
    return pruneDisk(this.#open(), opts.settledBefore, opts.limit)
  }

  hasten(): void {
    if (this.#held || this.#due || this.#waiting.length === 0) return
    this.#due = true
    queueMicrotask(() => {
      this.#due = false
      if (!this.#held && !this.#closed && this.#waiting.length > 0) this.commit()
    })
  }

  async load(session: string): Promise<SessionState | null> {
    const kept = this.#open().sessions.get(session)
    if (!kept) return null
    const { head, rev, generation, n, pos } = kept
    const beside = [...kept.beside].map(([id, foreign]) => ({ id, foreign }))
    return { head, deleted: kept.value.deleted, seq: kept.value.seq, rev, generation, n, pos, tail: tailOf(kept.value), ...(kept.read !== undefined && kept.entry && { read: kept.read }), beside }
  }

  async window(session: string, opts: { limit: number; before?: string }): Promise<Changes | null> {
    const kept = this.#standing(session)
    return kept && this.#window(kept, opts)
  }

  async changes(session: string, opts: { after: string; from: string; limit: number }): Promise<Changes | null> {
    const kept = this.#standing(session)
    if (!kept) return null
    const after = /^\d+$/.test(opts.after) ? Number(opts.after) : Infinity
    if (after > this.disk.rev) return { ...this.#window(kept, { limit: opts.limit }), reset: true }
    const newer = (id: string): boolean => (kept.revs.get(id) ?? 0) > after
    return {
      store: this.id, session: kept.head, turns: [...kept.value.turns.values()].filter((turn) => newer(turn.id)),
      rows: rowsOf(kept.value).filter((row) => newer(row.id) && row.pos >= opts.from), ...(kept.queueRev > after && { queue: kept.value.queue }),
      retracted: [...kept.retracted].filter(([, rev]) => rev > after).map(([id]) => id), from: opts.from, seq: kept.value.seq, cursor: String(this.disk.rev),
    }
  }

  async list(opts: { profile: string; limit: number; after?: string; before?: string }): Promise<ListChanges> {
    const mine = [...this.#open().sessions].filter(([, kept]) => kept.profile === opts.profile)
    const cursor = String(this.disk.rev)
    const after = opts.after === undefined ? undefined : /^\d+$/.test(opts.after) ? Number(opts.after) : Infinity
    if (after !== undefined && after <= this.disk.rev) {
      const news = mine.map(([id, kept]) => ({ id, entry: kept.entry, rev: kept.removed ?? kept.entry?.rev ?? 0 })).filter(({ rev }) => rev > after)
      news.sort((a, b) => a.rev - b.rev)
      const page = news.slice(0, opts.limit)
      const more = news.length > page.length
      return {
        store: this.id, entries: page.flatMap(({ entry }) => entry ?? []), removed: page.filter(({ entry }) => !entry).map(({ id }) => id),
        cursor: more ? String(page[page.length - 1]!.rev) : cursor, more,
      }
    }
    const entries = mine.flatMap(([, kept]) => kept.entry ?? [])
    entries.sort((a, b) => b.lastAt - a.lastAt || (a.id < b.id ? 1 : -1))
    const start = opts.before === undefined ? 0 : entries.findIndex(({ id }) => id === opts.before) + 1
    const page = entries.slice(start, start + opts.limit)
    return { store: this.id, entries: page, removed: [], cursor, more: start + page.length < entries.length, ...(after === undefined ? {} : { reset: true as const }) }
  }

  async events(session: string, opts: { afterSeq: number; limit: number }): Promise<Event[]> {
    const kept = this.#open().sessions.get(session)
    return kept ? kept.log.map(({ event }) => event).filter((event) => event.seq > opts.afterSeq).slice(0, opts.limit) : []
  }

  async since(opts: { after: number; upTo: number; session?: string; profile: string; limit: number }): Promise<Committed[] | null> {
    if (opts.after > opts.upTo || opts.upTo > this.#open().rev) return null
    const within = (rev: number): boolean => rev > opts.after && rev <= opts.upTo
    const byRev = new Map<number, Committed>()
    for (const [session, kept] of this.#open().sessions) {
      if (kept.profile !== opts.profile) continue
      const at = (rev: number): Committed => {
        const committed = byRev.get(rev) ?? { rev, session, profile: kept.profile, events: [] }
        byRev.set(rev, committed)
        return committed
      }
      if (session === opts.session && kept.prunedRev > opts.after) return null
      if (session === opts.session) for (const { rev, event } of kept.log) if (within(rev)) at(rev).events.push(event)
      if (kept.entry && within(kept.entry.rev)) at(kept.entry.rev).entry = kept.entry
      if (kept.removed !== null && within(kept.removed)) at(kept.removed).removed = true
    }
    return [...byRev.values()].sort((a, b) => a.rev - b.rev).slice(0, opts.limit)
  }

  async head(): Promise<number> {
    return this.#open().rev
  }

  async run(id: string): ReturnType<Store['run']> {
    for (const [session, kept] of this.#open().sessions) {
      const started = kept.started.get(id)
      const run = started && kept.value.turns.get(started.turn)?.runs.find((run) => run.id === id)
      if (started && run) return { session, startedSeq: started.seq, run, ...(started.pruned && { pruned: true }) }
    }
    return null
  }

  async unsettled(): Promise<string[]> {
    return [...this.#open().sessions].filter(([, kept]) => kept.run).map(([id]) => id)
  }

  async queued(): Promise<string[]> {
    return [...this.#open().sessions].filter(([, kept]) => kept.value.queue.items.length > 0).map(([id]) => id)
  }

  async receipt(scope: ReceiptScope): Promise<Receipt | null> {
    return receiptOf(this.#open(), scope, this.#clock())
  }

  async context(session: string): Promise<ContextItem[]> {
    return [...(this.#open().sessions.get(session)?.context ?? [])]
  }

  async noteProcess(process: ToolProcess): Promise<void> {
    this.#open().processes.set(process.pid, process)
  }

  async forgetProcess(pid: number): Promise<void> {
    this.#open().processes.delete(pid)
  }

  async processes(): Promise<ToolProcess[]> {
    return [...this.#open().processes.values()]
  }

  async imported(session: string, seq: number): Promise<ImportBatch> {
    const kept = this.#standing(session)
    if (!kept?.log.some(({ event }) => event.seq === seq && event.type === 'rows.imported')) return { turns: [], rows: [] }
    const rows = rowsOf(kept.value).filter((row) => row.seq === seq)
    const turns = [...new Set(rows.map((row) => row.turn))].map((id) => kept.value.turns.get(id)!)
    return { turns: turns.filter((turn) => turn.seq === seq), rows }
  }

  async foreign(session: string, among?: ForeignAmong): Promise<ForeignRow[]> {
    const wanted = (row: ForeignRow): boolean => !among || (row.store === among.store && row.session === among.session && among.rows.includes(row.row))
    return [...this.#open().foreign.values()].flatMap(({ chat, ...row }) => (chat === session && wanted(row) ? [row] : []))
  }

  onCommit(listener: (batch: Committed[]) => void): void {
    this.#listener = listener
  }

  stats(): StoreStats {
    return { commits: this.#commits, events: this.#events, lastCommitMs: 0, waiting: this.#waiting.length }
  }

  async check(): Promise<{ ok: boolean; words: string }> {
    const wrong = [...this.#open().sessions.values()].flatMap((kept) => checkInvariants(kept.value))
    return { ok: wrong.length === 0, words: wrong.length === 0 ? 'ok' : wrong.join('; ') }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#held = false
    if (this.#waiting.length > 0) this.commit()
    this.#closed = true
  }

  #wait(entry: Append | ReadMark, urgency: Append['urgency']): Promise<Committed | boolean> {
    if (this.#closed) return Promise.reject(new StoreFault('closed', 'the store is closed'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject })
      if (urgency === 'now') this.hasten()
      else if (!this.#held) this.#after(this.#groupMs, () => this.hasten())
    })
  }

  #open(): ModelDisk {
    if (this.#closed) throw new StoreFault('closed', 'the store is closed')
    return this.disk
  }

  #standing(session: string): KeptSession | null {
    const kept = this.#open().sessions.get(session)
    return kept && !kept.value.deleted ? kept : null
  }

  #window(kept: KeptSession, opts: { limit: number; before?: string }): Changes {
    const { value } = kept
    const before = opts.before
    const candidates = rowsOf(value).filter((row) => before === undefined || row.pos < before)
    const rows = candidates.slice(Math.max(0, candidates.length - opts.limit))
    const turns = [...new Set(rows.map((row) => row.turn))].map((id) => value.turns.get(id)!)
    const from = rows.length < candidates.length ? (rows[0]?.pos ?? before ?? '') : ''
    return { store: this.id, session: kept.head, turns, rows, queue: value.queue, retracted: [], from, seq: value.seq, cursor: String(this.disk.rev) }
  }
}

function rowsOf(value: Transcript): Row[] {
  return value.order.map((id) => value.rows.get(id)!)
}

function tailOf(value: Transcript): Transcript {
  const rows = rowsOf(value)
  const turn = value.turns.get(rows[rows.length - 1]?.turn ?? '')
  const tail = emptyTranscript()
  tail.session = value.session
  tail.deleted = value.deleted
  tail.queue = value.queue
  tail.seq = value.seq
  if (!turn) return tail
  tail.turns.set(turn.id, turn)
  for (const row of rows) {
    if (row.turn !== turn.id) continue
    tail.rows.set(row.id, row)
    tail.order.push(row.id)
  }
  tail.from = rows[0]!.turn === turn.id ? '' : turn.pos
  return tail
}
