import type { Approval } from '../contract/approvals'
import { pendingApproval, pendingClarify, pendingSecret } from '../contract/pending'
import type { Clarify, Secret } from '../contract/questions'
import type { Attention, PendingApproval, PendingClarify, PendingSecret } from '../contract/routes'
import type { Row } from '../contract/rows'
import type { Transcript } from '../contract/session'

/** Open questions of a chat, of each kind in the order in which they were asked. They belong to the live run, so the last turn has them all. */
export interface OpenQuestions { approvals: Approval[]; clarifies: Clarify[]; secrets: Secret[] }

export function openIn(tail: Transcript): OpenQuestions {
  const rows = tail.order.map((id) => tail.rows.get(id)!)
  const open = <Q extends { state: string; raisedAt: number }>(of: (row: Row) => Q | undefined): Q[] =>
    rows.flatMap((row) => of(row) ?? []).filter((question) => question.state === 'open').sort((a, b) => a.raisedAt - b.raisedAt)
  return {
    approvals: open((row) => ('approval' in row ? row.approval : undefined)),
    clarifies: open((row) => (row.kind === 'question' ? row.clarify : undefined)),
    secrets: open((row) => (row.kind === 'question' ? row.secret : undefined)),
  }
}

/** The oldest that takes an answer: one that is only *asked next* takes none yet (spec/agents.md §3). */
export function headOf(approvals: Approval[]): Approval | undefined {
  return approvals.find((approval) => !approval.waits)
}

/** What the `pending` routes answer, and what the streams beside them tell. The count is of everything that is open, what is asked next included. */
export interface PendingAnswer<P> { pending: P | null; pending_count: number }

export const pendingOf = {
  approval(session: string, { approvals }: OpenQuestions): PendingAnswer<PendingApproval> {
    const head = headOf(approvals)
    return { pending: head ? pendingApproval(session, head, approvals.length) : null, pending_count: approvals.length }
  },
  clarify(session: string, { clarifies: [head], clarifies }: OpenQuestions): PendingAnswer<PendingClarify> {
    return { pending: head ? pendingClarify(session, head, clarifies.length) : null, pending_count: clarifies.length }
  },
  secret(session: string, { secrets: [head], secrets }: OpenQuestions): PendingAnswer<PendingSecret> {
    return { pending: head ? pendingSecret(session, head, secrets.length) : null, pending_count: secrets.length }
  },
}

/** What the original's list shows of open questions: the kind of the oldest, the number of all. */
export function attentionOf({ approvals, clarifies, secrets }: OpenQuestions): Attention | null {
  const asked = [
    ...approvals.map(({ raisedAt }) => ({ kind: 'approval' as const, raisedAt })), ...clarifies.map(({ raisedAt }) => ({ kind: 'clarify' as const, raisedAt })),
    ...secrets.map(({ raisedAt }) => ({ kind: 'secret' as const, raisedAt })),
  ].sort((a, b) => a.raisedAt - b.raisedAt)
  return asked[0] ? { kind: asked[0].kind, count: asked.length, severity: 'warning' } : null
}
