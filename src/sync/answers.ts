import { ProblemError } from '../backend/port'

/**
 * What a failed request about a chat means (law 12, spec/log.md §2). Only the server's own word, a 404 or 410 with our code and the identity
 * of the store that the copies are of, says that a chat is gone. Everything else, a login page, a proxy's 404, a redirect, silence, says nothing about it.
 */
export type Verdict = 'gone' | 'other_profile' | 'unknown'

export function verdictOf(error: unknown, store: string | null): Verdict {
  if (!(error instanceof ProblemError)) return 'unknown'
  if ((error.status === 404 || error.status === 410) && error.code === 'session_not_found' && error.store !== null && error.store === store) return 'gone'
  if (error.status === 409 && error.code === 'session_profile_mismatch') return 'other_profile'
  return 'unknown'
}
