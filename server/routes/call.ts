import type { IncomingMessage, ServerResponse } from 'node:http'
import type { InputOf, OutputOf, RouteName, routes } from '../contract/routes'
import type { ProfileContext } from '../profiles/context'

/** One request as a handler sees it: validated, of a known profile, and allowed to see the session it names. */
export interface Call<N extends RouteName> {
  input: InputOf<N>
  profile: ProfileContext
  /** Of the request, by lower-case name; the first where a header came twice. */
  header(name: string): string | undefined
  request: IncomingMessage
  response: ServerResponse
}

type StreamName = { [N in RouteName]: (typeof routes)[N] extends { stream: true } | { file: true } ? N : never }[RouteName]

/** Answers with a JSON body, or takes over the response where the route is a stream or a file. Refusals are thrown. */
export type Handler<N extends RouteName> = (call: Call<N>) => N extends StreamName ? Promise<void> : Promise<OutputOf<N>>

/** A part of the table; `app.ts` puts the parts together, and its type makes sure that none is missing. */
export type Handlers<N extends RouteName = RouteName> = { [K in N]: Handler<K> }
