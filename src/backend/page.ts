import { openShelf } from '../cache/shelf'
import type { Copies, Shelf } from '../cache/port'
import { makeSync } from '../sync/make-sync'
import type { Sync } from '../sync/port'
import { makeBackend } from './client'
import { makeDraftShelf, type DraftShelf } from './draft-shelf'
import { openLocalShim } from './local-shim'
import type { Backend } from './port'
import { keptAs } from './small-answers'
import { pageClock, pageSurroundings } from './surroundings'

/** Whose copies this page keeps. There is one user, and the profile is the launch profile, until sign-in and profiles arrive. */
export const OWNER = { user: 'local', profile: 'default' }

/** By then a first page stands, or its network is so slow that it does not stand without it either. */
const SETTLED_MS = 3000

/** All that a page has of the server and of its copies, wired to the browser's own clock, network and storage. */
export interface Connected { backend: Backend; sync: Sync; drafts: DraftShelf }

export function connectPage(): Connected {
  const clock = pageClock()
  const shelf = openShelf(OWNER, clock.after)
  let copies: Copies | null = null
  /** The page and its sync share one connection to each database. */
  const shared: Shelf = {
    last: () => shelf.last(),
    async open(store) {
      copies = await shelf.open(store)
      drafts.use(copies)
      return copies
    },
  }
  const drafts = makeDraftShelf(clock)
  const controlled = () => Boolean(navigator.serviceWorker?.controller)
  const localShim = openLocalShim(shelf, clock, (then) => clock.after(SETTLED_MS, then), controlled)
  let doubted = 0
  const backend = makeBackend({
    base: location.origin,
    fetch: (request) => fetch(request),
    localShim,
    keep(name, request, output) {
      const key = keptAs(name, request, output)
      if (key !== null) void copies?.saveAnswer({ key, body: output, savedAt: clock.now() })
    },
    doubt() {
      // One look at the connection is enough, whatever fails beside each other.
      if (sync.connection().state !== 'connected' || clock.now() - doubted < 2500) return
      doubted = clock.now()
      sync.retryNow()
    },
  })
  const sync = makeSync({ backend, shelf: shared, clock, surroundings: pageSurroundings() })
  return { backend, sync, drafts }
}
