import type { Changes, Cursor, ListChanges } from '../contract/wire'
import type { Draft, Event } from '../contract/events'
import type { ImportBatch } from '../contract/fold'
import type { ListEntry } from '../contract/listing'
import type { Run, SessionHead, Transcript } from '../contract/session'

/**
 * The store's port (spec/log.md §5). Every verb returns a promise, although SQLite answers at once: a second implementation may be far away.
 * What resolves has committed with `synchronous=FULL`; what is shown to any client was committed before.
 */
export interface Store {
  /** Random identity of this database. */
  readonly id: string
  /**
   * Appends events of one session in one transaction, joined with what else waits, but checked by itself. Resolves after the commit and
   * after the feed's listener has been given the committed entry. Rejects with `StoreRefusal` for what this entry got wrong (it alone is dropped), with
   * `StoreFault` when the disk or database failed (nothing of it is there).
   */
  append(append: Append): Promise<Committed>
  /** Commits what waits with `urgency: 'soon'` now. */
  hasten(): void
  /** What the session actor needs to go on: head, counters, last turn, open rows. Null for unknown; a deleted one answers with `deleted`. */
  load(session: string): Promise<SessionState | null>
  /** The newest `limit` rows and their turns, or those before a `pos`, read in one snapshot. Null for unknown or deleted. */
  window(session: string, opts: { limit: number; before?: string }): Promise<Changes | null>
  /** What changed since the cursor, leaving out rows before the reader's `from`. A cursor of the future or of another store answers a window with `reset`. */
  changes(session: string, opts: { after: Cursor; from: string; limit: number }): Promise<Changes | null>
  /** List entries: newest by `lastAt` (paged by `before`, an entry id), or those changed since a cursor with tombstones. */
  list(opts: { profile: string; limit: number; after?: Cursor; before?: string }): Promise<ListChanges>
  /** The log of one session from a `seq` on, oldest first. Events that were pruned are not in it: their numbers are missing. */
  events(session: string, opts: { afterSeq: number; limit: number }): Promise<Event[]>
  /** What a `rows.imported` brought, as far as it was not retracted since: the fold's second input. Empty for any other event. */
  imported(session: string, seq: number): Promise<ImportBatch>
  /** Which rows of agents' own stores are known to a chat, in no order. `among`: of these rows of one stored session only, at the cost of their number. */
  foreign(session: string, among?: ForeignAmong): Promise<ForeignRow[]>
  /** Committed entries with a revision in (after, upTo], for replay to a reader. Null when part of it is not to be had (then the reader resets). */
  since(opts: { after: number; upTo: number; session?: string; profile: string; limit: number }): Promise<Committed[] | null>
  /** The highest committed revision. */
  head(): Promise<number>
  /** Finds the session and row place of a run, for the original's stream ids. */
  run(id: string): Promise<FoundRun | null>
  /** Sessions with a run that has not settled, for recovery; never scans histories. */
  unsettled(): Promise<string[]>
  /** Sessions whose queue has waiting items, for the start; never scans histories. */
  queued(): Promise<string[]>
  /**
   * A person has seen this chat up to `seq`, at most its newest; never goes back. Resolves after the commit and after the feed has the moved list entry (an entry
   * without events), if it moved; false for an unknown or deleted session. A mark is no event (spec/log.md §3).
   */
  markRead(session: string, seq: number): Promise<boolean>
  /**
   * Removes `row.*` events of runs that settled before `settledBefore` (server's ms), at most `limit` of them, those that settled first before others; no fold
   * changes. How many went; 0: none is left. A short transaction of the writer's own: appends wait for it as for any other commit.
   */
  prune(opts: { settledBefore: number; limit: number }): Promise<number>
  receipt(scope: ReceiptScope): Promise<Receipt | null>
  /** The model's context of a session, in order (embedded agents' own history). */
  context(session: string): Promise<ContextItem[]>
  /** Process groups started for tools, so that what outlives our death can be ended at the next start. */
  noteProcess(process: ToolProcess): Promise<void>
  forgetProcess(pid: number): Promise<void>
  processes(): Promise<ToolProcess[]>
  /** One listener: the feed. Called with every committed batch, in revision order, before the appends of the batch resolve. */
  onCommit(listener: (batch: Committed[]) => void): void
  /** Numbers for `/health` and the bench. */
  stats(): StoreStats
  /** `integrity_check` and counts; slow. */
  check(): Promise<{ ok: boolean; words: string }>
  close(): Promise<void>
}

/** Where a run stands. `pruned`: its `row.*` events, or the first of them, are no longer in the log; its rows are whole all the same. */
export interface FoundRun { session: string; startedSeq: number; run: Run; pruned?: true }

export interface Append {
  session: string
  /** `seq` of the first event; a mismatch refuses the entry (`sequence`). */
  expectSeq: number
  events: Event[]
  /** Required when an event carries a run; the store refuses one that is not current or whose run has settled (`stale_generation`). */
  generation?: number
  /** `now` commits at once, `soon` with the next group of growth (25–50 ms). */
  urgency: 'now' | 'soon'
  receipt?: Receipt & ReceiptScope & { bodyHash: string }
  context?: ContextChange
  /** Opaque values of an agent kept beside an event, by the id of the question: in no frame, row or export. */
  beside?: { id: string; foreign: string }[]
  /** The batch of the one `rows.imported` among the events. */
  imported?: ImportBatch
  /** Rows of the agent's own store that are known from now on. One that is known as something else refuses the entry (`mapped`): nothing is imported twice (spec/agents.md §7). */
  foreign?: ForeignRow[]
}

/**
 * A row of an agent's own store, by names that are the agent's: which store, which of its sessions, which row. `ours`: the row that shows it; null: none does, or it
 * has been retracted.
 */
export interface ForeignRow { store: string; session: string; row: string; ours: string | null }
export interface ForeignAmong { store: string; session: string; rows: readonly string[] }

export interface ReceiptScope { profile: string; route: string; key: string }
/** What an accepted request was answered, kept 30 days. */
export interface Receipt { bodyHash: string; status: number; body: unknown }

/** One provider-shaped message and the rows it came from; items whose rows are all retracted leave the context. */
export interface ContextItem { message: unknown; rows: string[]; turn: string }
export interface ContextChange { add: ContextItem[] }

export interface Committed {
  rev: number
  session: string
  profile: string
  events: Event[]
  /** Present only when the list entry changed. */
  entry?: ListEntry
  removed?: true
}

export interface SessionState {
  head: SessionHead
  deleted: boolean
  seq: number
  rev: number
  generation: number
  /** Highest `n` and `pos` ever given out, tombstones included. */
  n: number
  pos: string
  /** Head, queue, the last turn with all its rows: `from` is that turn's `pos`. */
  tail: Transcript
  /** Up to which `seq` a person has seen it; absent: never. */
  read?: number
  /** What was kept beside the questions that are open. */
  beside: { id: string; foreign: string }[]
}

export interface ToolProcess { pid: number; /** Kernel start time of the leader, in clock ticks since boot, as text; guards against a reused id. */ startTime: string; bootId: string; session: string; run: string }
export interface StoreStats { commits: number; events: number; lastCommitMs: number; waiting: number; bytes?: number }

export type RefusalWhy = 'sequence' | 'stale_generation' | 'key_reused' | 'deleted' | 'unknown_session' | 'open_rows' | 'exists' | 'mapped'
export class StoreRefusal extends Error {
  constructor(readonly why: RefusalWhy, readonly receipt?: Receipt) { super(`store refused: ${why}`); this.name = 'StoreRefusal' }
}
export class StoreFault extends Error {
  constructor(readonly kind: 'full' | 'failed' | 'closed', words: string) { super(words); this.name = 'StoreFault' }
}
/** Why a store cannot be opened; `words` are for the terminal. */
export class StoreUnopened extends Error {
  constructor(readonly why: 'in_use' | 'newer_schema' | 'unreadable', words: string) { super(words); this.name = 'StoreUnopened' }
}
export type { Draft }
