import type { Shelf } from '../cache/port'
import type { Clock } from '../sync/clock'

/**
 * The worker's shim in this page, for as long as no worker controls it (first visit, private mode). Its code is fetched when the page has
 * nothing better to do, because without the network it could not be fetched any more; until it is here, the network alone answers.
 */
export function openLocalShim(shelf: Shelf, clock: Clock): () => ((request: Request) => Promise<Response>) | null {
  let shim: ((request: Request) => Promise<Response>) | null = null
  clock.idle(() => {
    import('../../sw/shim').then(
      ({ makeShim }) => {
        shim = makeShim({ fetch: (request) => fetch(request), shelf, clock })
      },
      () => undefined,
    )
  })
  return () => shim
}
