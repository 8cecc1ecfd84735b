import type { Cursor } from '../contract/wire'
import type { Append, ForeignAmong, ReceiptScope, StoreFault, StoreUnopened, ToolProcess } from './port'
import type { Connection } from './driver'
import { list } from './read/list'
import { events, foreign, imported, queued, run, since, unsettled } from './read/log'
import { check, context, processes, receipt } from './read/small'
import { load } from './read/state'
import { changes, window } from './read/window'
import type { ReadMark } from './write/mark'
import { prune } from './write/prune'
import type { Verdict, Writer } from './write/writer'

/** What the threads can be asked. A message is `{id, verb, args}`; its answer `{id, value}` or `{id, error}`. Verbs are plain functions of a connection, so that one table types both ends. */
export interface Reading { db: Connection; store: string }

export const READS = {
  load: ({ db }: Reading, session: string) => load(db, session),
  window: ({ db, store }: Reading, session: string, opts: { limit: number; before?: string }) => window(db, store, session, opts),
  changes: ({ db, store }: Reading, session: string, opts: { after: Cursor; from: string; limit: number }) => changes(db, store, session, opts),
  list: ({ db, store }: Reading, opts: { profile: string; limit: number; after?: Cursor; before?: string }) => list(db, store, opts),
  events: ({ db }: Reading, session: string, opts: { afterSeq: number; limit: number }) => events(db, session, opts),
  imported: ({ db }: Reading, session: string, seq: number) => imported(db, session, seq),
  foreign: ({ db }: Reading, session: string, among?: ForeignAmong) => foreign(db, session, among),
  since: ({ db }: Reading, opts: { after: number; upTo: number; session?: string; profile: string; limit: number }) => since(db, opts),
  run: ({ db }: Reading, id: string) => run(db, id),
  unsettled: ({ db }: Reading) => unsettled(db),
  queued: ({ db }: Reading) => queued(db),
  receipt: ({ db }: Reading, scope: ReceiptScope, now: number) => receipt(db, scope, now),
  context: ({ db }: Reading, session: string) => context(db, session),
  processes: ({ db }: Reading) => processes(db),
  check: ({ db }: Reading) => check(db),
} as const

export interface Writing { db: Connection; writer: Writer }
/** `bytes`: how large the database is, where that could be read. */
export interface BatchAnswer { verdicts: Verdict[]; ms: number; bytes?: number }

export const WRITES = {
  commit: ({ db, writer }: Writing, entries: (Append | ReadMark)[], now: number): BatchAnswer => {
    const began = performance.now()
    const verdicts = writer.commit(entries, now)
    return { verdicts, ms: performance.now() - began, ...size(db) }
  },
  prune: ({ db }: Writing, opts: { settledBefore: number; limit: number }) => prune(db, opts),
  noteProcess: ({ writer }: Writing, process: ToolProcess) => writer.noteProcess(process),
  forgetProcess: ({ writer }: Writing, pid: number) => writer.forgetProcess(pid),
} as const

/** The batch has committed: a number beside it that cannot be read must not make a fault of that. */
function size(db: Connection): { bytes?: number } {
  try {
    return { bytes: db.get<{ page_count: number }>('PRAGMA page_count')!.page_count * db.get<{ page_size: number }>('PRAGMA page_size')!.page_size }
  } catch {
    return {}
  }
}

export type Verbs = Record<string, (at: never, ...args: never[]) => unknown>
/** The arguments of a verb behind its connection, and what it answers. */
export type ArgsOf<V> = V extends (at: never, ...args: infer A) => unknown ? A : never
export type AnswerOf<V> = V extends (...args: never[]) => infer R ? R : never

export interface ThreadData {
  role: 'writer' | 'reader'
  folder: string
  /** Writer: server's ms, for a backup's name; a fresh random id, taken when the database is new; the program's version; the size that the file may have. */
  now: number
  fresh: string
  version: string
  maxBytes?: number
  /** Writer: how many sessions it remembers, and how many rows of one before it starts again from the last turn. */
  keep?: { sessions: number; rows: number }
  /** Reader: identity of the store. */
  store: string
}

export interface Request { id: number; verb: string; args: unknown[] }
/** First message of a thread; `rev` and `store` from the writer. */
export interface Opened { opened: true; store: string; rev: number }
export interface Unopened { unopened: { why: StoreUnopened['why']; words: string } }
export interface Answer { id: number; value?: unknown; error?: { kind: StoreFault['kind']; words: string } }
export type FromThread = Opened | Unopened | Answer
