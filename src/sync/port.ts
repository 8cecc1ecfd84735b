import type { ListEntry } from '../../server/contract/listing'
import type { Touched } from '../../server/contract/fold'
import type { Transcript } from '../../server/contract/session'

/**
 * What surfaces see of the server and of the copies: values and subscriptions, never fetches, timers or databases. Plain TypeScript
 * without Solid, so that it compiles under the DOM and the WebWorker libraries alike; `src/sync/reactive.ts` wraps it in signals for the page.
 */
export interface Sync {
  connection(): Connection
  onConnection(listener: (connection: Connection) => void): () => void
  list(): ChatList
  onList(listener: (list: ChatList) => void): () => void
  /** Opens a chat: paints from the copy, then catches up, then live. One chat is open at a time per page; opening another closes it. */
  open(session: string): OpenChat
  /** Probe and reconnect at once (*Try now*). */
  retryNow(): void
  /** Which chats have a copy on this device. */
  saved(session: string): boolean
  /** Whether this device takes copies now: `full` when there is no room for what is new, `none` when there is no storage at all. */
  keeping(): Keeping
  close(): void
}

export type Keeping = 'ok' | 'full' | 'none'

export type Connection =
  | { state: 'starting' }
  | { state: 'connected'; since: number }
  /** `since`: ms when the connection was last known good; `savedAt`: age of what is shown; `attempt` counts from 1. */
  | { state: 'reconnecting'; since: number; attempt: number }
  | { state: 'offline'; since: number; attempt: number }

export interface ChatList {
  /** `empty` until a copy or the server answered. */
  state: 'loading' | 'ready'
  /** By id. */
  entries: ReadonlyMap<string, ListEntry>
  more: boolean
  loadMore?: () => Promise<void>
}

export interface OpenChat {
  readonly session: string
  /** `absent`: the server said so (404, 410); `not_here`: offline and never opened on this device; `other_profile`: 409. */
  state(): 'loading' | 'ready' | 'absent' | 'not_here' | 'other_profile'
  /** The fold's value, mutated in place as events arrive; row objects are replaced, never mutated. */
  value(): Transcript
  /** `copy`: from this device, not confirmed yet; `live`: caught up. */
  freshness(): 'copy' | 'live'
  /** ms when the copy was last known to be true. */
  savedAt(): number | null
  subscribe(listener: (news: ChatNews) => void): () => void
  /** Adds an older window above; resolves when it is folded in. False when nothing lies before (or it is not here, offline). */
  older(): Promise<boolean>
  close(): void
}

export type ChatNews =
  /** What one or more events touched. */
  | { type: 'touched'; touched: Touched }
  /** The value was replaced or merged: read it anew. */
  | { type: 'value' }
  | { type: 'state' }
