import { Refusal } from '../contract/problems'
import { isPathSafeId } from '../contract/ids'
import type { ProfileContext } from '../profiles/context'
import type { Store } from '../store/port'

export interface Ownership {
  /**
   * Refuses a session of another profile (spec/server.md §4): 409 when the owner is a profile that exists, 404 when the session carries none
   * or one that is gone. Unknown and unreadable ids pass; the route has its own words for them.
   */
  check(profile: ProfileContext, session: string): Promise<void>
  /** The session of a run; null when there is no such run. */
  ofStream(stream: string): Promise<string | null>
}

const REMEMBERED = 10_000

/** A session's profile never changes, so what was read once is remembered, up to a bound. */
export function makeOwnership(store: Pick<Store, 'load' | 'run'>, profileNames: () => Promise<string[]>): Ownership {
  const owners = new Map<string, string>()
  const sessions = new Map<string, string>()

  const ownerOf = async (session: string): Promise<string | null> => {
    const known = owners.get(session)
    if (known !== undefined) return known
    const state = await store.load(session)
    if (!state) return null
    remember(owners, session, state.head.profile)
    return state.head.profile
  }

  return {
    async check(profile, session) {
      if (!isPathSafeId(session)) return
      const owner = await ownerOf(session)
      if (owner === null || owner === profile.name) return
      if (owner === '' || !(await profileNames()).includes(owner)) throw new Refusal('session_not_found', 'Session not found')
      throw new Refusal('session_profile_mismatch', 'Session belongs to a different profile', { session_id: session, profile: owner })
    },
    async ofStream(stream) {
      if (!isPathSafeId(stream)) return null
      const known = sessions.get(stream)
      if (known !== undefined) return known
      const found = await store.run(stream)
      if (found) remember(sessions, stream, found.session)
      return found?.session ?? null
    },
  }
}

function remember(map: Map<string, string>, key: string, value: string): void {
  if (map.size >= REMEMBERED) map.delete(map.keys().next().value!)
  map.set(key, value)
}
