/**
 * The closed list of what can go wrong, as clients see it (law 9). Clients switch on `code` first; `error` is the sentence for
 * people and for the original's clients, `words` are the provider's own, unchanged.
 */
export const PROBLEM_STATUS = {
  bad_request: 400,
  invalid_json: 400,
  message_required: 400,
  invalid_choice: 400,
  invalid_id: 400,
  key_mismatch: 400,
  workspace_missing: 400,
  workspace_outside: 400,
  model_unknown: 400,
  connection_invalid: 400,
  cross_origin: 403,
  not_found: 404,
  session_not_found: 404,
  attachment_not_found: 404,
  stream_not_found: 404,
  approval_not_found: 404,
  question_not_found: 404,
  queue_item_not_found: 404,
  method_not_allowed: 405,
  session_busy: 409,
  attachment_gone: 409,
  session_profile_mismatch: 409,
  key_reused: 409,
  nothing_to_retry: 409,
  nothing_to_edit: 409,
  question_gone: 409,
  queue_full: 409,
  no_model: 409,
  agent_unavailable: 409,
  length_required: 411,
  body_too_large: 413,
  misdirected_host: 421,
  internal: 500,
  relay_failed: 502,
  offline: 503,
  store_full: 507,
  store_failed: 503,
  shutting_down: 503,
  overloaded: 503,
} as const

export type ProblemCode = keyof typeof PROBLEM_STATUS

/** Body of every error answer. */
export interface Problem {
  error: string
  code: ProblemCode
  words?: string
  hint?: string
  retryable?: boolean
  /** Context that some codes carry, in the original's names. */
  session_id?: string
  profile?: string
  active_stream_id?: string
  /** The question that was answered is over: its card goes, and what was typed comes back to the person. */
  stale?: true
}

/** Thrown inside the server; the HTTP edge turns it into a `Problem` with its status. */
export class Refusal extends Error {
  readonly problem: Problem
  constructor(code: ProblemCode, error: string, extra: Omit<Problem, 'code' | 'error'> = {}) {
    super(error)
    this.name = 'Refusal'
    this.problem = { error, code, ...extra }
  }
  get status(): number {
    return PROBLEM_STATUS[this.problem.code]
  }
}

/**
 * Why a run settled as failed or interrupted. The first block is the original's `apperror.type` list (settlement.md §8.2);
 * the second names what only our construction can meet.
 */
export const RUN_PROBLEMS = [
  'compression_snapshot_stale', 'cancelled', 'interrupted', 'credential_pool_empty', 'quota_exhausted', 'rate_limit', 'auth_mismatch', 'model_not_found',
  'compression_exhausted', 'tool_limit_reached', 'no_response', 'error',
  'provider_unreachable', 'provider_error', 'provider_garbled', 'agent_silent', 'agent_died', 'agent_unavailable', 'no_model', 'context_full',
  'server_restarted', 'server_stopped', 'store_failed',
] as const
export type RunProblemCode = (typeof RUN_PROBLEMS)[number]

/** Stored with a settled run; `words` are the provider's own, at most 1200 characters, secrets already removed. */
export interface RunProblem {
  code: RunProblemCode
  words?: string
  hint?: string
  /** HTTP status the provider gave, where it gave one. */
  status?: number
}
