/** When the next try starts, ms after the one before: at once, then 0.5, 1, 2 s, then every 2.5 s (DESIGN §5). */
const STEPS = [0, 500, 1000, 2000]
const EVERY = 2500

/** Delay before the n-th try of an outage, n from 0, counted from the start of the one before it. */
export function retryDelay(n: number): number {
  return STEPS[n] ?? EVERY
}

/** A try that has brought no frame after this long is abandoned, ms. */
export const ATTEMPT_MS = 5000
/** How many tries may hang at once: with more, a dead path would use up the browser's six connections of an origin. */
export const ATTEMPTS_AT_ONCE = 2
/** A connection that broke sooner than this does not start the ladder anew, ms: else a peer that accepts and drops would be called without a pause. */
export const SETTLED_MS = 1000
/** After so many failed tries the page says that it is offline. */
export const OFFLINE_AFTER = 2
