import type { Shelf } from '../cache/port'
import type { Clock } from '../sync/clock'

/**
 * The worker's shim in this page, for as long as no worker controls it (first visit, private mode). Its code is fetched when the page has
 * nothing better to do, because without the network it could not be fetched any more; until it is here, the network alone answers. `settled`
 * calls back once the page stands: nothing that the first paint does not need is loaded before, and nothing at all where a worker has come.
 */
export function openLocalShim(shelf: Shelf, clock: Clock, settled: (then: () => void) => void, controlled: () => boolean): () => ((request: Request) => Promise<Response>) | null {
  let shim: ((request: Request) => Promise<Response>) | null = null
  settled(() => clock.idle(() => {
    if (controlled()) return
    import('../../sw/shim').then(
      ({ makeShim }) => {
        shim = makeShim({ fetch: (request) => fetch(request), shelf, clock })
      },
      () => undefined,
    )
  }))
  return () => (controlled() ? null : shim)
}
