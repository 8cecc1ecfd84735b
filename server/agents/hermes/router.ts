import type { Heard, HermesEvent } from './protocol/events'

/** Events of sessions that nobody listens to yet are held: what comes right after the answer to a resume must not be lost. Per session, and sessions. */
const HELD_EVENTS = 500
const HELD_SESSIONS = 64

interface Route { listener: ((event: HermesEvent) => void | Promise<void>) | null; waiting: { at: number; event: HermesEvent }[]; busy: boolean }

/**
 * Events to the listeners of their live sessions, in order: the next one after the promise of the last has resolved. While one is held up, `pause` is in force
 * for the whole connection; what was read before that waits here.
 */
export class Router {
  #routes = new Map<string, Route>()
  #count = 0
  #held = 0

  constructor(private readonly flow: { pause(): void; resume(): void; report(error: unknown): void }) {}

  /** A moment among the events, for `forgetBefore`. */
  get mark(): number {
    return this.#count
  }

  /** How many sessions are listened to. */
  get listeners(): number {
    let count = 0
    for (const route of this.#routes.values()) if (route.listener) count++
    return count
  }

  /** Events of kinds that are not known, and of no session, are nobody's. */
  take({ session: live, event }: Heard): void {
    this.#count++
    if (live === '' || event === null) return
    const route = this.#routes.get(live) ?? this.#hold(live)
    route.waiting.push({ at: this.#count, event })
    if (route.listener) this.#flow(route)
    else if (route.waiting.length > HELD_EVENTS) route.waiting.shift()
  }

  /** One listener a session; a new one takes the place of the last. What was held for it comes first. */
  listen(live: string, listener: (event: HermesEvent) => void | Promise<void>): () => void {
    const route = this.#routes.get(live) ?? this.#hold(live)
    route.listener = listener
    // Not within this call: whoever listens has not seen its return yet.
    queueMicrotask(() => this.#flow(route))
    return () => {
      if (route.listener !== listener) return
      route.listener = null
      route.waiting = []
      if (!route.busy && this.#routes.get(live) === route) this.#routes.delete(live)
    }
  }

  /** What was held of a session from before a moment is covered by what was answered since. */
  forgetBefore(live: string, mark: number): void {
    const route = this.#routes.get(live)
    if (route && !route.listener) route.waiting = route.waiting.filter(({ at }) => at > mark)
  }

  /** The connection was lost: what was held goes with it. */
  forget(): void {
    for (const [live, route] of this.#routes) if (!route.listener) this.#routes.delete(live)
  }

  #hold(live: string): Route {
    const silent = [...this.#routes].filter(([, route]) => !route.listener && !route.busy)
    if (silent.length >= HELD_SESSIONS) this.#routes.delete(silent[0]![0])
    const route: Route = { listener: null, waiting: [], busy: false }
    this.#routes.set(live, route)
    return route
  }

  #flow(route: Route): void {
    while (!route.busy && route.listener) {
      const next = route.waiting.shift()
      if (!next) return
      try {
        const held = route.listener(next.event)
        if (held) this.#wait(route, held)
      } catch (error) {
        this.flow.report(error)
      }
    }
  }

  #wait(route: Route, held: Promise<void>): void {
    route.busy = true
    if (this.#held++ === 0) this.flow.pause()
    held.catch((error: unknown) => this.flow.report(error)).finally(() => {
      route.busy = false
      if (--this.#held === 0) this.flow.resume()
      this.#flow(route)
    })
  }
}
