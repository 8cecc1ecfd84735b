import type { Event } from './events'
import type { ListEntry } from './listing'
import type { Row } from './rows'
import type { Queue } from './queue'
import type { SessionHead, Turn } from './session'

/** The wire cursor: a store-wide revision as decimal text, opaque to clients (spec/log.md §2). */
export type Cursor = string

/** Answer of `GET /api/session/changes`: a window, or what changed since a cursor. All parts were read in one snapshot. */
export interface Changes {
  store: string
  /** The head; always sent. */
  session: SessionHead
  turns: Turn[]
  rows: Row[]
  /** The waiting messages, whole. With `after`: only when any of them changed. */
  queue?: Queue
  /** Row and turn ids that left since the cursor; only with `after`. */
  retracted: string[]
  /** With `after`: the reader's own `from`. Else: the `pos` from which this window is complete, `''` when nothing lies before it. */
  from: string
  /** The session's `seq` at the snapshot. */
  seq: number
  cursor: Cursor
  /** True when `after` could not be honoured: this is a window, drop what you had. */
  reset?: true
}

/** Answer of `GET /api/sessions/changes`. Without `after`: the newest `limit` entries by `lastAt`; `before` pages on. */
export interface ListChanges {
  store: string
  entries: ListEntry[]
  /** Ids deleted since the cursor. */
  removed: string[]
  cursor: Cursor
  /** More entries lie behind: with `after`, ask again with the new cursor; without, ask `before` the last entry's. */
  more: boolean
  reset?: true
}

/**
 * Frames of `GET /api/events`, the data of SSE events of the same name. `change` carries the id (a cursor); `beat` has none.
 * A reader registers first, is replayed to a captured watermark, gets one `synced`, then live frames.
 */
export interface Frames {
  change: { session: string; events?: Event[]; entry?: ListEntry; removed?: true }
  synced: { store: string; version: string; cursor: Cursor; now: number }
  beat: { now: number }
  /** What was after the cursor is not to be had: call `changes`. Without `session`: everything. */
  reset: { session?: string; cursor: Cursor }
}
export type FrameName = keyof Frames

/** Header of every API answer: the store's identity. */
export const STORE_HEADER = 'X-Talaria-Store'
/** Header of every answer that came from a copy: `offline`. */
export const SERVED_FROM_HEADER = 'X-Served-From'
/** ms since the epoch when the copy was last known to be true. */
export const COPY_AT_HEADER = 'X-Copy-At'
/** Beat interval, ms; three missed beats and the connection is not trusted any more. */
export const BEAT_MS = 5000
