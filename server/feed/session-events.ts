import { originalCursor, originalStream, translate } from '../contract/original'
import type { OriginalStream } from '../contract/original'
import type { Row } from '../contract/rows'
import { lastRun } from '../contract/session'
import type { SessionState, Store } from '../store/port'
import { FrameTeller } from './frame-teller'
import type { Outlet } from './outlet'
import { PAGE } from './original'
import type { OriginalParts } from './original'
import { openView } from './view'

/** So many events are replayed at most; who is further behind reads the chat anew (settlement.md §0). */
export const REPLAY_EVENTS = 4096

export interface SessionEventsReader {
  outlet: Outlet
  session: string
  /** The chat as it stood before the reader was answered: what happens from then on is told. */
  opened: SessionState
  /** `<run>:<n>` of an earlier connection; absent: from the start of the run that is live, else from now on. */
  cursor?: string
}

export interface SessionEventsParts extends OriginalParts {
  store: Pick<Store, 'events' | 'load' | 'run'>
  /** Rows of a turn as they are now; for runs that go on in rows of an earlier one. */
  rowsOf(session: string, turn: string): Promise<Row[]>
}

/**
 * The original's stream over all runs of a chat (features.md §3.3, settlement.md §5.4): frames of one run after those of another, each with the id that the run's own stream gives it. A cursor that
 * cannot be honoured, or behind which something was pruned or too much has happened, gets `session_snapshot` with the whole chat, and what comes after it.
 */
export async function tellSessionEvents(parts: SessionEventsParts, { outlet, session, opened, cursor }: SessionEventsReader): Promise<void> {
  const { store, feed, timers, full } = parts
  const view = openView(parts, outlet)
  const unwatch = feed.watch(session, (entry) => (entry.removed ? view.finish() : view.signal()))
  const teller = new FrameTeller(timers, outlet)
  let stream: OriginalStream | null = null
  let read = 0

  /** Goes on behind that state. A run that is live there is read from its start, so that what follows can be told. */
  const goFrom = async ({ seq, tail }: SessionState): Promise<void> => {
    const turn = [...tail.turns.values()].pop()
    const run = turn && lastRun(turn)
    const live = run && run.state !== 'settled' ? await store.run(run.id) : null
    stream = null
    read = live ? Math.min(live.startedSeq - 1, seq) : seq
    teller.from = { seq, k: Infinity }
  }
  const snapshot = async (): Promise<void> => {
    const state = await store.load(session)
    const whole = state && (await full(session))
    if (!whole) return view.finish()
    teller.send('session_snapshot', { session: whole })
    await goFrom(state)
  }
  const begin = async (): Promise<void> => {
    const state = await store.load(session)
    if (!state || state.deleted) return view.finish()
    if (cursor === undefined) {
      await goFrom(opened)
      // Whoever comes fresh sees the live run from its start.
      teller.from = { seq: read, k: Infinity }
      return
    }
    const found = await store.run(cursor.slice(0, Math.max(0, cursor.lastIndexOf(':'))))
    const place = found?.session === session ? originalCursor(cursor, { run: found.run.id, startedSeq: found.startedSeq }, state.seq) : null
    if (!found || !place || state.seq - place.seq > REPLAY_EVENTS) return snapshot()
    read = found.startedSeq - 1
    teller.from = place
  }

  try {
    await begin()
    while (!view.over) {
      const page = await store.events(session, { afterSeq: read, limit: PAGE })
      const more = page.length === PAGE
      let gap = false
      for (const [i, event] of page.slice(0, more ? -1 : undefined).entries()) {
        if (view.over) break
        gap = event.seq !== read + 1 && event.seq > teller.from!.seq + 1
        if (gap) break
        if (event.type === 'run.started') stream = originalStream(session, event.run, event.seq, event.cause === 'reattached' ? await parts.rowsOf(session, event.turn) : [])
        if (stream) {
          const ends = event.type === 'run.settled' && event.run === stream.run && event.seq > teller.from!.seq
          teller.tell(stream, event.seq, translate(stream, event, ends ? await full(session) : null, page[i + 1]))
        }
        read = event.seq
        await outlet.drained()
      }
      if (gap) await snapshot()
      else if (!more) await view.news()
    }
  } finally {
    unwatch()
    teller.flush()
    view.close()
  }
}
