import type { Approval } from '../contract/approvals'
import { pendingApproval } from '../contract/pending'
import type { Transcript } from '../contract/session'
import { Refusal } from '../contract/problems'
import type { Store } from '../store/port'
import { loadSession } from './load'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** Questions of a chat and their answers. Only *allow once* and *deny* are offered now; the original's other choices are a 400. */
export function approvals({ store, runs }: Pick<Parts, 'store' | 'runs'>): Handlers<'GET /api/approval/pending' | 'POST /api/approval/respond'> {
  return {
    async 'GET /api/approval/pending'({ input }) {
      const open = await openQuestions(store, input.session_id)
      return { pending: open.length > 0 ? pendingApproval(open[0]!, open.length) : null, pending_count: open.length }
    },
    async 'POST /api/approval/respond'({ input, profile }) {
      const { choice, session_id: session } = input
      if (choice !== 'once' && choice !== 'deny') throw new Refusal('invalid_choice', 'choice must be once or deny')
      const open = await openQuestions(store, session)
      const asked = input.approval_id ?? open[0]?.id
      // The original's words: nothing is asked at all, so the card may go; something else is asked, so this answer was for nothing.
      if (asked === undefined || open.length === 0) return { ok: true, choice, stale_cleared: true }
      if (!open.some((approval) => approval.id === asked)) return { ok: false, choice }
      await runs.decide(profile, { session, approval: asked, choice })
      return { ok: true, choice }
    },
  }
}

async function openQuestions(store: Store, session: string): Promise<Approval[]> {
  return openIn((await loadSession(store, session)).tail)
}

/** Open questions in the order in which they were asked. They belong to the live run, so the last turn has them all. */
export function openIn(tail: Transcript): Approval[] {
  return tail.order.flatMap((id) => {
    const row = tail.rows.get(id)!
    return 'approval' in row && row.approval?.state === 'open' ? [row.approval] : []
  })
}
