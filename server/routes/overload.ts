import { Refusal } from '../contract/problems'
import type { Feed } from '../feed/feed'

/** Each open stream may hold up to a megabyte that its reader has not taken; so many of them are enough for any household. */
export const STREAMS_MAX = 512

/** Refuses one stream too many, so that those that are open stay well. */
export function refuseOverload(feed: Pick<Feed, 'stats'>): void {
  if (feed.stats().streams >= STREAMS_MAX) throw new Refusal('overloaded', 'Too many streams are open', { retryable: true })
}
