import type { Attachment } from './attachments'
import type { Run } from './session'

/** A message that waits for its turn (spec/log.md §3 `queue.*`): it belongs to the session, never to an agent. */
export interface QueueItem {
  id: string
  text: string
  /** Server's ms. */
  addedAt: number
  /** `steer`: words that a run did not take any more. */
  by: 'person' | 'steer'
  /** Goes next as soon as no run is live, however the last one ended (*send now*, stop-and-send). */
  send?: true
  /** The client's key of the request that added it. */
  key?: string
  attachments?: readonly Attachment[]
}

/** Waiting items in the order in which they will be sent. `seq`: of the last event that changed any of them; the queue travels whole. */
export interface Queue { items: readonly QueueItem[]; seq: number }

export const EMPTY_QUEUE: Queue = { items: [], seq: 0 }

/** How many messages a session may have waiting. */
export const QUEUE_LIMIT = 50

/**
 * Which item goes when no run is live (spec/log.md §3): one that is to be sent now, else the first if the session's last run completed or
 * there was none. Null while it waits for the person: after stop, failure or interruption the queue pauses.
 */
export function nextQueued(queue: Queue, last: Pick<Run, 'state' | 'outcome'> | undefined): QueueItem | null {
  const chosen = queue.items.find((item) => item.send)
  if (chosen) return chosen
  return queuePaused(last) ? null : (queue.items[0] ?? null)
}

/** Derived, never stored: the session's last run ended otherwise than completed. */
export function queuePaused(last: Pick<Run, 'state' | 'outcome'> | undefined): boolean {
  return last?.state === 'settled' && last.outcome !== 'completed'
}
