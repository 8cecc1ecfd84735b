import { BEAT_MS, type Cursor, type FrameName, type Frames } from '../../server/contract/wire'
import type { EventBytes } from '../backend/port'
import type { Clock } from './clock'
import { makeEventReader, type StreamEvent } from './event-reader'
import { ATTEMPT_MS, ATTEMPTS_AT_ONCE, OFFLINE_AFTER, retryDelay, SETTLED_MS } from './ladder'
import type { Connection } from './port'

/** What a stream was asked for: the events of one open chat beside the list, and from which cursor. */
export interface Asked { session: string | null; after: Cursor | null }

export type Frame = { [N in FrameName]: { name: N; data: Frames[N]; id: Cursor | null } }[FrameName]

export interface LinkParts {
  clock: Clock
  events(asked: Asked, signal: AbortSignal): Promise<EventBytes>
  /** Read at the start of each attempt. */
  asks(): Asked
  /** The headers name the store. False: it is another one than the cursors are of; the attempt is given up, and `restart` will follow. */
  accepts(store: string): boolean
  /** The first frame of a new connection is here: whoever asks the server now misses nothing between the answer and the frames. */
  onRegistered(asked: Asked): void
  onFrame(frame: Frame): void
  onState(connection: Connection): void
  /** A try hangs: idle connections that may be as dead as the last one are to be used up. */
  onHanging(): void
  /** The server refused the stream. True: something was done about it, and the next try starts at once. */
  onRefused(error: unknown, asked: Asked): boolean
}

/** The stream of one page: tries, watches, and tries again. It knows nothing of what the frames mean. */
export interface Link {
  state(): Connection
  /** Opens a stream; called again with other asks it replaces the one that runs, without a gap between. */
  restart(): void
  /** Whatever connection there is may be dead: a new one is tried at once, and the old one is given up unless that succeeds. */
  doubt(): void
  /** Closes the stream and tries no more until `restart`. */
  pause(): void
  /** When the connection was last known to be good, ms; the later one counts. */
  knownGood(at: number): void
  lastGood(): number
}

interface Attempt { asked: Asked; controller: AbortController; startedAt: number; cancelLimit(): void }

export function makeLink(parts: LinkParts): Link {
  const { clock } = parts
  let live: Attempt | null = null
  let pending: Attempt[] = []
  let tries = 0
  let failed = 0
  let good = 0
  let state: Connection = { state: 'starting' }
  let cancelNext = (): void => undefined
  let cancelWatch = (): void => undefined

  function become(next: Connection): void {
    state = next
    parts.onState(next)
  }

  /** An outage goes on: what the page says depends on how many tries failed. */
  function worsen(): void {
    const since = good || clock.now()
    if (failed >= OFFLINE_AFTER) become({ state: 'offline', since, attempt: tries })
    else become({ state: 'reconnecting', since, attempt: Math.max(tries, 1) })
  }

  function end(attempt: Attempt): void {
    attempt.cancelLimit()
    attempt.controller.abort()
  }

  function giveUp(attempt: Attempt): void {
    end(attempt)
    fail(attempt, null)
  }

  function attemptNow(): void {
    cancelNext()
    while (pending.length >= ATTEMPTS_AT_ONCE) giveUp(pending[0]!)
    const attempt: Attempt = { asked: parts.asks(), controller: new AbortController(), startedAt: clock.now(), cancelLimit: () => undefined }
    attempt.cancelLimit = clock.after(ATTEMPT_MS, () => giveUp(attempt))
    if (tries === 1 && pending.length > 0) parts.onHanging()
    pending.push(attempt)
    tries += 1
    cancelNext = clock.after(retryDelay(tries), attemptNow)
    void run(attempt)
  }

  async function run(attempt: Attempt): Promise<void> {
    try {
      const { bytes, store } = await parts.events(attempt.asked, attempt.controller.signal)
      const reader = bytes.getReader()
      if (attempt.controller.signal.aborted || (store !== null && !parts.accepts(store))) {
        pending = pending.filter((other) => other !== attempt)
        end(attempt)
        return
      }
      const cut = makeEventReader()
      for (;;) {
        const chunk = await reader.read()
        if (attempt.controller.signal.aborted) return
        if (chunk.done) break
        for (const event of cut(chunk.value)) {
          if (attempt.controller.signal.aborted) return
          take(attempt, event)
        }
        if (attempt === live) watch(attempt)
      }
      fail(attempt, null)
    } catch (error) {
      if (!attempt.controller.signal.aborted) fail(attempt, error)
    }
  }

  function take(attempt: Attempt, event: StreamEvent): void {
    const frame = frameOf(event)
    if (!frame) return
    if (attempt !== live) promote(attempt)
    good = clock.now()
    parts.onFrame(frame)
    if (frame.name === 'synced' && attempt === live) {
      failed = 0
      if (state.state !== 'connected') become({ state: 'connected', since: good })
    }
  }

  function promote(attempt: Attempt): void {
    cancelNext()
    attempt.cancelLimit()
    pending = pending.filter((other) => other !== attempt)
    for (const other of pending.splice(0)) end(other)
    if (live) end(live)
    live = attempt
    watch(attempt)
    parts.onRegistered(attempt.asked)
  }

  function watch(attempt: Attempt): void {
    cancelWatch()
    cancelWatch = clock.after(BEAT_MS * 3, () => giveUp(attempt))
  }

  function fail(attempt: Attempt, error: unknown): void {
    attempt.cancelLimit()
    if (attempt === live) {
      live = null
      cancelWatch()
      const brief = clock.now() - attempt.startedAt < SETTLED_MS
      if (!brief) tries = 0
      become({ state: 'reconnecting', since: good, attempt: Math.max(tries, 1) })
      // Tries that doubted this connection are under way: they go on.
      if (pending.length > 0) return
      if (!brief) attemptNow()
      else {
        cancelNext()
        cancelNext = clock.after(retryDelay(tries), attemptNow)
      }
      return
    }
    if (!pending.includes(attempt)) return
    pending = pending.filter((other) => other !== attempt)
    if (error !== null && parts.onRefused(error, attempt.asked)) {
      tries = 0
      attemptNow()
      return
    }
    failed += 1
    if (live) {
      end(live)
      live = null
      cancelWatch()
    }
    worsen()
  }

  function pause(): void {
    cancelNext()
    cancelWatch()
    for (const attempt of pending.splice(0)) end(attempt)
    if (live) end(live)
    live = null
  }

  /** Starts the ladder from its first step; hanging tries go on, unless they ask for something else. */
  function anew(): void {
    const asks = parts.asks()
    pending = pending.filter((attempt) => {
      if (attempt.asked.session === asks.session) return true
      end(attempt)
      return false
    })
    tries = 0
    attemptNow()
  }

  return {
    state: () => state,
    restart: anew,
    doubt() {
      const newest = pending[pending.length - 1] ?? live
      if (newest && clock.now() - newest.startedAt < 500) return
      anew()
    },
    pause,
    knownGood: (at) => {
      good = Math.max(good, at)
    },
    lastGood: () => good,
  }
}

const NAMES: readonly string[] = ['change', 'synced', 'beat', 'reset'] satisfies FrameName[]

/** Frames of a name that we do not know are of a newer server and are left out. */
function frameOf(event: StreamEvent): Frame | null {
  if (!NAMES.includes(event.name)) return null
  try {
    return { name: event.name, data: JSON.parse(event.data) as unknown, id: event.id } as Frame
  } catch {
    return null
  }
}
