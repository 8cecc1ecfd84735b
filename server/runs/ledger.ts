import { StoreRefusal } from '../store/port'
import type { ContextItem, ForeignRow, Receipt, ReceiptScope, SessionState, Store } from '../store/port'
import type { Draft, Event } from '../contract/events'
import type { ImportBatch } from '../contract/fold'
import { posAfter } from '../contract/ids'
import type { Clock } from '../contract/ids'
import type { ToolHead } from '../contract/rows'

/** What one command or one agent event writes: all of it in the same append, or none. */
export interface Entry {
  drafts: Draft[]
  /** Fencing generation of the run that the drafts belong to. */
  generation?: number
  urgency?: 'now' | 'soon'
  receipt?: Receipt & ReceiptScope
  context?: ContextItem[]
  /** What an agent calls its questions, by our ids (`Append.beside`). */
  beside?: { id: string; foreign: string }[]
  /** Rows of the agent's own store that are known from now on. */
  foreign?: ForeignRow[]
  /** The batch of the `rows.imported` among the drafts; its `seq` is given here. An entry with one is an append of its own. */
  imported?: ImportBatch
  /** Server's ms of the events; the ledger's clock when absent. */
  at?: number
}

interface Waiting extends Entry {
  at: number
  urgency: 'now' | 'soon'
  resolve?: () => void
  reject?: (error: unknown) => void
}

/** A text row as its writer knows it: `length` is what the log will hold, in UTF-16 units. */
export interface GrowingRow { id: string; length: number }

/**
 * The one writer of a session's log (spec/log.md §5): gives `seq`, `n` and `pos`, keeps at most one append in flight, joins what arrives
 * meanwhile into the next, and joins the growth of a row into one event per append. Nothing is dropped while it is whole; after a
 * failed append it is broken for good, and its owner reads the session again.
 */
export class Ledger {
  #seq: number
  #n: number
  #pos: string
  readonly generation: number
  #queue: Waiting[] = []
  #flying: Waiting[] | null = null
  #scheduled = false
  #broken: { error: unknown } | null = null
  /** The waiting event that more text of a row may still join. */
  #tails = new Map<string, { text?: string }>()
  /** The waiting change of a tool that a later one may still join. */
  #patches = new Map<string, Draft & { type: 'row.changed' }>()
  #waitingUnits = 0
  #flyingUnits = 0
  #thirsty: (() => void)[] = []

  constructor(
    private readonly store: Store,
    private readonly session: string,
    from: Pick<SessionState, 'seq' | 'n' | 'pos' | 'generation'>,
    private readonly clock: Clock,
    /** Called once, when an append has failed and nothing more can be written through this ledger. */
    private readonly onBroken: (error: unknown) => void,
  ) {
    this.#seq = from.seq
    this.#n = from.n
    this.#pos = from.pos
    this.generation = from.generation
  }

  get broken(): boolean {
    return this.#broken !== null
  }

  /** UTF-16 units of growth that no commit holds yet. */
  get waitingUnits(): number {
    return this.#waitingUnits + this.#flyingUnits
  }

  /** The next place in the session: `n` and `pos` of a row that is about to open. */
  place(): { n: number; pos: string } {
    this.#n += 1
    this.#pos = posAfter(this.#pos)
    return { n: this.#n, pos: this.#pos }
  }

  /** The next number alone, for a row whose place lies before others. */
  number(): number {
    return ++this.#n
  }

  /** Resolves after the commit; rejects with what the store said. */
  write(entry: Entry): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#broken) reject(this.#broken.error)
      else this.#add({ ...entry, at: entry.at ?? this.clock(), urgency: entry.urgency ?? 'now', resolve, reject })
    })
  }

  /** As `write`, for what nobody waits for. A failure reaches the owner through `onBroken`. */
  push(entry: Entry): void {
    if (!this.#broken) this.#add({ ...entry, at: entry.at ?? this.clock(), urgency: entry.urgency ?? 'now' })
  }

  /** Remembers that text of this row may join the event that opens it, as long as that waits. */
  opened(row: GrowingRow, draft: Extract<Draft, { type: 'row.opened' }>): void {
    this.#tails.set(row.id, draft)
    this.#waitingUnits += draft.text?.length ?? 0
  }

  /** Adds text to a row of a run: O(text), whatever the number of calls. */
  grow(row: GrowingRow, run: string, generation: number, text: string): void {
    const at0 = row.length
    row.length += text.length
    if (this.#broken) return
    this.#waitingUnits += text.length
    const tail = this.#tails.get(row.id)
    if (tail) {
      tail.text = (tail.text ?? '') + text
      return
    }
    const draft: Draft = { type: 'row.grew', row: row.id, run, at0, text }
    this.#tails.set(row.id, draft)
    this.#add({ drafts: [draft], generation, urgency: 'soon', at: this.clock() })
  }

  /** Changes a tool: what a program prints meanwhile is one event per append, the newest of each field. */
  change(row: string, run: string, generation: number, tool: Partial<ToolHead>): void {
    if (this.#broken) return
    const waiting = this.#patches.get(row)
    if (waiting) {
      Object.assign(waiting.tool, tool)
      return
    }
    const draft: Draft & { type: 'row.changed' } = { type: 'row.changed', row, run, tool }
    this.#patches.set(row, draft)
    this.#add({ drafts: [draft], generation, urgency: 'soon', at: this.clock() })
  }

  /** Nothing later joins what waits for this row: the next thing about it is another event. */
  seal(row: string): void {
    this.#tails.delete(row)
    this.#patches.delete(row)
  }

  /** Resolves when all that was said so far has committed, or when the ledger broke. */
  landed(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#broken || (!this.#flying && this.#queue.length === 0)) return resolve()
        this.store.hasten()
        this.#thirsty.push(look)
      }
      look()
    })
  }

  /** Resolves when no more than `units` wait, or when the ledger broke. */
  drained(units: number): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#broken || this.waitingUnits <= units) resolve()
        else this.#thirsty.push(look)
      }
      look()
    })
  }

  #add(entry: Waiting): void {
    this.#queue.push(entry)
    if (entry.urgency === 'now' && this.#flying?.every((flying) => flying.urgency === 'soon')) this.store.hasten()
    this.#schedule()
  }

  /** After the current turn of the event loop's microtasks, so that what is said in one breath is one append. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#fly()
    })
  }

  #fly(): void {
    if (this.#flying || this.#broken || this.#queue.length === 0) return
    const taken = this.#take()
    this.#flying = taken
    this.#flyingUnits = this.#waitingUnits
    this.#waitingUnits = 0
    const before = this.#seq
    const events: Event[] = []
    const context: ContextItem[] = []
    const beside: NonNullable<Entry['beside']> = []
    const foreign: ForeignRow[] = []
    let imported: ImportBatch | undefined
    let generation: number | undefined
    let receipt: Entry['receipt']
    for (const entry of taken) {
      generation ??= entry.generation
      receipt ??= entry.receipt
      if (entry.context) context.push(...entry.context)
      if (entry.beside) beside.push(...entry.beside)
      if (entry.foreign) foreign.push(...entry.foreign)
      for (const draft of entry.drafts) {
        if ('row' in draft && this.#tails.get(draft.row) === draft) this.#tails.delete(draft.row)
        if (draft.type === 'row.changed' && this.#patches.get(draft.row) === draft) this.#patches.delete(draft.row)
        events.push({ ...draft, session: this.session, seq: ++this.#seq, at: entry.at } as Event)
        if (draft.type === 'rows.imported' && entry.imported) imported = numbered(entry.imported, this.#seq)
      }
    }
    this.store
      .append({
        session: this.session,
        expectSeq: before + 1,
        events,
        urgency: taken.some((entry) => entry.urgency === 'now') ? 'now' : 'soon',
        ...(generation === undefined ? {} : { generation }),
        ...(receipt ? { receipt } : {}),
        ...(context.length ? { context: { add: context } } : {}),
        ...(beside.length ? { beside } : {}),
        ...(foreign.length ? { foreign } : {}),
        ...(imported ? { imported } : {}),
      })
      .then(
        () => this.#landed(taken),
        (error: unknown) => this.#failed(taken, before, error),
      )
  }

  /** The longest run of entries that one append can hold: one generation, one receipt, and an import by itself. */
  #take(): Waiting[] {
    const first = this.#queue[0]!
    let generation = first.generation
    let end = 1
    if (!first.receipt && !first.imported) {
      for (; end < this.#queue.length; end++) {
        const entry = this.#queue[end]!
        if (entry.receipt || entry.imported || (entry.generation !== undefined && generation !== undefined && entry.generation !== generation)) break
        generation ??= entry.generation
      }
    }
    return this.#queue.splice(0, end)
  }

  #landed(taken: Waiting[]): void {
    this.#flying = null
    this.#flyingUnits = 0
    for (const entry of taken) entry.resolve?.()
    const thirsty = this.#thirsty
    this.#thirsty = []
    for (const look of thirsty) look()
    this.#fly()
  }

  #failed(taken: Waiting[], before: number, error: unknown): void {
    this.#flying = null
    if (error instanceof StoreRefusal && error.why === 'key_reused') {
      // Only a receipt of another session's command stood in the way; the log is as it was.
      this.#seq = before
      for (const entry of taken) entry.reject?.(error)
      this.#fly()
      return
    }
    this.#broken = { error }
    const queued = this.#queue
    this.#queue = []
    this.#tails.clear()
    this.#patches.clear()
    this.#waitingUnits = 0
    this.#flyingUnits = 0
    for (const entry of [...taken, ...queued]) entry.reject?.(error)
    const thirsty = this.#thirsty
    this.#thirsty = []
    for (const look of thirsty) look()
    this.onBroken(error)
  }
}

/** What is imported has the `seq` of its event. */
function numbered({ turns, rows }: ImportBatch, seq: number): ImportBatch {
  return { turns: turns.map((turn) => ({ ...turn, seq })), rows: rows.map((row) => ({ ...row, seq })) }
}
