import type { Event } from '../../server/contract/events'

/** What waits for a catch-up at most; beyond it the events are left to a second catch-up. */
const LIMIT = 2000

/** Events that came while a chat was not contiguous with them. */
export class Backlog {
  private events: Event[] = []
  private overflowed = false

  add(events: Event[]): void {
    if (this.events.length + events.length > LIMIT) {
      this.events = []
      this.overflowed = true
    } else this.events.push(...events)
  }

  /** These come first again: what is before them is missing. */
  keep(events: Event[]): void {
    this.events = events
  }

  /** Hands over what waited; null when some of it was let go. */
  take(): Event[] | null {
    const { events, overflowed } = this
    this.events = []
    this.overflowed = false
    return overflowed ? null : events
  }

  /** Another stream: what waited is none of it. */
  clear(): void {
    this.take()
  }
}
