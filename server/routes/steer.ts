import { Refusal } from '../contract/problems'
import type { Steered } from '../runs/port'
import { keyOf } from './key'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** A word into the running turn. Whatever keeps it from arriving is an answer with a `fallback`, not an error (settlement.md §6.1). */
export function steer({ runs }: Pick<Parts, 'runs'>): Handlers<'POST /api/chat/steer'> {
  return {
    async 'POST /api/chat/steer'({ input, profile, header }) {
      if (input.text.trim() === '') throw new Refusal('message_required', 'text is required')
      const idempotency = keyOf(input, header('idempotency-key'))
      const steered = await runs.steer(profile, { session: input.session_id, text: input.text, ...idempotency }).catch(unknownSession)
      return steered.accepted ? { accepted: true, stream_id: steered.run, steer_id: steered.steer } : { accepted: false, fallback: steered.code, stream_id: steered.run ?? null }
    },
  }
}

function unknownSession(error: unknown): Steered {
  if (error instanceof Refusal && error.problem.code === 'session_not_found') return { accepted: false, code: 'session_not_found' }
  throw error
}
