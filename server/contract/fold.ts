import type { Event } from './events'
import type { Changes } from './wire'
import type { Transcript } from './session'

/** What an application changed, so that stores write and pages draw only that. */
export interface Touched {
  head: boolean
  turns: Set<string>
  /** Opened or changed rows. */
  rows: Set<string>
  /** Rows that only grew, with the text that was added: a renderer needs no more. A row in `rows` is not in here. */
  grew: Map<string, string>
  /** Ids that left. */
  removed: Set<string>
}
export type Applied = { state: 'applied'; touched: Touched } | { state: 'old' } | { state: 'gap' }
export declare function emptyTranscript(): Transcript
/** One step of the fold, in place: O(size of the event). `old`: seen before, nothing changed; `gap`: not applied, catch up. */
export declare function apply(value: Transcript, event: Event): Applied
/** Pure: a new value; throws `FoldGap` on a gap. */
export declare function fold(value: Transcript, events: Iterable<Event>): Transcript
/** Merges a catch-up answer or a window (`kind` says which) in place. A window older than the value's `seq` answers `stale`: ask again. */
export declare function merge(value: Transcript, changes: Changes, kind: 'window' | 'older' | 'after'): Applied | { state: 'stale' }
