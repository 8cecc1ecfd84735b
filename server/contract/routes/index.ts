import type { Inputs } from './inputs'
import type { Outputs } from './outputs'
import type { RouteName } from './table'

/** What a caller passes to a route. */
export type InputOf<N extends RouteName> = Inputs[N]
/** What a route answers with 2xx; `never` for streams. */
export type OutputOf<N extends RouteName> = Outputs[N]

export { methodOf, pathOf, routeOf, routes } from './table'
export type { MethodOf, PathOf, Route, RouteName } from './table'
export type * from './outputs'
export type * from './shapes'
