import { describe, expect, test } from 'vitest'
import { problemOf } from '../../../../server/contract/classify'
import { endingOf } from '../../../../server/contract/ending'
import { RUN_PROBLEMS, type RunProblemCode } from '../../../../server/contract/problems'
import type { Run } from '../../../../server/contract/session'

describe('what went wrong, from status and words', () => {
  const cases: [RunProblemCode, number | undefined, string][] = [
    ['credential_pool_empty', undefined, 'All 0 credential(s) exhausted'],
    ['quota_exhausted', undefined, 'quota exceeded'],
    ['rate_limit', undefined, 'HTTP 429'],
    ['auth_mismatch', undefined, '401'],
    ['model_not_found', undefined, 'model not found'],
    ['no_response', undefined, ''],
  ]
  test.each(cases)('case 140: %s', (code, status, words) => expect(problemOf(status, words)).toBe(code))

  const more: [RunProblemCode, number | undefined, string][] = [
    ['compression_snapshot_stale', undefined, 'compression_snapshot_stale: the run was interrupted'],
    ['cancelled', undefined, 'Run was cancelled by user'],
    ['cancelled', undefined, 'cancelled'],
    ['interrupted', undefined, 'Request was aborted.'],
    ['interrupted', undefined, 'AbortError: This operation was aborted'],
    ['credential_pool_empty', 429, 'credential pool empty for openrouter'],
    ['quota_exhausted', 429, 'You exceeded your current quota, please check your plan and billing details.'],
    ['quota_exhausted', 402, 'Payment required'],
    ['quota_exhausted', 400, 'Your credit balance is too low to access the API.'],
    ['quota_exhausted', 403, 'This request requires more credits, or fewer max_tokens.'],
    ['rate_limit', 429, 'Slow down'],
    ['rate_limit', undefined, 'Error code: 429 - {"error": {"message": "Provider returned error"}}'],
    ['rate_limit', 529, ''],
    ['auth_mismatch', 401, 'User not found.'],
    ['auth_mismatch', 400, 'Incorrect API key provided: sk-…'],
    ['model_not_found', 404, 'Not Found'],
    ['model_not_found', 400, 'some/model is not a valid model ID'],
    ['model_not_found', 400, 'The model `gpt-9` does not exist or you do not have access to it.'],
    ['compression_exhausted', undefined, 'Context compression exhausted after 3 attempts'],
    ['context_full', 400, "This model's maximum context length is 8192 tokens."],
    ['tool_limit_reached', undefined, 'max_iterations reached'],
    ['error', 500, ''],
    ['error', undefined, 'It took 429 ms and 401 steps'],
    ['error', 400, 'temperature must be at most 2'],
  ]
  test.each(more)('%s: %s %s', (code, status, words) => expect(problemOf(status, words)).toBe(code))

  test('of two classes the earlier one is told: a spent account that answers 429 is no rate limit', () => {
    expect(problemOf(429, 'insufficient_quota')).toBe('quota_exhausted')
    expect(problemOf(404, 'rate limit of this model, unknown model')).toBe('rate_limit')
  })
})

/** `apperror.type` of spec/settlement.md §8.2. */
const TYPES = [
  'compression_snapshot_stale', 'cancelled', 'interrupted', 'credential_pool_empty', 'quota_exhausted', 'rate_limit', 'auth_mismatch', 'model_not_found', 'compression_exhausted',
  'tool_limit_reached', 'no_response', 'error',
]

test('every problem has a type of the original, a sentence for people, and nothing of our words in it', () => {
  const told = new Set<string>()
  for (const code of RUN_PROBLEMS) {
    const ending = endingOf({ state: 'settled', outcome: 'failed', problem: { code, words: 'w' } } as Run)!
    expect(TYPES).toContain(ending.type)
    expect(ending.message).toMatch(/^[A-Z].*\.$/)
    expect(`${ending.message} ${ending.hint ?? ''}`).not.toMatch(/_|run\b|row\b/)
    expect(ending.details).toBe('w')
    told.add(ending.type)
  }
  expect([...told].sort()).toEqual([...TYPES].sort())
})
