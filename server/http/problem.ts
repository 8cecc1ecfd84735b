import { Refusal, PROBLEM_STATUS } from '../contract/problems'
import type { Problem } from '../contract/problems'
import { StoreFault, StoreRefusal } from '../store/port'

/** A status and its body. */
export interface ProblemAnswer { status: number; problem: Problem }

/**
 * What went wrong, as a client may see it. Null for what nobody foresaw: the caller says so in the log and answers `internal`.
 * Absolute paths never leave in `error`.
 */
export function problemOf(error: unknown): ProblemAnswer | null {
  const refusal = error instanceof Refusal ? error : refusalOf(error)
  return refusal && { status: refusal.status, problem: { ...refusal.problem, error: withoutPaths(refusal.problem.error) } }
}

export const INTERNAL: ProblemAnswer = { status: PROBLEM_STATUS.internal, problem: { error: 'Internal server error', code: 'internal' } }

/** What the store says where no domain verb has put it into better words. */
function refusalOf(error: unknown): Refusal | null {
  if (error instanceof StoreFault) {
    if (error.kind === 'full') return new Refusal('store_full', 'The disk is full; nothing was changed', { retryable: true })
    return new Refusal(error.kind === 'closed' ? 'shutting_down' : 'store_failed', error.kind === 'closed' ? 'The server is shutting down' : 'The database could not be written; nothing was changed', { retryable: true })
  }
  if (!(error instanceof StoreRefusal)) return null
  if (error.why === 'unknown_session' || error.why === 'deleted') return new Refusal('session_not_found', 'Session not found')
  if (error.why === 'key_reused') return new Refusal('key_reused', 'This key was used with another request')
  return null
}

/** Absolute paths of this machine become `<path>`; addresses and paths of our own API stay. */
export function withoutPaths(text: string): string {
  return text.replace(/(^|[\s"'`(=:,])(?:\/(?!\/|api\/|session\/|health\b)[^\s"'`(),:;]+|[A-Za-z]:\\[^\s"'`(),;]+)/g, '$1<path>')
}
