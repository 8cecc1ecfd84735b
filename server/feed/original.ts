import { originalCursor, originalStream, translate } from '../contract/original'
import type { Event } from '../contract/events'
import type { FullSession } from '../contract/routes'
import type { Row } from '../contract/rows'
import type { Store } from '../store/port'
import { FrameTeller } from './frame-teller'
import type { Outlet } from './outlet'
import { openView } from './view'
import type { ViewParts } from './view'

/** Events of one read. */
export const PAGE = 500

export interface OriginalReader {
  outlet: Outlet
  session: string
  run: string
  startedSeq: number
  /** A re-attached run goes on in rows that opened before it: those of its turn. */
  held?: Iterable<Row>
  /** Of an earlier connection: `<run>:<n>`, or the number alone. What cannot be honoured is told from the start, never skipped. */
  cursor?: string
}

export interface OriginalParts extends ViewParts {
  store: Pick<Store, 'events' | 'load'>
  /** The settled session, for the last frame. */
  full(session: string): Promise<FullSession | null>
}

/**
 * The original's stream of one run (spec/log.md §8): a view over the log that holds nothing durable. Events are read from the store, in order, from
 * the run's start; a commit only wakes the reading, so that nothing waits in memory for a slow reader. Resolves when the stream has ended.
 *
 * Events that were pruned are never skipped in silence (settlement.md §5.5): a reader that has nothing yet gets the settled end, which carries the whole chat; one
 * that has a part gets one `apperror` with `recovery_control`, on which it reads the chat anew.
 */
export async function tellRun(parts: OriginalParts, reader: OriginalReader): Promise<void> {
  const { store, feed, timers, full } = parts
  const { outlet, session } = reader
  const view = openView(parts, outlet)
  const stream = originalStream(session, reader.run, reader.startedSeq, reader.held)
  const teller = new FrameTeller(timers, outlet)
  let deletion: Event | undefined
  const unwatch = feed.watch(session, (entry) => {
    if (entry.removed) deletion = entry.events.find((event) => event.type === 'session.deleted')
    view.signal()
  })
  let read = reader.startedSeq - 1
  /** Part of the run is pruned: only its end is told. */
  let endOnly = false
  /** False when the reader cannot be told the rest. */
  const passGap = (next: number): boolean => {
    if (teller.from !== null && next <= teller.from.seq + 1) return true
    if (teller.from !== null || teller.told > 0) {
      teller.send('apperror', recovery(reader, next - read - 1))
      return false
    }
    return (endOnly = true)
  }

  try {
    teller.from = originalCursor(reader.cursor, stream, (await store.load(session))?.seq ?? 0)
    while (!view.over) {
      const page = deletion ? [deletion] : await store.events(session, { afterSeq: read, limit: PAGE })
      // The event behind a question says whether it was answered by itself, so the last of a full page waits for the next one.
      const more = page.length === PAGE
      for (const [i, event] of page.slice(0, more ? -1 : undefined).entries()) {
        if (view.over) break
        if (event.seq !== read + 1 && !deletion && !passGap(event.seq)) return
        const ends = event.type === 'run.settled' && event.run === reader.run
        const frames = translate(stream, event, ends ? await full(session) : null, page[i + 1])
        if (teller.tell(stream, event.seq, endOnly && !ends && !deletion ? [] : frames)) view.finish()
        read = event.seq
        await outlet.drained()
      }
      if (stream.ended) break
      if (!more) await view.news()
    }
  } finally {
    unwatch()
    teller.flush()
    view.close()
  }
}

function recovery({ session, run }: OriginalReader, dropped: number): Record<string, unknown> {
  return {
    message: 'This part of the answer is not kept as a stream any more; the chat has it whole.', type: 'interrupted', recovery_control: true, session_id: session, stream_id: run, offline_dropped_events: dropped,
  }
}
