import { isPathSafeId } from '../contract/ids'
import { Refusal } from '../contract/problems'
import type { SessionState, Store } from '../store/port'

/** Head and last turn of a session that exists; `session_not_found` for what does not, or no longer does. */
export async function loadSession(store: Pick<Store, 'load'>, session: string): Promise<SessionState> {
  const state = isPathSafeId(session) ? await store.load(session) : null
  if (!state || state.deleted) throw notFound()
  return state
}

export function notFound(): Refusal {
  return new Refusal('session_not_found', 'Session not found')
}

export function streamNotFound(): Refusal {
  return new Refusal('stream_not_found', 'Stream not found')
}
