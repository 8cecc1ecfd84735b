import { Refusal } from '../contract/problems'
import { answer } from './answering'
import type { Question } from './questions'
import type { LiveRun } from './run'
import { wellFormed } from './wellformed'

/** A person's answer to a clarifying question: one that was offered or, where the agent takes them, words of one's own. Else `invalid_choice`, and nothing has changed. */
export async function clarify(run: LiveRun, question: Question, given: string): Promise<{ clarify: string }> {
  const text = wellFormed(given)
  if (question.kind !== 'clarify' || text.trim() === '') throw new Refusal('bad_request', 'An answer is required.')
  const { choices, free } = question.request
  if (!free && !choices.includes(text)) throw new Refusal('invalid_choice', 'The agent takes only the answers that it offers.')
  await answer(run, question, {
    draft: { type: 'clarify.answered', clarify: question.id, row: question.row, run: run.id, answer: text },
    tell: async (agent, handle) => (agent.answer ? agent.answer(handle, text) : { state: 'refused', code: 'unsupported' }),
    closes: 'done',
  })
  return { clarify: question.id }
}
