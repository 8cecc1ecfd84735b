import { Refusal } from '../contract/problems'
import { problemOf } from '../http/problem'
import { loadSession } from './load'
import { isYes } from './parse'
import { openIn, pendingOf } from './pending'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** Secrets that a run waits for. The value goes from the request to the agent and is kept nowhere: not in an answer, an error, a report or a receipt (spec/log.md §3). */
export function secrets({ store, runs }: Pick<Parts, 'store' | 'runs'>): Handlers<'GET /api/secret/pending' | 'POST /api/secret/respond'> {
  return {
    async 'GET /api/secret/pending'({ input }) {
      return pendingOf.secret(input.session_id, openIn((await loadSession(store, input.session_id)).tail))
    },
    async 'POST /api/secret/respond'({ input, profile }) {
      const value = isYes(input.cancel) ? null : (input.value ?? '')
      if (value === '') throw new Refusal('bad_request', 'value is required, or cancel')
      const { given } = await runs.give(profile, { session: input.session_id, secret: input.secret_id, value }).catch((error: unknown) => {
        throw withoutWords(error, value)
      })
      return { ok: true, given }
    },
  }
}

/** What failed may quote what it was given; it is told without its words then. */
function withoutWords(error: unknown, value: string | null): unknown {
  const known = problemOf(error)
  if (value === null) return error
  if (!known) return new Error(`A secret could not be handed on (${error instanceof Error ? error.name : typeof error})`)
  const told = [known.problem.error, known.problem.words ?? '', known.problem.hint ?? '']
  return told.some((words) => words.includes(value)) ? new Refusal(known.problem.code, 'The secret could not be handed on') : error
}
