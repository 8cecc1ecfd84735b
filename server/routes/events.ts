import { openOutlet } from '../feed/outlet'
import { isCursor } from './parse'
import { loadSession } from './load'
import { refuseOverload } from './overload'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** The one stream of a browser: list entries, and the events of the session that is open. */
export function events({ store, feed, timers, report }: Pick<Parts, 'store' | 'feed' | 'timers' | 'report'>): Handlers<'GET /api/events'> {
  return {
    async 'GET /api/events'({ input, profile, header, response }) {
      if (input.session_id !== undefined) await loadSession(store, input.session_id)
      // A browser that reconnects by itself repeats the old address; its header is the newer cursor.
      const last = header('last-event-id')
      const after = isCursor(last) ? last : input.after
      refuseOverload(feed)
      const outlet = openOutlet(response, timers, () => report('A reader of /api/events was too slow and was cut off'))
      feed.open({ outlet, profile: profile.name, ...(input.session_id === undefined ? {} : { session: input.session_id }), ...(after === undefined ? {} : { after }) })
    },
  }
}
