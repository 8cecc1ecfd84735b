import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import { makeApp } from './app'
import type { AgentChoice } from './agents/choice'
import { makeShelf } from './attachments/shelf'
import { startSweeping } from './attachments/sweeping'
import { makeOffers } from './agents/offers'
import type { Agent, Timers } from './agents/port'
import type { AgentKind } from './contract/session'
import type { Mint } from './contract/ids'
import type { Problem } from './contract/problems'
import { STORE_HEADER } from './contract/wire'
import { makeFeed } from './feed/feed'
import type { Feed } from './feed/feed'
import { jsonAnswer } from './http/answer'
import { readAssets } from './http/assets'
import { BODY_CAP } from './http/body'
import { guard } from './http/gate'
import type { Gate } from './http/gate'
import { inlineScriptHashes, securityHeaders } from './http/headers'
import { INTERNAL } from './http/problem'
import { checkHost } from './http/provenance'
import type { Models } from './models/port'
import type { Profiles } from './profiles/profiles'
import { FILE_TOO_LARGE, UPLOAD_PATH } from './routes/upload'
import { makeReports } from './routes/reports'
import { makeRuns } from './runs/runs'
import type { RunsParts } from './runs/runs'
import type { Runs } from './runs/port'
import { makeHygiene } from './store/hygiene'
import type { Store } from './store/port'

export interface ComposeParts {
  store: Store
  agents: Partial<Record<AgentKind, Agent>>
  /** Which of them new chats use. */
  choice: AgentChoice
  models: Models
  profiles: Profiles
  timers: Timers
  mint: Mint
  version: string
  defaultWorkspace: string
  /** Folder of files that people give with messages; absolute, ours alone. */
  attachmentFolder: string
  workspaceRoots: string[]
  /** Folder of the built page; one that is not there serves no page. */
  clientFolder: string
  /** Names besides loopback that may stand in Host, lower case. */
  allowedHosts: ReadonlySet<string>
  /** Origins besides the request's own host whose pages may act. */
  allowedOrigins: ReadonlySet<string>
  limits?: RunsParts['limits']
  processes?: RunsParts['processes']
  /** How long the log keeps row events of settled runs, ms; `Infinity`: always. */
  keepEventsMs?: number
  /** Takes what nobody foresaw and what was thrown away; never silent. */
  report(error: unknown): void
}

/** A whole server that does not listen yet. */
export interface Composition {
  runs: Runs
  feed: Feed
  /** What browsers reported about the content policy. */
  reports(): readonly string[]
  /** A Node server with everything behind it; one for each address. */
  makeServer(): Server
  /** Ends streams, lets requests and runs end, closes the servers and the store. */
  end(): Promise<void>
}

/** How long requests that are under way may take once the server ends, ms. */
const LAST_REQUESTS_MS = 5000

/** Puts the server together and settles what an earlier process left behind: after this it may listen. */
export async function compose(parts: ComposeParts): Promise<Composition> {
  const { store, timers, report } = parts
  const attachments = makeShelf({
    folder: parts.attachmentFolder, mint: parts.mint, now: timers.now,
    exists: async (session) => (await store.load(session).then((state) => state && !state.deleted)) === true,
  })
  await attachments.begin()
  const runs = makeRuns({
    pathOf: attachments.pathOf,
    store, timers, mint: parts.mint, agents: parts.agents, choice: parts.choice, defaultWorkspace: parts.defaultWorkspace, workspaceRoots: parts.workspaceRoots,
    profileOf: (name) => parts.profiles.known(name),
    ...(parts.limits ? { limits: parts.limits } : {}), ...(parts.processes ? { processes: parts.processes } : {}),
  })
  const feed = await makeFeed({ store, timers, version: parts.version, report })
  await runs.recover()
  const hygiene = makeHygiene({ store, timers, report, ...(parts.keepEventsMs === undefined ? {} : { keepMs: parts.keepEventsMs }) })
  hygiene.start()
  const sweeping = startSweeping({ attachments, timers, report })

  const agents = Object.values(parts.agents)
  const assets = readAssets(parts.clientFolder)
  const reports = makeReports(report)
  const app = makeApp(
    { store, runs, feed, attachments, models: parts.models, agents, choice: parts.choice, offers: makeOffers(agents, parts.models, timers), profiles: parts.profiles, timers, defaultWorkspace: parts.defaultWorkspace, version: parts.version, startedAt: timers.now(), report },
    { assets, reports, allowedOrigins: parts.allowedOrigins },
  )
  const handle = getRequestListener((request, env) => app.fetch(request, env as { incoming: IncomingMessage; outgoing: ServerResponse }), {
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
    errorHandler(error) {
      if (error instanceof RequestError) return jsonAnswer({ error: 'The request target cannot be read', code: 'bad_request' } satisfies Problem, { status: 400 })
      report(error)
      return jsonAnswer(INTERNAL.problem, { status: INTERNAL.status })
    },
  })

  const security = securityHeaders(inlineScriptHashes(assets.html ?? ''))
  const withStore = { ...security, [STORE_HEADER]: store.id }
  const servers: Server[] = []
  const gates: Gate[] = []

  return {
    runs,
    feed,
    reports: reports.kept,
    makeServer() {
      // A whole upload on a slow line; a body that stands still is given up much sooner (`BODY_IDLE_MS`).
      const server = createServer({ headersTimeout: 20_000, requestTimeout: 900_000, keepAliveTimeout: 30_000, insecureHTTPParser: false })
      gates.push(
        guard(server, (request, response) => void handle(request, response).catch(report), {
          cap: BODY_CAP,
          tooLarge: (request) => (request.url?.split('?')[0] === UPLOAD_PATH ? FILE_TOO_LARGE : null),
          check: (request) => checkHost(request.headers.host, parts.allowedHosts),
          headers: (request) => (request.url?.startsWith('/api/') || request.url?.startsWith('/health') ? withStore : security),
        }),
      )
      servers.push(server)
      return server
    },
    async end() {
      for (const gate of gates) gate.drain()
      feed.end()
      const closed = servers.filter((server) => server.listening).map((server) => new Promise((resolve) => server.close(resolve)))
      await runs.drain()
      for (const server of servers) server.closeIdleConnections()
      const cancel = timers.after(LAST_REQUESTS_MS, () => servers.forEach((server) => server.closeAllConnections()))
      await Promise.all(closed)
      cancel()
      await hygiene.stop()
      await sweeping.stop()
      await store.close()
    },
  }
}
