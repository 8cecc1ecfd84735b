import { t, type MessageKey } from '../../i18n'
import { isUnreachable, ProblemError } from '../backend/port'

/** Why something did not work, in words for people: the server's own, or that nothing answered. */
export function reasonOf(error: unknown): string {
  if (isUnreachable(error)) return t('problem.network')
  if (error instanceof ProblemError) return error.problem.words ?? error.problem.error
  return t('problem.server')
}

const REFUSALS = [
  'session_busy', 'no_model', 'message_required', 'workspace_missing', 'workspace_outside', 'session_not_found', 'session_profile_mismatch',
  'key_reused', 'attachment_gone', 'body_too_large', 'store_full', 'store_failed', 'model_unknown', 'agent_unavailable', 'overloaded', 'shutting_down', 'offline',
] as const satisfies ProblemError['code'][]

/** Why a message was not taken; the code decides (law 9), unknown ones say what the server said. */
export function refusalOf(error: unknown): string {
  if (!(error instanceof ProblemError)) return t('composer.refused.other')
  const known = REFUSALS.find((code) => code === error.code)
  if (!known) return error.problem.words ?? error.problem.error
  const own = (t as (key: MessageKey) => string)(`composer.refused.${known}`)
  return error.problem.words ? `${own} ${error.problem.words}` : own
}
