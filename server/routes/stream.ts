import { openOutlet } from '../feed/outlet'
import { tellRun } from '../feed/original'
import type { InputOf } from '../contract/routes'
import type { Row } from '../contract/rows'
import type { Store } from '../store/port'
import { readFull, readTranscript } from './full'
import { streamNotFound } from './load'
import { refuseOverload } from './overload'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** The original's stream of one run. Without a cursor it is told from its start, so that nothing that came before the connection is lost. */
export function chatStream({ store, feed, timers, report }: Pick<Parts, 'store' | 'feed' | 'timers' | 'report'>): Handlers<'GET /api/chat/stream'> {
  return {
    async 'GET /api/chat/stream'({ input, header, response }) {
      const found = await store.run(input.stream_id)
      if (!found) throw streamNotFound()
      refuseOverload(feed)
      const cursor = cursorOf(input, header('last-event-id'))
      const held = found.run.cause === 'reattached' ? await rowsOf(store, found.session, found.run.turn) : []
      const outlet = openOutlet(response, timers, () => report('A reader of /api/chat/stream was too slow and was cut off'))
      // Not awaited: the stream lives on while the request counts as answered.
      tellRun({ store, feed, timers, full: (session) => readFull(store, session) }, { outlet, session: found.session, run: input.stream_id, startedSeq: found.startedSeq, held, ...(cursor === undefined ? {} : { cursor }) }).catch((error: unknown) => {
        report(error)
        outlet.end()
      })
    },
  }
}

/** The query beats the header, also with a value that cannot be used: then everything is told again (settlement.md §5.4). */
function cursorOf(input: InputOf<'GET /api/chat/stream'>, lastEventId: string | undefined): string | undefined {
  if (input.after_event_id !== undefined) return input.after_event_id
  if (input.after_seq !== undefined) return input.after_seq
  if (input.replay !== undefined && input.replay !== '0') return undefined
  return input.cursor ?? lastEventId
}

/** Rows of one turn; of an older one they cost the history, and hardly anybody asks. */
export async function rowsOf(store: Store, session: string, turn: string): Promise<Row[]> {
  const state = await store.load(session)
  const value = state?.tail.turns.has(turn) ? state.tail : await readTranscript(store, session)
  return [...(value?.rows.values() ?? [])].filter((row) => row.turn === turn)
}
