import type { RunProblem, RunProblemCode } from '../../contract/problems'
import { networkWords } from '../../models/http'
import { cleanWords } from '../../models/words'

/** What is known of a failure: the provider's status, words and error type. */
export interface Failure { status?: number; words: string; code?: string }

interface Rule { code: RunProblemCode; status?: (status: number) => boolean; words?: RegExp }

/** Classes of spec/settlement.md §8.2 in its order: quota, rate, auth, not found; the first that fits wins. */
const RULES: Rule[] = [
  { code: 'quota_exhausted', status: (s) => s === 402, words: /insufficient[_ ](?:quota|credit|balance|funds)|exceeded your current quota|out of credits|credit balance|billing|quota[_ ]exhausted|(?:usage|plan|spend(?:ing)?) limit (?:reached|exceeded)|reached your .{0,30}(?:usage|plan) limit/i },
  { code: 'context_full', words: /context[_ ]length|context window|maximum context|context size|prompt is too long|too many (?:input )?tokens|exceeds? the (?:model'?s? )?(?:available )?context|input length .{0,40}exceed/i },
  { code: 'rate_limit', status: (s) => s === 429 || s === 529, words: /rate.?limit|too many requests|overloaded/i },
  { code: 'auth_mismatch', status: (s) => s === 401 || s === 403, words: /invalid.{0,20}(?:api)?[ _-]?key|incorrect api key|unauthori[sz]ed|authentication|no api key|permission[_ ]denied|forbidden/i },
  { code: 'model_not_found', status: (s) => s === 404, words: /model.{0,120}(?:not found|does not exist|not exist|unknown|unavailable|not supported|no longer)|(?:unknown|invalid|no such|unsupported) model|not a valid model/i },
]

/** Hints in words for people; the page has its own for each code and shows these only where they say more. */
const HINTS: Partial<Record<RunProblemCode, string>> = {
  model_not_found: 'Check the name of the model, or choose another one.',
  auth_mismatch: 'Check the key of this connection.',
  provider_unreachable: 'Check that the model server is running and that its address is right.',
}

/** A failed run's problem, with the provider's own words (clean, no keys). */
export function problemOf(failure: Failure, secrets: readonly (string | null)[]): RunProblem {
  const code = classOf(failure)
  return withHint({ code, words: cleanWords(failure.words, secrets), ...(failure.status !== undefined && { status: failure.status }) })
}

function classOf({ status, words, code = '' }: Failure): RunProblemCode {
  const text = `${code} ${words}`
  for (const rule of RULES) if (rule.words?.test(text) || (status !== undefined && rule.status?.(status))) return rule.code
  return 'provider_error'
}

/** It could not be reached, or the connection broke. */
export function networkProblem(error: unknown, secrets: readonly (string | null)[]): RunProblem {
  return withHint({ code: 'provider_unreachable', words: cleanWords(networkWords(error), secrets) })
}

export function withHint(problem: RunProblem): RunProblem {
  const hint = HINTS[problem.code]
  return hint ? { ...problem, hint } : problem
}
