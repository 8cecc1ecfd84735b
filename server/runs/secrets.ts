import { answer } from './answering'
import type { Question } from './questions'
import type { LiveRun } from './run'

/**
 * Hands a secret to the agent, or says that it is not given (null). The value goes into one call of the agent's session and nowhere else: no event, receipt,
 * refusal or log line is made from it (spec/log.md §3), and what the agent says to it is told to nobody.
 */
export async function give(run: LiveRun, question: Question, value: string | null): Promise<{ secret: string; given: boolean }> {
  const given = value !== null
  await answer(run, question, {
    draft: { type: 'secret.answered', secret: question.id, row: question.row, run: run.id, given },
    tell: async (agent, handle) => (agent.give ? agent.give(handle, value) : { state: 'refused', code: 'unsupported' }),
    closes: given ? 'done' : 'denied',
    silent: true,
  })
  return { secret: question.id, given }
}
