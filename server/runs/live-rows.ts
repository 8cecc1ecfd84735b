import type { Timers } from '../agents/port'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import type { Row, RowKind, RowState } from '../contract/rows'
import type { ContextItem } from '../store/port'
import type { Ledger } from './ledger'
import { saidBy } from './loose'
import { Joiner } from './wellformed'

/** A row of the run that may still change. `length`: UTF-16 units that the log holds of its text, or will. */
export interface LiveRow { readonly id: string; readonly kind: RowKind; readonly openedAt: number; length: number; readonly call?: string; readonly chars: Joiner }

type Opened = Extract<Draft, { type: 'row.opened' }>
type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
/** What a row is opened with; its id, its place and its run are claimed by `open`. */
export type Opening = Without<Opened, 'type' | 'row' | 'n' | 'pos' | 'turn' | 'run'>

export interface LiveRowsParts {
  ledger: Ledger
  mint: Mint
  timers: Timers
  run: string
  turn: string
  generation: number
  userRow: string
}

/**
 * The live rows of one run, and the way into the log for everything that is said of them: ids and places are born here, text that waits is
 * sealed before anything else is said of its row, and what the model is to remember goes with the rows that it came from. Synchronous.
 */
export class LiveRows {
  #live = new Map<string, LiveRow>()
  #fresh: string[] = []
  /** The row that opened last: what comes of it later leaves the context with it. */
  #latest: string | null = null
  #context: ContextItem[] = []
  /** True once the agent has kept something with us. */
  #keeps = false

  constructor(private readonly p: LiveRowsParts) {}

  get run(): string {
    return this.p.run
  }

  get all(): LiveRow[] {
    return [...this.#live.values()]
  }

  /** True while a row may still change. */
  has(row: string): boolean {
    return this.#live.has(row)
  }

  /** Opens a row; the draft is the caller's to push. A notice and a divider are born done and are not held. */
  open(opening: Opening, text?: string): { row: LiveRow; draft: Opened } {
    const row: LiveRow = {
      id: this.p.mint('row'), kind: opening.kind, openedAt: this.p.timers.monotonic(), length: 0, chars: new Joiner(), ...(opening.kind === 'tool' ? { call: opening.tool.call } : {}),
    }
    const said = text === undefined ? undefined : row.chars.take(text)
    row.length = said?.length ?? 0
    if (row.kind !== 'notice' && row.kind !== 'divider') this.#live.set(row.id, row)
    this.#fresh.push(row.id)
    this.#latest = row.id
    const draft = { ...opening, type: 'row.opened', row: row.id, ...this.p.ledger.place(), turn: this.p.turn, run: this.p.run, ...(said === undefined ? {} : { text: said }) } as Opened
    return { row, draft }
  }

  /** A row of an earlier run of the turn that is live again in this one (`reopens`). */
  reopen(row: Row): LiveRow {
    const live: LiveRow = {
      id: row.id, kind: row.kind, openedAt: this.p.timers.monotonic(), length: row.text.length, chars: new Joiner(), ...(row.kind === 'tool' ? { call: row.tool.call } : {}),
    }
    this.#live.set(row.id, live)
    this.#latest = row.id
    return live
  }

  /** Drafts that close one live row; none if it is closed already. */
  closing(id: string, state: Exclude<RowState, 'live'>, more: Partial<Extract<Draft, { type: 'row.closed' }>> = {}): Draft[] {
    const row = this.#live.get(id)
    if (!row) return []
    const drafts: Draft[] = []
    const rest = row.chars.rest()
    if (rest) {
      drafts.push({ type: 'row.grew', row: id, run: this.p.run, at0: row.length, text: rest })
      row.length += rest.length
    }
    this.#live.delete(id)
    this.p.ledger.seal(id)
    drafts.push({ ...more, type: 'row.closed', row: id, run: this.p.run, state, duration: this.since(row.openedAt) })
    return drafts
  }

  /** The opening of a row of text, which more text may still join. */
  pushText(row: LiveRow, draft: Opened): void {
    this.push([draft])
    this.p.ledger.opened(row, draft)
  }

  /** More text of a live row: joined with what waits. */
  grow(row: LiveRow, delta: string): string {
    const text = row.chars.take(delta)
    if (text) this.p.ledger.grow(row, this.p.run, this.p.generation, text)
    return text
  }

  /** Shortens a row of this run, live or closed. */
  cut(row: LiveRow, keep: number, why: Extract<Draft, { type: 'row.cut' }>['why']): void {
    row.chars.rest()
    if (keep >= row.length) return
    row.length = keep
    this.push([{ type: 'row.cut', row: row.id, run: this.p.run, keep, why }])
  }

  /** Messages that the model is to remember: they leave its context when all rows that opened since the last ones have gone. */
  keep(messages: readonly unknown[]): void {
    this.#keeps = true
    const rows = this.#fresh.length ? this.#fresh : [this.#latest ?? this.p.userRow]
    this.#fresh = []
    for (const message of messages) this.#context.push({ message, rows, turn: this.p.turn })
  }

  /** Words that broke off before an agent whose history is ours could keep them: what the person sees, the model must know too. */
  keepLoose(row: string, text: string): void {
    if (this.#keeps && this.#fresh.includes(row) && text.trim() !== '') this.keep([saidBy(text)])
  }

  /** The messages that no append has taken yet. */
  takeContext(): ContextItem[] {
    const context = this.#context
    this.#context = []
    return context
  }

  /** Into the log, in one append. */
  push(drafts: Draft[], urgency: 'now' | 'soon' = 'now'): void {
    if (drafts.length > 0) this.p.ledger.push(this.#entry(drafts, urgency, []))
  }

  /** As `push`, with what the agent calls its questions beside it, by our id. Resolves after the commit. Nobody has to wait for it: that an append failed reaches the ledger's owner. */
  write(drafts: Draft[], beside: { id: string; foreign: string }[] = []): Promise<void> {
    if (drafts.length === 0) return Promise.resolve()
    const committed = this.p.ledger.write(this.#entry(drafts, 'now', beside))
    committed.catch(() => undefined)
    return committed
  }

  /** ms since an instant of the monotonic clock. */
  since(at: number): number {
    return Math.max(0, Math.round(this.p.timers.monotonic() - at))
  }

  #entry(drafts: Draft[], urgency: 'now' | 'soon', beside: { id: string; foreign: string }[]) {
    for (const draft of drafts) if ('row' in draft && draft.type !== 'row.opened') this.p.ledger.seal(draft.row)
    const context = this.takeContext()
    return { drafts, generation: this.p.generation, urgency, ...(context.length ? { context } : {}), ...(beside.length ? { beside } : {}) }
  }
}
