import type { ListEntry } from '../../server/contract/listing'
import type { Queue } from '../../server/contract/queue'
import type { Row } from '../../server/contract/rows'
import type { SessionHead, Turn } from '../../server/contract/session'
import type { Cursor } from '../../server/contract/wire'
import type { Held } from './held'
import type { PageRecord, SavedAnswer } from './schema'

/** The copies of one store, user and profile on this device. No verb rejects; see `Held`. */
export interface Copies {
  /** Identity of the server's store that these are copies of. */
  readonly store: string
  list(): Promise<Held<SavedList | null>>
  saveList(save: ListSave): Promise<Held<void>>
  /** Null: this chat has no copy here. */
  page(session: string): Promise<Held<PageRecord | null>>
  /** The rows before a `pos`, newest `limit` of them, with their turns. Null when the copy reaches no further back. */
  before(session: string, pos: string, limit: number): Promise<Held<OlderRows | null>>
  /**
   * One transaction: rows, turns and page record agree after it, whatever happens. Nothing is written when another tab has saved a newer state.
   * Answers from which `pos` on the copy is complete now, which another tab may have moved either way. `gone`: there is no copy to add to, because
   * another tab has removed it; nothing was written, and only a `replace` begins a new one.
   */
  saveChat(save: ChatSave): Promise<Held<{ from: string; gone?: true }>>
  /** Rows that lie before what was held so far; `from` is where they begin. `moved`: the copy does not end at `upTo` any more; nothing was written. */
  saveOlder(session: string, older: OlderRows & { upTo: string; seq: number }): Promise<Held<'saved' | 'moved'>>
  /** The server said that these are gone: entry, rows, page record and draft leave. */
  forget(sessions: string[]): Promise<Held<void>>
  /** Ids of the chats that have a copy. */
  saved(): Promise<Held<string[]>>
  draft(session: string): Promise<Held<string>>
  /** An empty text removes the draft. */
  saveDraft(session: string, text: string, at: number): Promise<Held<void>>
  answer(key: string): Promise<Held<SavedAnswer | null>>
  saveAnswer(answer: SavedAnswer): Promise<Held<void>>
  close(): void
}

export interface SavedList { entries: ListEntry[]; cursor: Cursor; more: boolean; savedAt: number }

export interface ListSave {
  entries: ListEntry[]
  removed: string[]
  cursor: Cursor
  more: boolean
  savedAt: number
  /** Drop the entries held so far: they could not be brought up to date. */
  replace?: boolean
}

export interface OlderRows { rows: Row[]; turns: Turn[]; from: string }

export interface ChatSave {
  session: string
  head: SessionHead
  /** New or changed rows and turns. */
  rows: Row[]
  turns: Turn[]
  /** Ids of rows and turns that left. */
  removed: string[]
  /** The last rows and their turns, for the page record. */
  last: Row[]
  lastFrom: string
  lastTurns: Turn[]
  /** The waiting messages, whole. */
  queue: Queue
  from: string
  /** Something before what this tab holds may have changed up to this `seq`, unseen by it; 0 for nothing. */
  missed: number
  cursor: Cursor
  /** The cursor stands back because of what the copy holds before `last`. */
  behind: boolean
  seq: number
  savedAt: number
  /** Drop all that was held of this chat: it could not be brought up to date. `set_back`: also what is newer, the server's log was set back. */
  replace?: 'window' | 'set_back'
}

/** Where copies come from: one database for each store, and which store was the last one. */
export interface Shelf {
  /** Identity of the store that this device talked to last, for a start without the network. */
  last(): Promise<string | null>
  /** Always resolves; where there is no database, the copies answer with why. Remembers the store as the last one. */
  open(store: string): Promise<Copies>
}
