import type { Approval, ChoiceKind } from './approvals'
import type { PendingApproval } from './routes/shapes'

/** A question as the original's card reads it, in `pending` and in the stream's `approval` event. */
export function pendingApproval(approval: Approval, count: number): PendingApproval {
  const kinds: ChoiceKind[] = approval.choices.map((choice) => choice.kind)
  return {
    approval_id: approval.id, run_id: approval.run, command: approval.command ?? approval.diff ?? approval.action, description: approval.reason ?? approval.action,
    pattern_key: approval.tool, pattern_keys: [approval.tool], choices: [...new Set(kinds.map((kind) => (kind === 'deny_always' ? 'deny' : kind)))],
    allow_permanent: kinds.includes('always'), ...(approval.risk ? { risk_level: approval.risk } : {}), pending_count: count,
  }
}
