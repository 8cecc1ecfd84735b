import { Refusal } from '../contract/problems'
import { loadSession } from './load'
import { openIn, pendingOf } from './pending'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** Clarifying questions of a chat and their answers, as the original has them (features.md §2.3). */
export function clarify({ store, runs }: Pick<Parts, 'store' | 'runs'>): Handlers<'GET /api/clarify/pending' | 'POST /api/clarify/respond'> {
  return {
    async 'GET /api/clarify/pending'({ input }) {
      return pendingOf.clarify(input.session_id, openIn((await loadSession(store, input.session_id)).tail))
    },
    async 'POST /api/clarify/respond'({ input, profile }) {
      const text = input.response ?? input.answer ?? input.choice ?? ''
      if (text.trim() === '') throw new Refusal('bad_request', 'response is required')
      const { clarify: id } = await runs.answer(profile, { session: input.session_id, text, ...(input.clarify_id ? { clarify: input.clarify_id } : {}) }).catch((error: unknown) => {
        throw staleOf(error)
      })
      return { ok: true, response: text, clarify_id: id }
    },
  }
}

/** A question that is over, or that nobody knows: its card goes and the words come back to the person. Clients tell it from a 409 of another profile by its code. */
function staleOf(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const { code } = error.problem
  return code === 'question_gone' || code === 'question_not_found' ? new Refusal('question_gone', 'This question is not open any more', { stale: true }) : error
}
