/**
 * Every route of the HTTP contract, as plain data. The name of a route is its method and path, `{…}` in it a member of the input; the server implements the table, the
 * page's client and the shim are derived from it, and `GET /api/openapi.json` is generated from it. The schemas (`inputs.ts`) and the
 * words (`details.ts`) stand apart so that the page carries only what it uses.
 */
export interface Route {
  /**
   * `copy`: where the network fails and this device holds a copy, the shim may answer from it. `never`: status, questions, streams and
   * everything that writes, and what only the original's clients read, which never run behind our worker; offline they fail with 503 `offline`.
   */
  offline: 'copy' | 'never'
  /** It changes something, whatever its method: the origin checks of a write apply, and it is never sent twice by itself. */
  act?: true
  /** Answers `text/event-stream`. */
  stream?: true
  /** The body carries a secret: its bytes are wiped once they were read, no word of it stands in an error, and it takes no key. */
  secret?: true
  /** The body is `multipart/form-data` and is read by the handler, which asks for the chat's owner itself. */
  upload?: true
  /** Answers a file's bytes. */
  file?: true
}

export const routes = {
  'GET /health': { offline: 'never' },
  'GET /api/sessions': { offline: 'never' },
  'GET /api/sessions/changes': { offline: 'copy' },
  'GET /api/session': { offline: 'never' },
  'GET /api/session/changes': { offline: 'copy' },
  'GET /api/session/status': { offline: 'never' },
  'POST /api/session/new': { offline: 'never', act: true },
  'POST /api/session/rename': { offline: 'never', act: true },
  'POST /api/session/update': { offline: 'never', act: true },
  'POST /api/session/delete': { offline: 'never', act: true },
  'POST /api/chat/start': { offline: 'never', act: true },
  'GET /api/chat/stream': { offline: 'never', stream: true },
  'GET /api/chat/stream/status': { offline: 'never' },
  'GET /api/chat/cancel': { offline: 'never', act: true },
  'POST /api/chat/steer': { offline: 'never', act: true },
  'GET /api/chat/queue': { offline: 'never' },
  'POST /api/chat/queue': { offline: 'never', act: true },
  'POST /api/chat/queue/change': { offline: 'never', act: true },
  'POST /api/chat/queue/move': { offline: 'never', act: true },
  'POST /api/chat/queue/combine': { offline: 'never', act: true },
  'POST /api/chat/queue/remove': { offline: 'never', act: true },
  'POST /api/chat/queue/send': { offline: 'never', act: true },
  'POST /api/upload': { offline: 'never', act: true, upload: true },
  'GET /api/attachment': { offline: 'never', file: true },
  'GET /api/approval/pending': { offline: 'never' },
  'GET /api/approval/stream': { offline: 'never', stream: true },
  'POST /api/approval/respond': { offline: 'never', act: true },
  'GET /api/session/yolo': { offline: 'never' },
  'POST /api/session/yolo': { offline: 'never', act: true },
  'GET /api/clarify/pending': { offline: 'never' },
  'GET /api/clarify/stream': { offline: 'never', stream: true },
  'POST /api/clarify/respond': { offline: 'never', act: true },
  'GET /api/secret/pending': { offline: 'never' },
  'POST /api/secret/respond': { offline: 'never', act: true, secret: true },
  'POST /api/session/read': { offline: 'never', act: true },
  'GET /api/session/stream': { offline: 'never', stream: true },
  'GET /api/sessions/events': { offline: 'never', stream: true },
  'GET /api/sessions/{session_id}/events': { offline: 'never', stream: true },
  'GET /api/events': { offline: 'never', stream: true },
  'GET /api/models': { offline: 'copy' },
  'GET /api/providers': { offline: 'copy' },
  'POST /api/providers/delete': { offline: 'never', act: true },
  'GET /api/onboarding/status': { offline: 'never' },
  'POST /api/onboarding/probe': { offline: 'never', act: true },
  'POST /api/onboarding/setup': { offline: 'never', act: true },
  'GET /api/agents': { offline: 'never' },
  'POST /api/agents/choose': { offline: 'never', act: true },
  'POST /api/agents/restart': { offline: 'never', act: true },
  'GET /api/agents/log': { offline: 'never' },
  'GET /api/openapi.json': { offline: 'never' },
  'POST /api/csp-report': { offline: 'never' },
} as const satisfies Record<`${'GET' | 'POST'} /${string}`, Route>

export type RouteName = keyof typeof routes
export type MethodOf<N extends RouteName> = N extends `${infer M} ${string}` ? M : never
export type PathOf<N extends RouteName> = N extends `${string} ${infer P}` ? P : never

/** `GET` or `POST`. Input of a GET travels in the query, of a POST as JSON. */
export function methodOf<N extends RouteName>(name: N): MethodOf<N> {
  return name.slice(0, name.indexOf(' ')) as MethodOf<N>
}

export function pathOf<N extends RouteName>(name: N): PathOf<N> {
  return name.slice(name.indexOf(' ') + 1) as PathOf<N>
}

/** The route's data, with its optional members visible. */
export function routeOf(name: RouteName): Route {
  return routes[name]
}
