import type { Draft, Event } from '../contract/events'
import { apply, emptyTranscript } from '../contract/fold'
import type { SessionHead } from '../contract/session'
import { StoreFault } from '../store/port'

/** A request that has committed has succeeded, also where the store cannot be read just then: it is answered as it was claimed, never with an error that says nothing was saved. */
export function orClaimed<T>(read: Promise<T>, claimed: () => T): Promise<T> {
  return read.catch((error: unknown) => {
    if (error instanceof StoreFault) return claimed()
    throw error
  })
}

/** What changes of the head make of it. */
export function headAfter(head: SessionHead, drafts: readonly Draft[], at: number): SessionHead {
  const value = { ...emptyTranscript(), session: head, seq: head.seq }
  for (const draft of drafts) apply(value, { ...draft, session: head.id, seq: value.seq + 1, at } as Event)
  return value.session
}
