import type { Approval } from './approvals'
import type { Clarify, Secret } from './questions'
import type { PendingApproval, PendingClarify, PendingSecret } from './routes/shapes'

/**
 * A question as the original's card reads it, in `pending` and in the stream's `approval` event. The original has no word for *deny for ever*: it is
 * taken by its id alone, never for a plain *deny*.
 */
export function pendingApproval(session: string, approval: Approval, count: number): PendingApproval {
  const offered = approval.waits ? [] : approval.choices
  const worded = offered.filter((choice) => choice.kind !== 'deny_always')
  return {
    approval_id: approval.id, session_id: session, run_id: approval.run, command: approval.command ?? approval.diff ?? approval.action, description: approval.reason ?? approval.action,
    pattern_key: approval.tool, pattern_keys: [approval.tool], choices: [...new Set<string>(worded.map((choice) => choice.kind))],
    labels: Object.fromEntries(worded.toReversed().flatMap((choice) => (choice.label === undefined ? [] : [[choice.kind, choice.label]]))),
    offered: offered.map(({ id, kind, label, consequence }) => ({ id, kind, ...(label === undefined ? {} : { label }), ...(consequence === undefined ? {} : { consequence }) })),
    allow_permanent: worded.some((choice) => choice.kind === 'always'), ...(approval.risk ? { risk_level: approval.risk } : {}),
    deadline: approval.deadline === undefined ? null : approval.deadline / 1000, requested_at: approval.raisedAt / 1000, pending_count: count,
  }
}

/** A clarifying question, in `pending` and in the stream's `clarify` event. */
export function pendingClarify(session: string, clarify: Clarify, count: number): PendingClarify {
  return {
    clarify_id: clarify.id, session_id: session, run_id: clarify.run, kind: 'clarify', question: clarify.question, choices_offered: clarify.choices, free_text: clarify.free,
    ...askedAt(clarify), pending_count: count,
  }
}

/** A secret that is waited for; never its value, which nothing here knows. */
export function pendingSecret(session: string, secret: Secret, count: number): PendingSecret {
  return {
    secret_id: secret.id, session_id: session, run_id: secret.run, kind: secret.kind, prompt: secret.prompt, env_name: secret.env ?? null, ...askedAt(secret), pending_count: count,
  }
}

function askedAt({ raisedAt, deadline }: Clarify | Secret): { requested_at: number; timeout_seconds: number | null; expires_at: number | null } {
  return {
    requested_at: raisedAt / 1000, timeout_seconds: deadline === undefined ? null : (deadline - raisedAt) / 1000, expires_at: deadline === undefined ? null : deadline / 1000,
  }
}
