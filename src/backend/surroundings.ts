import type { Clock, Surroundings } from '../sync/clock'

/** The browser's own time. */
export function pageClock(): Clock {
  return {
    now: () => Date.now(),
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    idle(run) {
      // Safari has no idle callbacks; a short pause lets what is pressing go first.
      if (typeof requestIdleCallback !== 'function') {
        const timer = setTimeout(run, 200)
        return () => clearTimeout(timer)
      }
      const handle = requestIdleCallback(run, { timeout: 2000 })
      return () => cancelIdleCallback(handle)
    },
  }
}

export function pageSurroundings(): Surroundings {
  return {
    visible: () => document.visibilityState === 'visible',
    onVisibility: (listener) => on(document, ['visibilitychange'], listener),
    // A page that is shown for the first time has nothing to distrust yet.
    onDoubt: (listener) => on(window, ['online', 'pageshow'], (event) => !('persisted' in event && !event.persisted) && listener()),
    onLeaving: (listener) => on(window, ['pagehide'], listener),
  }
}

function on(target: EventTarget, names: string[], listener: (event: Event) => void): () => void {
  for (const name of names) target.addEventListener(name, listener)
  return () => {
    for (const name of names) target.removeEventListener(name, listener)
  }
}
