import { methodOf, pathOf, routeOf, type InputOf, type RouteName } from '../../server/contract/routes'

/**
 * The request of a route: the input of a GET as its query, of a POST as JSON. `fresh` marks a request that no copy may answer; the worker
 * lets such requests pass (`cache: no-store`).
 */
export function requestOf<N extends RouteName>(base: string, name: N, input: InputOf<N>, options: { signal?: AbortSignal; fresh?: boolean }): Request {
  const method = methodOf(name)
  const url = new URL(base + pathOf(name))
  const init: RequestInit = { method, credentials: 'same-origin', redirect: 'manual', headers: { Accept: routeOf(name).stream ? 'text/event-stream' : 'application/json' } }
  if (options.signal) init.signal = options.signal
  if (options.fresh || routeOf(name).offline === 'never') init.cache = 'no-store'
  if (method === 'GET') for (const [key, value] of Object.entries(input as Record<string, unknown>)) if (value != null) url.searchParams.set(key, String(value))
  if (method === 'POST') {
    init.body = JSON.stringify(input)
    init.headers = { ...init.headers, 'Content-Type': 'application/json' }
  }
  return new Request(url, init)
}
