import { problemOf as classify } from '../../contract/classify'
import type { RunProblem, RunProblemCode } from '../../contract/problems'
import { networkWords } from '../../models/http'
import { cleanWords } from '../../models/words'

/** What is known of a failure: the provider's status, words and error type. */
export interface Failure { status?: number; words: string; code?: string }

/** Classes that say nothing of a provider: what it calls cancelled or interrupted is its own failure. */
const NOT_ITS_OWN: ReadonlySet<RunProblemCode> = new Set(['error', 'no_response', 'cancelled', 'interrupted', 'tool_limit_reached', 'compression_snapshot_stale', 'compression_exhausted'])

/** Hints in words for people; the page has its own for each code and shows these only where they say more. */
const HINTS: Partial<Record<RunProblemCode, string>> = {
  model_not_found: 'Check the name of the model, or choose another one.',
  auth_mismatch: 'Check the key of this connection.',
  provider_unreachable: 'Check that the model server is running and that its address is right.',
}

/** A failed run's problem, of the class of spec/settlement.md §8.2, with the provider's own words (clean, no keys). */
export function problemOf(failure: Failure, secrets: readonly (string | null)[]): RunProblem {
  const code = classOf(failure)
  return withHint({ code, words: cleanWords(failure.words, secrets), ...(failure.status !== undefined && { status: failure.status }) })
}

function classOf({ status, words, code = '' }: Failure): RunProblemCode {
  const found = classify(status, `${code} ${words}`.trim())
  return NOT_ITS_OWN.has(found) ? 'provider_error' : found
}

/** It could not be reached, or the connection broke. */
export function networkProblem(error: unknown, secrets: readonly (string | null)[]): RunProblem {
  return withHint({ code: 'provider_unreachable', words: cleanWords(networkWords(error), secrets) })
}

export function withHint(problem: RunProblem): RunProblem {
  const hint = HINTS[problem.code]
  return hint ? { ...problem, hint } : problem
}
