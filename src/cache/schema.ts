import type { DBSchema, IDBPDatabase } from 'idb'
import type { ListEntry } from '../../server/contract/listing'
import type { Queue } from '../../server/contract/queue'
import type { Row } from '../../server/contract/rows'
import type { SessionHead, Turn } from '../../server/contract/session'
import type { Cursor } from '../../server/contract/wire'

/** What the first paint of a chat needs, in one record: its head, its last rows and their turns, and how far the copy reaches. */
export interface PageRecord {
  session: string
  head: SessionHead
  /** The last rows in display order, at most `PAGE_ROWS`, complete from the `pos` `rowsFrom` on. */
  rows: Row[]
  rowsFrom: string
  /** Turns of those rows. */
  turns: Turn[]
  /** The waiting messages, whole. Absent in copies of a build that knew of none: nothing waited when they were made. */
  queue?: Queue
  /** The copy is complete from this `pos` on; `''` when nothing lies before. */
  from: string
  /** The copy is true as of this cursor. */
  cursor: Cursor
  /** What lies before `rows` may lack events up to `seq`: it must be caught up from the cursor, a replay is not enough. */
  behind: boolean
  seq: number
  /** ms when the copy was last known to be true. */
  savedAt: number
}
export const PAGE_ROWS = 50

export interface SavedRow { session: string; id: string; pos: string; row: Row }
export interface SavedTurn { session: string; id: string; turn: Turn }
/** How far the copy of the list reaches. */
export interface ListNote { key: 'list'; cursor: Cursor; more: boolean; savedAt: number }
export interface SavedAnswer { key: string; body: unknown; savedAt: number }
export interface SavedDraft { session: string; text: string; savedAt: number }

export interface CopySchema extends DBSchema {
  entries: { key: string; value: ListEntry }
  notes: { key: string; value: ListNote }
  pages: { key: string; value: PageRecord }
  rows: { key: [string, string]; value: SavedRow; indexes: { place: [string, string] } }
  turns: { key: [string, string]; value: SavedTurn }
  drafts: { key: string; value: SavedDraft }
  answers: { key: string; value: SavedAnswer }
}

export type CopyDatabase = IDBPDatabase<CopySchema>

/** Raised with every change of `CopySchema`; `migrate` leads from any older one to here. */
export const COPY_VERSION = 1

/** Databases are named by whose data they hold, so that no store, user or profile ever sees another's rows. */
export function copyName(store: string, user: string, profile: string): string {
  return `talaria:${store}:${user}:${profile}`
}

/** Copies can always be had again from the server, so a step may drop what it cannot carry over; drafts it must keep. */
export function migrate(database: CopyDatabase, from: number): void {
  if (from < 1) {
    database.createObjectStore('entries', { keyPath: 'id' })
    database.createObjectStore('notes', { keyPath: 'key' })
    database.createObjectStore('pages', { keyPath: 'session' })
    database.createObjectStore('rows', { keyPath: ['session', 'id'] }).createIndex('place', ['session', 'pos'])
    database.createObjectStore('turns', { keyPath: ['session', 'id'] })
    database.createObjectStore('drafts', { keyPath: 'session' })
    database.createObjectStore('answers', { keyPath: 'key' })
  }
}
