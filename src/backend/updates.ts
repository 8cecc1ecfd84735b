// The build for browsers of this age: half as big as the package's own choice.
import { Workbox } from 'workbox-window/build/workbox-window.prod.mjs'
import type { Sync } from '../sync/port'

/** The one named policy of the page, or what stands for it where the browser has none (law 11). */
export interface ScriptAddresses { createScriptURL(address: string): ScriptAddress }
export type ScriptAddress = ConstructorParameters<typeof Workbox>[0]

/**
 * - `none`: this page is of the newest build we know.
 * - `waiting`: a newer build is on this device and takes over at the next cold start, or when asked.
 * - `stale`: a part of this page could not be loaded, because its build is gone; a reload mends it.
 */
export type Update = 'none' | 'waiting' | 'stale'

/** Offers updates and forces none: nothing reloads unless a person asked (DESIGN §9). */
export interface Updates {
  state(): Update
  onChange(listener: (update: Update) => void): () => void
  /** The person wants it now: the waiting worker takes over, and this page, and only this, reloads. */
  apply(): void
}

/** A new worker is looked for at most so often, ms: at a new connection, and when the page comes back. */
const CHECK_MS = 60_000

/**
 * Registers the worker and watches for newer ones. The address passes through the page's policy. In a browser without workers, or when
 * registering fails, it stays at `none`.
 */
export function watchUpdates(policy: ScriptAddresses, sync: Sync): Updates {
  const listeners = new Set<(update: Update) => void>()
  let update: Update = 'none'
  let asked = false
  let checkedAt = Date.now()
  let worker: Workbox | null = null

  function become(next: Update): void {
    update = next
    for (const listener of listeners) listener(next)
  }

  // Whoever asked for the part gets its failure; without the network it says nothing about builds.
  window.addEventListener('vite:preloadError', () => {
    if (sync.connection().state === 'connected') become('stale')
  })

  if ('serviceWorker' in navigator) {
    const registered = (worker = new Workbox(policy.createScriptURL('/sw.js')))
    worker.addEventListener('waiting', () => update === 'none' && become('waiting'))
    worker.addEventListener('controlling', () => {
      if (asked) location.reload()
    })
    answerWorker()
    registered.register().then(hello, () => undefined)
    const check = (): void => {
      if (Date.now() - checkedAt < CHECK_MS || document.visibilityState !== 'visible') return
      checkedAt = Date.now()
      registered.update().catch(() => undefined)
    }
    sync.onConnection((connection) => connection.state === 'connected' && check())
    document.addEventListener('visibilitychange', check)
  }

  return {
    state: () => update,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    apply() {
      if (update === 'waiting' && worker) {
        asked = true
        worker.messageSkipWaiting()
      } else location.reload()
    },
  }
}

/** The worker keeps the files of every build that a page is of, and learns of that by asking which of them it runs. */
function answerWorker(): void {
  navigator.serviceWorker.addEventListener('message', (event: MessageEvent<{ type?: string } | null>) => {
    if (event.data?.type === 'WHICH_BUILD') event.ports[0]?.postMessage(import.meta.url)
  })
}

/** Tells the worker that a page has started: files of builds that no page is of can go now. */
function hello(): void {
  // Not by the registrar's own promise: that never resolves in a page which no worker controls.
  void navigator.serviceWorker.ready.then(({ active }) => active?.postMessage({ type: 'PAGE_STARTED' }))
}
