import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import type { Context } from 'hono'
import { Refusal } from './contract/problems'
import { methodOf, pathOf, routeOf, routes } from './contract/routes'
import type { RouteName } from './contract/routes'
import { jsonAnswer } from './http/answer'
import type { Assets } from './http/assets'
import { readJson } from './http/body'
import { INTERNAL, problemOf } from './http/problem'
import { checkOrigin } from './http/provenance'
import type { ProfileContext } from './profiles/context'
import { agentRoutes } from './routes/agents'
import { approvals } from './routes/approvals'
import { attachment } from './routes/attachment'
import type { Call, Handler, Handlers } from './routes/call'
import { chat } from './routes/chat'
import { chatStream } from './routes/stream'
import { clarify } from './routes/clarify'
import { events } from './routes/events'
import { fullSession } from './routes/full'
import { health } from './routes/health'
import { modelRoutes } from './routes/models'
import { olderStreams } from './routes/older-streams'
import { openapi } from './routes/openapi'
import { makeOwnership } from './routes/ownership'
import { guardOf, isGet, parseInput, queryOf } from './routes/parse'
import type { Parts } from './routes/parts'
import { queue } from './routes/queue'
import type { Reports } from './routes/reports'
import { secrets } from './routes/secrets'
import { session } from './routes/session'
import { sessionList } from './routes/sessions'
import { steer } from './routes/steer'
import { upload } from './routes/upload'

export interface AppOptions {
  assets: Assets
  reports: Reports
  /** Origins besides the request's own host whose pages may act. */
  allowedOrigins: ReadonlySet<string>
}

type Env = { Bindings: HttpBindings }
type JsonRoute = Exclude<RouteName, 'POST /api/csp-report'>

/**
 * A request's way in its order: the route, provenance of what acts, the body, its schema, the owner of the session, the handler
 * (spec/server.md §0). The gate stands in front of all of it, on Node's server, with framing and Host.
 */
export function makeApp(parts: Parts, options: AppOptions): Hono<Env> {
  const ownership = makeOwnership(parts.store, () => parts.profiles.names())
  const handlers: Handlers<JsonRoute> = {
    ...health(parts), ...sessionList(parts), ...session(parts), ...fullSession(parts), ...chat(parts), ...chatStream(parts), ...steer(parts), ...queue(parts),
    ...approvals(parts), ...clarify(parts), ...secrets(parts), ...events(parts), ...olderStreams(parts), ...modelRoutes(parts), ...agentRoutes(parts), ...openapi(parts),
    ...attachment(parts), ...upload({ ...parts, ownership }),
  }
  const app = new Hono<Env>()

  const mount = <N extends JsonRoute>(name: N) => {
    const handle = handlers[name] as Handler<JsonRoute>
    app.on(methodOf(name), pathOf(name).replace(/\{(\w+)\}/g, ':$1'), async (c) => {
      const { incoming: request, outgoing: response } = c.env
      const header = headerOf(request)
      if (routeOf(name).stream && request.method === 'HEAD') throw new Refusal('method_not_allowed', 'method not allowed')
      if (routeOf(name).act) checkOrigin(header, options.allowedOrigins)
      const raw = routeOf(name).upload ? {} : isGet(name) ? { ...queryOf(new URL(c.req.url).searchParams), ...c.req.param() } : await readJson(request, response, { wipe: routeOf(name).secret === true })
      const input = parseInput(name, raw)
      const profile = await parts.profiles.ofRequest(header('cookie'))
      await guardSession(name, profile, input as Record<string, unknown>)
      const call = { input, profile, header, request, response } as Call<JsonRoute>
      const body = await handle(call)
      return routeOf(name).stream || routeOf(name).file ? RESPONSE_ALREADY_SENT : jsonAnswer(body, { acceptEncoding: header('accept-encoding') })
    })
  }

  /** One place for every route: what names a session, itself or by its stream, passes the guard before its handler. */
  const guardSession = async (name: RouteName, profile: ProfileContext, input: Record<string, unknown>): Promise<void> => {
    const member = guardOf(name)
    const value = member && input[member]
    if (typeof value !== 'string') return
    const session = member === 'stream_id' ? await ownership.ofStream(value) : value
    if (session !== null) await ownership.check(profile, session)
  }

  for (const name of Object.keys(routes) as RouteName[]) if (name !== 'POST /api/csp-report') mount(name)

  app.post('/api/csp-report', async (c) => {
    await options.reports.take({ request: c.env.incoming, response: c.env.outgoing }).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error
    })
    return c.body(null, 204)
  })

  app.options('*', () => new Response(null, { status: 200, headers: { 'Content-Length': '0' } }))

  app.notFound((c) => {
    const path = c.req.path
    const known = (Object.keys(routes) as RouteName[]).filter((name) => patternOf(name).test(path))
    if (known.length > 0) return answerProblem(c, new Refusal('method_not_allowed', 'method not allowed'), { Allow: known.map(methodOf).join(', ') })
    const header = headerOf(c.env.incoming)
    const asset = c.req.method === 'GET' || c.req.method === 'HEAD' ? options.assets.answer(path, { ifNoneMatch: header('if-none-match'), acceptEncoding: header('accept-encoding') }) : null
    return asset ?? answerProblem(c, new Refusal('not_found', 'not found'))
  })

  const answerProblem = (c: Context<Env>, error: unknown, headers: Record<string, string> = {}): Promise<Response> => {
    const known = problemOf(error)
    if (!known) parts.report(error)
    const { status, problem } = known ?? INTERNAL
    return jsonAnswer(problem, { status, acceptEncoding: headerOf(c.env.incoming)('accept-encoding'), headers })
  }

  app.onError((error, c) => {
    // A stream that has begun cannot turn into an error answer; ending it lets the reader resume.
    if (!c.env.outgoing.headersSent) return answerProblem(c, error)
    if (!problemOf(error)) parts.report(error)
    c.env.outgoing.destroy()
    return RESPONSE_ALREADY_SENT
  })

  return app
}

/** Of a path, as another method of it would have to match. */
function patternOf(name: RouteName): RegExp {
  return new RegExp(`^${pathOf(name).replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
}

function headerOf(request: IncomingMessage): (name: string) => string | undefined {
  return (name) => {
    const value = request.headers[name]
    return Array.isArray(value) ? value[0] : value
  }
}
