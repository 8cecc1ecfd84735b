import { tellAsked } from '../feed/asked'
import { tellList } from '../feed/list-stream'
import type { Outlet } from '../feed/outlet'
import { openOutlet } from '../feed/outlet'
import { tellSessionEvents } from '../feed/session-events'
import { tellSession } from '../feed/session-stream'
import type { Call, Handlers } from './call'
import { readFull } from './full'
import { loadSession } from './load'
import { refuseOverload } from './overload'
import type { Parts } from './parts'
import { openIn, pendingOf } from './pending'
import { rowsOf } from './stream'

type Names = 'GET /api/approval/stream' | 'GET /api/clarify/stream' | 'GET /api/session/stream' | 'GET /api/sessions/events' | 'GET /api/sessions/{session_id}/events'

/** The original's smaller streams (features.md §3.3): views over the one feed. */
export function olderStreams({ store, feed, timers, report }: Pick<Parts, 'store' | 'feed' | 'timers' | 'report'>): Handlers<Names> {
  /** Not awaited: the stream lives on while the request counts as answered. */
  const open = (path: string, response: Call<Names>['response'], tell: (outlet: Outlet) => Promise<void>): void => {
    refuseOverload(feed)
    const outlet = openOutlet(response, timers, () => report(`A reader of ${path} was too slow and was cut off`))
    tell(outlet).catch((error: unknown) => {
      report(error)
      outlet.end()
    })
  }
  const asked = (kind: 'approval' | 'clarify') => async ({ input, response }: Pick<Call<'GET /api/approval/stream'>, 'input' | 'response'>) => {
    const session = input.session_id
    await loadSession(store, session)
    const read = async () => {
      const state = await store.load(session)
      return state && !state.deleted ? pendingOf[kind](session, openIn(state.tail)) : null
    }
    open(`/api/${kind}/stream`, response, (outlet) => tellAsked({ feed, timers }, { outlet, session, kind, read }))
  }

  return {
    'GET /api/approval/stream': asked('approval'),
    'GET /api/clarify/stream': asked('clarify'),
    async 'GET /api/session/stream'({ input, response }) {
      const session = input.session_id
      await loadSession(store, session)
      const known = /^\d{1,9}$/.test(input.known_count ?? '') ? { known: Number(input.known_count) } : {}
      open('/api/session/stream', response, (outlet) => tellSession({ feed, timers }, { outlet, session, ...known, load: () => store.load(session) }))
    },
    async 'GET /api/sessions/{session_id}/events'({ input, header, response }) {
      const session = input.session_id
      const opened = await loadSession(store, session)
      const cursor = input.after_event_id ?? input.cursor ?? header('last-event-id')
      const parts = { store, feed, timers, full: (id: string) => readFull(store, id), rowsOf: (id: string, turn: string) => rowsOf(store, id, turn) }
      open('/api/sessions/…/events', response, (outlet) => tellSessionEvents(parts, { outlet, session, opened, ...(cursor === undefined ? {} : { cursor }) }))
    },
    'GET /api/sessions/events'({ profile, response }) {
      open('/api/sessions/events', response, (outlet) => tellList({ feed, timers }, { outlet, profile: profile.name }))
      return Promise.resolve()
    },
  }
}
