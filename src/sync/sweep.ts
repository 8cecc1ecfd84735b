import type { Backend } from '../backend/port'
import type { Clock } from './clock'

const SWEEPS = 4
/** How long each waits, ms. */
const SWEEP_MS = 400

/**
 * A browser reuses idle connections, and where one end has gone without a word all of them are dead: a try would be lost on each. When a try hangs,
 * some small requests go out beside the next one and are soon given up, which closes the connections that they hung on.
 */
export function sweep(backend: Backend, clock: Clock): void {
  for (let n = 0; n < SWEEPS; n++) {
    const controller = new AbortController()
    const cancel = clock.after(SWEEP_MS, () => controller.abort())
    backend.call('GET /health', {}, { fresh: true, signal: controller.signal }).then(cancel, cancel)
  }
}
