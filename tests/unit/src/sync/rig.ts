import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import type { Append } from '../../../../server/store/port'
import { STORE_HEADER } from '../../../../server/contract/wire'
import { PROBLEM_STATUS, type ProblemCode } from '../../../../server/contract/problems'
import type { InputOf } from '../../../../server/contract/routes'
import { makeFeed, type Feed } from '../../../../server/feed/feed'
import type { Outlet } from '../../../../server/feed/outlet'
import { makeBackend } from '../../../../src/backend/client'
import type { Backend } from '../../../../src/backend/port'
import type { Shelf } from '../../../../src/cache/port'
import { openShelf } from '../../../../src/cache/shelf'
import type { Clock, Surroundings } from '../../../../src/sync/clock'
import { makeSync } from '../../../../src/sync/make-sync'
import type { Sync } from '../../../../src/sync/port'
import { FakeTimers } from '../../../support/fake-timers'
import { emptyDisk } from '../../../support/model-disk'
import { ModelStore } from '../../../support/model-store'

/** Lets databases and streams, which know nothing of the fake clock, come to rest. */
export async function rest(rounds = 60): Promise<void> {
  for (let n = 0; n < rounds; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** The server's store and feed behind a network that a test governs. */
export class FakeServer {
  readonly timers: FakeTimers
  store: ModelStore
  feed!: Feed
  /** `up`; `refused` fails at once; `silent` never answers; `login` is something else that answers in our place. */
  network: 'up' | 'refused' | 'silent' | 'login' = 'up'
  /** Every request that was made, and when. */
  requests: { at: number; route: string; query: Record<string, string>; fresh: boolean }[] = []
  /** Answers in the place of a route, once for each entry. */
  instead: { path: string; response: () => Response }[] = []
  /** Rows of an answer, at most: small windows make partial transcripts. */
  mostRows = Infinity
  /** Bytes leave in pieces of this many; frames arrive cut anywhere. */
  pieces = Infinity
  /** How long an answer is under way after it was read, ms. A stream is that late before it registers. */
  latency: (path: string) => number = () => 0
  private readonly lines = new Set<{ cut(): void; mute(): void }>()
  /** Node tells a request's signal of an abort only as long as somebody holds the request: one that hangs and was collected would hang for ever. */
  private readonly held: Request[] = []

  constructor(timers: FakeTimers, id = 'store_one') {
    this.timers = timers
    this.store = new ModelStore({ disk: emptyDisk(id), after: (ms, then) => void timers.after(ms, then), clock: timers.now })
  }

  async open(): Promise<this> {
    this.feed = await makeFeed({ store: this.store, timers: this.timers, version: 'test', report: () => undefined })
    return this
  }

  async append(...appends: Append[]): Promise<void> {
    for (const append of appends) {
      const done = this.store.append(append)
      this.store.commit()
      await done
    }
  }

  /** Connections that stand break. */
  cut(): void {
    for (const line of this.lines) line.cut()
    this.lines.clear()
  }

  /** Connections that stand go silent and never break: half-open. */
  mute(): void {
    for (const line of this.lines) line.mute()
    this.lines.clear()
  }

  get streams(): number {
    return this.lines.size
  }

  fetch = async (request: Request): Promise<Response> => {
    this.held.push(request)
    const url = new URL(request.url)
    const query = Object.fromEntries(url.searchParams)
    this.requests.push({ at: this.timers.now(), route: url.pathname, query, fresh: request.cache === 'no-store' })
    if (this.network === 'refused') throw new TypeError('fetch failed')
    if (this.network === 'silent') return hang(request.signal)
    if (this.network === 'login') return new Response('<html>Sign in</html>', { status: 200, headers: { 'Content-Type': 'text/html' } })
    const at = this.instead.findIndex(({ path }) => path === url.pathname)
    if (at >= 0) return this.instead.splice(at, 1)[0]!.response()
    const under = async (): Promise<void> => {
      const late = this.latency(url.pathname)
      if (late > 0) await Promise.race([new Promise<void>((resolve) => this.timers.after(late, resolve)), hang(request.signal)])
      if (request.signal.aborted) throw request.signal.reason as Error
    }
    if (url.pathname === '/api/events') await under()
    const answer = await this.answer(url.pathname, query, request.signal)
    if (url.pathname !== '/api/events') await under()
    return answer
  }

  problem(code: ProblemCode, status: number = PROBLEM_STATUS[code], store: string | null = this.store.id): Response {
    return Response.json({ error: code, code }, { status, headers: store === null ? {} : { [STORE_HEADER]: store } })
  }

  private async answer(path: string, query: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const session = query['session_id'] ?? ''
    if (path === '/api/events') return this.stream(query, signal)
    const json = (body: unknown): Response => (body === null ? this.problem('session_not_found') : Response.json(body, { headers: { [STORE_HEADER]: this.store.id } }))
    const limit = Math.min(Number(query['limit'] ?? 60), path === '/api/sessions/changes' ? Infinity : this.mostRows)
    if (path === '/api/sessions/changes') return json(await this.store.list({ profile: 'default', limit, ...query }))
    if (path === '/api/session/changes') {
      if (query['after'] !== undefined) return json(await this.store.changes(session, { after: query['after'], from: query['from'] ?? '', limit }))
      return json(await this.store.window(session, query['before'] === undefined ? { limit } : { limit, before: query['before'] }))
    }
    if (path === '/api/session/status') {
      const found = await this.store.load(session)
      const entry = (await this.store.list({ profile: 'default', limit: 1000 })).entries.find(({ id }) => id === session)
      const attention = entry?.questions ? { kind: 'approval', count: entry.questions, severity: 'warning' } : null
      return json(found ? { session_id: session, active_stream_id: null, agent_running: false, message_count: found.head.count, last_message_at: found.head.lastAt, title: found.head.title, attention, queued: entry?.queued ?? 0 } : null)
    }
    return json({})
  }

  private async stream(query: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const session = query['session_id']
    if (session !== undefined && !(await this.store.load(session).then((found) => found && !found.deleted))) return this.problem('session_not_found')
    let controller!: ReadableStreamDefaultController<Uint8Array>
    const closers: (() => void)[] = []
    const outlet = {
      closed: false,
      muted: false,
      idle: true,
      send: (frame: Uint8Array) => {
        if (outlet.closed || outlet.muted) return
        for (let at = 0; at < frame.length; at += this.pieces) controller.enqueue(new Uint8Array(frame.subarray(at, at + this.pieces)))
      },
      drained: () => Promise.resolve(),
      end: () => outlet.close(() => controller.close()),
      onClose: (listener: () => void) => closers.push(listener),
      close(how: () => void) {
        if (outlet.closed) return
        outlet.closed = true
        this_.lines.delete(line)
        for (const closer of closers) closer()
        try {
          how()
        } catch {
          // The reader has gone already.
        }
      },
    }
    const this_ = this
    const line = { cut: () => outlet.close(() => controller.error(new TypeError('connection reset'))), mute: () => void (outlet.muted = true) }
    this.lines.add(line)
    signal.addEventListener('abort', () => outlet.close(() => controller.error(signal.reason)))
    const body = new ReadableStream<Uint8Array>({
      start: (given) => {
        controller = given
      },
      cancel: () => outlet.close(() => undefined),
    })
    this.feed.open({ outlet: outlet as unknown as Outlet, profile: 'default', ...(session !== undefined ? { session } : {}), ...(query['after'] !== undefined ? { after: query['after'] } : {}) })
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream', [STORE_HEADER]: this.store.id } })
  }
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}

/** A page's surroundings in the hands of a test. */
export class FakeSurroundings implements Surroundings {
  private shown = true
  private readonly listeners = { visibility: new Set<() => void>(), doubt: new Set<() => void>(), leaving: new Set<() => void>() }
  visible = (): boolean => this.shown
  onVisibility = (listener: () => void): (() => void) => this.add('visibility', listener)
  onDoubt = (listener: () => void): (() => void) => this.add('doubt', listener)
  onLeaving = (listener: () => void): (() => void) => this.add('leaving', listener)
  private add(kind: keyof FakeSurroundings['listeners'], listener: () => void): () => void {
    this.listeners[kind].add(listener)
    return () => this.listeners[kind].delete(listener)
  }
  show(visible: boolean): void {
    this.shown = visible
    for (const listener of this.listeners.visibility) listener()
  }
  doubt(): void {
    for (const listener of this.listeners.doubt) listener()
  }
  leave(): void {
    for (const listener of this.listeners.leaving) listener()
  }
}

/** One page: its own sync over a shared server and a shared device. */
export interface Page { sync: Sync; surroundings: FakeSurroundings; shelf: Shelf; backend: Backend }

export interface Rig {
  timers: FakeTimers
  server: FakeServer
  clock: Clock
  page(options?: { shelf?: Shelf; visible?: boolean }): Page
  /** Time passes, with rest for what does not follow the clock. */
  pass(ms: number): Promise<void>
  requests(route: string): InputOf<'GET /api/session/changes'>[]
}

/** A device with empty storage, a server, and a clock that only the test moves. */
export async function makeRig(): Promise<Rig> {
  globalThis.indexedDB = new IDBFactory()
  const timers = new FakeTimers()
  const server = await new FakeServer(timers).open()
  const clock: Clock = { now: timers.now, after: timers.after, idle: (run) => timers.after(1, run) }
  return {
    timers,
    server,
    clock,
    page({ shelf = openShelf({ user: 'local', profile: 'default' }, clock.after), visible = true } = {}) {
      const surroundings = new FakeSurroundings()
      if (!visible) surroundings.show(false)
      const backend = makeBackend({ base: 'http://localhost:1', fetch: server.fetch, localShim: () => null })
      return { sync: makeSync({ backend, shelf, clock, surroundings }), surroundings, shelf, backend }
    },
    async pass(ms) {
      const step = Math.max(50, ms / 40)
      await rest()
      for (let left = ms; left > 0; left -= step) {
        await timers.advance(Math.min(step, left))
        await rest(15)
      }
      await rest()
    },
    requests: (route) => server.requests.filter((request) => request.route === route).map((request) => request.query as unknown as InputOf<'GET /api/session/changes'>),
  }
}
