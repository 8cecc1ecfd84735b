import { Hono } from 'hono/tiny'
import { pathOf, routeOf, routes, type RouteName } from '../server/contract/routes'
import type { Problem } from '../server/contract/problems'
import { COPY_AT_HEADER, SERVED_FROM_HEADER, STORE_HEADER, type Changes, type ListChanges } from '../server/contract/wire'
import { answerKey } from '../src/cache/answer-key'
import type { Copies, Shelf } from '../src/cache/port'
import type { Clock } from '../src/sync/clock'

/** A server that is silent for longer than this, while a copy exists, is answered for, ms (DESIGN §7). */
const SILENCE_MS = 2000
const WINDOW_ROWS = 60
const LIST_PAGE = 100

export interface ShimParts {
  fetch(request: Request): Promise<Response>
  shelf: Shelf
  clock: Pick<Clock, 'after'>
}

/** A copy as an answer, and when it was last known to be true. */
interface FromCopy { body: unknown; savedAt: number; store: string }
type Query = Record<string, string>
type Lookup = (copies: Copies, query: Query, name: RouteName) => Promise<FromCopy | null>

/** The routes that a copy may answer, as the contract says; a new one does not compile until it is here. */
type FromCopies = { [N in RouteName]: (typeof routes)[N]['offline'] extends 'copy' ? N : never }[RouteName]
const LOOKUPS: Record<FromCopies, Lookup> = {
  'GET /api/session/changes': chatFromCopy,
  'GET /api/sessions/changes': listFromCopy,
  'GET /api/models': smallFromCopy,
  'GET /api/providers': smallFromCopy,
}

/**
 * The backend that answers where the server cannot: a Hono app over the contract's routes. The network comes first; a copy answers for it when it
 * fails, or is silent while a copy exists. It decides no law by itself: it never says 401, 404, 409 or 410, and what no copy can tell is 503 `offline`.
 */
export function makeShim({ fetch, shelf, clock }: ShimParts): (request: Request) => Promise<Response> {
  const app = new Hono()
  let open: { store: string; copies: Promise<Copies> } | null = null

  /** The copies of the store that this device talked to last. */
  async function current(): Promise<Copies | null> {
    const store = await shelf.last()
    if (store === null) return null
    if (open?.store !== store) {
      void open?.copies.then((old) => old.close())
      open = { store, copies: shelf.open(store) }
    }
    return open.copies
  }

  async function copyOf(name: FromCopies, query: Query): Promise<FromCopy | null> {
    const copies = await current()
    if (!copies) return null
    const found = await LOOKUPS[name](copies, query, name)
    // A connection that was closed under us is opened anew for the next question.
    if (!found && !(await copies.saved()).ok) open = null
    return found
  }

  for (const name of Object.keys(routes) as RouteName[]) {
    const route = routeOf(name)
    if (!name.startsWith('GET ') || route.stream || name === 'GET /health') continue
    app.get(pathOf(name), async (context) => {
      const controller = new AbortController()
      const network = outcomeOf(fetch(new Request(context.req.raw, { signal: AbortSignal.any([controller.signal, context.req.raw.signal]) })))
      if (!hasLookup(name)) return (await network) ?? offline()
      const copy = copyOf(name, context.req.query()).catch(() => null)
      const first = await Promise.race([network, silence(clock, copy)])
      if (first !== 'silent') return first ?? answerFrom(await copy)
      controller.abort()
      return answerFrom(await copy)
    })
  }

  return async (request) => app.fetch(request)
}

function hasLookup(name: RouteName): name is FromCopies {
  return name in LOOKUPS
}

/** The network's answer, or null when it failed or something in between failed for it. */
async function outcomeOf(answer: Promise<Response>): Promise<Response | null> {
  try {
    const response = await answer
    return response.status >= 502 && response.status <= 504 && !response.headers.has(STORE_HEADER) ? null : response
  } catch {
    return null
  }
}

/** Comes true only if a copy exists. */
async function silence(clock: Pick<Clock, 'after'>, copy: Promise<FromCopy | null>): Promise<'silent'> {
  await new Promise<void>((resolve) => clock.after(SILENCE_MS, resolve))
  if (!(await copy)) await new Promise(() => undefined)
  return 'silent'
}

function answerFrom(copy: FromCopy | null): Response {
  if (!copy) return offline()
  return Response.json(copy.body, { headers: { [SERVED_FROM_HEADER]: 'offline', [COPY_AT_HEADER]: String(copy.savedAt), [STORE_HEADER]: copy.store, 'Cache-Control': 'no-store' } })
}

function offline(): Response {
  const problem: Problem = { error: 'The server cannot be reached, and this device holds no copy', code: 'offline', retryable: true }
  return Response.json(problem, { status: 503, headers: { [SERVED_FROM_HEADER]: 'offline', 'Cache-Control': 'no-store' } })
}

async function chatFromCopy(copies: Copies, query: Query): Promise<FromCopy | null> {
  const session = query['session_id'] ?? ''
  const page = await copies.page(session)
  if (!page.ok || !page.value) return null
  const record = page.value
  const limit = Number(query['limit'] ?? WINDOW_ROWS) || WINDOW_ROWS
  const base = { store: copies.store, session: record.head, retracted: [], seq: record.seq, cursor: record.cursor }
  const at = { savedAt: record.savedAt, store: copies.store }
  if (query['after'] !== undefined && query['after'] === record.cursor) {
    return { ...at, body: { ...base, turns: [], rows: [], from: query['from'] ?? '' } satisfies Changes }
  }
  const queue = record.queue ? { queue: record.queue } : {}
  const found = await copies.before(session, query['before'] ?? '\uffff', limit)
  if (!found.ok) return null
  // A reader that stands before the beginning of the copy learns nothing from it.
  if (!found.value) return query['before'] === undefined ? { ...at, body: { ...base, ...queue, turns: [], rows: [], from: record.from } satisfies Changes } : null
  const body: Changes = { ...base, ...queue, ...found.value }
  if (query['after'] !== undefined) body.reset = true
  return { ...at, body }
}

async function listFromCopy(copies: Copies, query: Query): Promise<FromCopy | null> {
  const found = await copies.list()
  if (!found.ok || !found.value) return null
  const { entries, cursor, savedAt, more } = found.value
  const limit = Number(query['limit'] ?? LIST_PAGE) || LIST_PAGE
  const at = { savedAt, store: copies.store }
  if (query['after'] === cursor) return { ...at, body: { store: copies.store, entries: [], removed: [], cursor, more: false } satisfies ListChanges }
  entries.sort((a, b) => b.lastAt - a.lastAt || (a.id < b.id ? 1 : -1))
  const start = query['before'] === undefined ? 0 : entries.findIndex((entry) => entry.id === query['before']) + 1
  const page = entries.slice(start, start + limit)
  const body: ListChanges = { store: copies.store, entries: page, removed: [], cursor, more: start + limit < entries.length || more }
  if (query['after'] !== undefined) body.reset = true
  return { ...at, body }
}

async function smallFromCopy(copies: Copies, query: Query, name: RouteName): Promise<FromCopy | null> {
  const found = await copies.answer(answerKey(name, query['agent']))
  return found.ok && found.value ? { body: found.value.body, savedAt: found.value.savedAt, store: copies.store } : null
}
