import type { RunProblemCode } from './problems'
import type { Run } from './session'

/**
 * How a run that did not complete is told to clients of the original (features.md §3.2 `apperror.type`, settlement.md §8.2): `type` from its closed list,
 * `message` for people, `details` in the provider's own words.
 */
export interface Ending { type: string; message: string; hint?: string; details?: string }

const ENDINGS: Record<RunProblemCode, { type: string; message: string; hint?: string }> = {
  compression_snapshot_stale: { type: 'compression_snapshot_stale', message: 'The chat changed while it was being shortened; the message was not answered.', hint: 'Send it again.' },
  cancelled: { type: 'cancelled', message: 'The task was cancelled; no provider failed.', hint: 'Try again if that was not you.' },
  credential_pool_empty: { type: 'credential_pool_empty', message: 'No usable key is left for this provider.', hint: 'Add a key, wait for one to recover, or choose another provider.' },
  compression_exhausted: { type: 'compression_exhausted', message: 'The chat is too long, and it cannot be shortened any further.', hint: 'Go on in a new chat with what matters now.' },
  quota_exhausted: { type: 'quota_exhausted', message: 'The account has no credit left.', hint: 'Top it up, wait for the limit to reset, or choose another model.' },
  rate_limit: { type: 'rate_limit', message: 'The provider refused the request: too many of them.', hint: 'Try again in a moment.' },
  auth_mismatch: { type: 'auth_mismatch', message: 'The provider refused the key.', hint: 'Check the key and that it belongs to this model and provider.' },
  model_not_found: { type: 'model_not_found', message: 'The provider does not know this model.', hint: 'Check its id or choose another model.' },
  no_response: { type: 'no_response', message: 'The provider sent nothing.', hint: 'This is often a limit that it does not name. Try again.' },
  tool_limit_reached: { type: 'tool_limit_reached', message: 'The agent stopped at its limit of steps.', hint: 'Send another message to go on.' },
  interrupted: { type: 'interrupted', message: 'The answer was interrupted.', hint: 'Try again if that was not you.' },
  error: { type: 'error', message: 'The agent ended with an error.' },
  provider_unreachable: { type: 'error', message: 'The model server cannot be reached.', hint: 'Check that it runs and that its address is right.' },
  provider_error: { type: 'error', message: 'The model server answered with an error.' },
  provider_garbled: { type: 'error', message: 'The model server sent something that cannot be read.' },
  agent_silent: { type: 'error', message: 'The agent fell silent and was ended.', hint: 'Try again.' },
  agent_died: { type: 'interrupted', message: 'The agent ended before its answer was complete.', hint: 'Try again.' },
  agent_unavailable: { type: 'error', message: 'The agent cannot be started.' },
  no_model: { type: 'error', message: 'No model is connected.', hint: 'Connect one in the settings.' },
  context_full: { type: 'compression_exhausted', message: 'The chat is longer than what the model can read.', hint: 'Start a new chat or choose a model with a larger window.' },
  server_restarted: { type: 'interrupted', message: 'The server was restarted in mid-answer. What had been written was kept.', hint: 'Try again.' },
  server_stopped: { type: 'interrupted', message: 'The server was stopped in mid-answer. What had been written was kept.', hint: 'Try again.' },
  store_failed: { type: 'interrupted', message: 'The answer could not be saved any more and was stopped.', hint: 'Check the disk of the server, then try again.' },
}

/** Null for a run that is live or completed. A problem of a newer server is told as a plain error. */
export function endingOf(run: Run): Ending | null {
  if (run.state !== 'settled' || run.outcome === 'completed') return null
  if (run.outcome === 'cancelled') return { type: 'cancelled', message: 'Task cancelled. You stopped it; no provider failed.' }
  const { problem } = run
  const words = ENDINGS[problem?.code ?? (run.outcome === 'interrupted' ? 'interrupted' : 'error')] ?? ENDINGS.error
  const hint = problem?.hint ?? words.hint
  return { type: words.type, message: words.message, ...(hint ? { hint } : {}), ...(problem?.words ? { details: problem.words } : {}) }
}
