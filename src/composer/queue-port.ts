import type { QueueItem } from '../../server/contract/queue'
import type { RunOutcome } from '../../server/contract/session'

/** What a person may do with the waiting messages of one chat. Each resolves when the server has done it, and rejects with `ProblemError`. */
export interface QueueOrders {
  change: (item: string, text: string) => Promise<unknown>
  /** Before another one; absent: to the end. */
  move: (item: string, before?: string) => Promise<unknown>
  /** Into the first of them, in the order in which they stand. */
  combine: (items: string[]) => Promise<unknown>
  remove: (item: string) => Promise<unknown>
  /** As soon as no run is live, whatever the last one came to; `stop`: the live one is stopped for it. */
  send: (item: string, stop: boolean) => Promise<unknown>
  /** Puts a removed message back, in front of the one that followed it. */
  restore: (item: QueueItem, before?: string) => Promise<unknown>
}

export interface QueueProps {
  /** In the order in which they will be sent; `seq` moves with every change of them. */
  queue: { items: readonly QueueItem[]; seq: number }
  /** A run is live: they wait for its end. */
  run: { stopping: boolean } | null
  /** How the last run ended, which is why they wait; null while nothing holds them up. */
  paused: Exclude<RunOutcome, 'completed'> | null
  online: boolean
  /** Nothing waited a moment ago: the first is told. */
  fresh: boolean
  orders: QueueOrders
  announce: (text: string) => void
  toast: (toast: { text: string; undo?: { label: string; run: () => void } }) => void
  /** Words of a message that could not be changed any more: below what stands in the message box of this chat. */
  give: (text: string) => void
  /** Where a half-written change lies while the page is away. */
  kept: KeptChange
  /** The card leaves with the focus in it. */
  onLeft: () => void
}

/** What a waiting message is to say, while somebody writes it; `was`: what it said before. */
export interface Change { id: string; was: string; text: string }

/** A half-written change of one chat, on this device. */
export interface KeptChange {
  load: () => Promise<Change | null>
  keep: (change: Change | null) => void
}
