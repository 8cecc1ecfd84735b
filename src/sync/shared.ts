import type { Backend } from '../backend/port'
import type { Held } from '../cache/held'
import type { Copies } from '../cache/port'
import type { Clock } from './clock'

/** Rows of one window. */
export const WINDOW_ROWS = 60

/** What the parts of a sync share. */
export interface Shared {
  backend: Backend
  clock: Clock
  /** The copies of the store that is synced with; null until one is known. */
  copies(): Copies | null
  /** How a write of the copies went. */
  wrote(done: Held<unknown>): void
  /** Identity of the store that is synced with; null until one is known. */
  store(): string | null
  /** False: the answer is of another store than the copies; it was not used, and everything starts anew with that one. */
  accepts(store: string): boolean
  /** Counts connections: what was asked in an earlier one says nothing of frames in this one. */
  epoch(): number
  connected(): boolean
  /** Frames of this chat arrive. */
  hears(session: string): boolean
  /** When the connection was last known to be good, ms. */
  lastGood(): number
}
