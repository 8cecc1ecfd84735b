import type { InputOf, OutputOf, RouteName } from '../../server/contract/routes'
import type { Problem } from '../../server/contract/problems'

/**
 * What the page sees of its backend: one verb over the contract's route table. Who answered, the network or this device's copies, is
 * told beside the answer and never changes its shape (DESIGN §7).
 */
export interface Backend {
  /** The route's output. Rejects with `ProblemError`, or with the signal's reason when the caller gave up. */
  call<N extends RouteName>(name: N, input: InputOf<N>, options?: CallOptions): Promise<OutputOf<N>>
  /** The same, with where the answer came from. */
  ask<N extends RouteName>(name: N, input: InputOf<N>, options?: CallOptions): Promise<Answer<OutputOf<N>>>
  /** The bytes of `GET /api/events`, once the headers said 200. Never from a copy. */
  events(input: InputOf<'GET /api/events'>, signal: AbortSignal): Promise<EventBytes>
}

/** `store`: whose events these are; null when the headers did not say. */
export interface EventBytes { bytes: ReadableStream<Uint8Array>; store: string | null }

export interface CallOptions {
  signal?: AbortSignal
  /** Only the server itself may answer, never a copy. */
  fresh?: boolean
}

export interface Answer<T> {
  output: T
  servedFrom: 'network' | 'offline'
  /** ms since the epoch when a copy was last known to be true; null for the network. */
  copyAt: number | null
  /** Identity of the store that answered; null where the route does not say. */
  store: string | null
}

/**
 * Anything but a 2xx answer of our server. `status` is 0 when nothing answered at all. An answer that is not ours (a proxy's error or login
 * page, a redirect) has the code `offline`: it says nothing about a chat (law 12).
 */
export class ProblemError extends Error {
  readonly code: Problem['code']
  constructor(
    readonly status: number,
    readonly problem: Problem,
    /** Identity of the store that said so; null when the answer did not carry one. */
    readonly store: string | null = null,
  ) {
    super(problem.error)
    this.name = 'ProblemError'
    this.code = problem.code
  }
}

/** It may have been done all the same: nothing answered, or the server failed in the middle of it. */
export function isUnsure(error: unknown): boolean {
  return !(error instanceof ProblemError) || error.status === 0 || error.status >= 500
}

/** Nothing, or nothing of ours, answered. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'offline'
}
