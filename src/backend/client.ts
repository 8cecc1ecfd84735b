import { routeOf, type InputOf, type OutputOf, type RouteName } from '../../server/contract/routes'
import { PROBLEM_STATUS, type Problem } from '../../server/contract/problems'
import { COPY_AT_HEADER, SERVED_FROM_HEADER, STORE_HEADER } from '../../server/contract/wire'
import { ProblemError, type Answer, type Backend, type CallOptions } from './port'
import { requestOf } from './request'

/** What a client is made of; everything that reaches outside is passed in (law 13). */
export interface ClientParts {
  /** Origin and mount, without a slash at the end. */
  base: string
  fetch(request: Request): Promise<Response>
  /** The shim in this page, where no worker controls it; null where one does. Asked only for routes that a copy may answer. */
  localShim(): ((request: Request) => Promise<Response>) | null
  /** Told of every good answer of the network to a route that a copy may answer later. */
  keep?(name: RouteName, request: Request, output: unknown): void
  /** Told when nothing of ours answered, or a copy did: the connection is doubtful. */
  doubt?(): void
}

/** The typed client of the contract. It adds nothing to an answer and repeats nothing by itself. */
export function makeBackend(parts: ClientParts): Backend {
  async function fetched(name: RouteName, request: Request, fresh: boolean): Promise<Response> {
    const shim = !fresh && routeOf(name).offline === 'copy' ? parts.localShim() : null
    try {
      return await (shim ? shim(request) : parts.fetch(request))
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason ?? error
      parts.doubt?.()
      throw unreachable(0)
    }
  }

  async function ask<N extends RouteName>(name: N, input: InputOf<N>, options: CallOptions = {}): Promise<Answer<OutputOf<N>>> {
    const request = requestOf(parts.base, name, input, options)
    const response = await fetched(name, request, options.fresh === true)
    const body = await bodyOf(response, request.signal)
    if (!response.ok || body === undefined) {
      const problem = problemOf(response, body)
      if (problem.code === 'offline') parts.doubt?.()
      throw problem
    }
    const offline = response.headers.get(SERVED_FROM_HEADER) === 'offline'
    if (offline) parts.doubt?.()
    else if (routeOf(name).offline === 'copy') parts.keep?.(name, request, body)
    const copyAt = Number(response.headers.get(COPY_AT_HEADER))
    return { output: body as OutputOf<N>, servedFrom: offline ? 'offline' : 'network', copyAt: offline && copyAt > 0 ? copyAt : null, store: response.headers.get(STORE_HEADER) }
  }

  return {
    ask,
    call: async (name, input, options) => (await ask(name, input, options)).output,
    async events(input, signal) {
      const request = requestOf(parts.base, 'GET /api/events', input, { signal, fresh: true })
      const response = await fetched('GET /api/events', request, true)
      const type = response.headers.get('Content-Type') ?? ''
      if (response.ok && response.body && type.startsWith('text/event-stream')) return { bytes: response.body, store: response.headers.get(STORE_HEADER) }
      throw problemOf(response, await bodyOf(response, signal))
    },
  }
}

/** The JSON of an answer; `undefined` when it is none, also when the connection broke in the middle of it. */
async function bodyOf(response: Response, signal: AbortSignal): Promise<unknown> {
  if (response.status === 204) return null
  try {
    return await response.json()
  } catch (error) {
    if (signal.aborted) throw signal.reason ?? error
    return undefined
  }
}

function problemOf(response: Response, body: unknown): ProblemError {
  return isProblem(body) ? new ProblemError(response.status, body, response.headers.get(STORE_HEADER)) : unreachable(response.status)
}

function isProblem(body: unknown): body is Problem {
  const candidate = body as Partial<Problem> | null | undefined
  return typeof candidate === 'object' && candidate !== null && typeof candidate.error === 'string' && typeof candidate.code === 'string' && candidate.code in PROBLEM_STATUS
}

function unreachable(status: number): ProblemError {
  return new ProblemError(status, { error: 'The server could not be reached', code: 'offline', retryable: true })
}
