import type { Choice } from '../contract/approvals'
import { Refusal } from '../contract/problems'
import { answer } from './answering'
import type { Answer } from './answering'
import type { Question } from './questions'
import type { LiveRun } from './run'

/**
 * A person's answer to a question whether something may be done. `choice`: the id of a choice that this question offers, or a kind, of which the first offered
 * is taken. Refuses with `invalid_choice` for anything else, then nothing has changed.
 */
export async function decide(run: LiveRun, question: Question, choice: string): Promise<{ approval: string; choice: string }> {
  const chosen = chosenOf(question, choice)
  if (!chosen) throw new Refusal('invalid_choice', 'The agent did not offer this choice.')
  await answer(run, question, decision(run, question, chosen, 'person'))
  return { approval: question.id, choice: chosen.kind }
}

/** Only what was offered is ever sent: some agents take any word they do not know for a yes (spec/agents.md §3). */
export function decision(run: LiveRun, { id, row }: Question, choice: Choice, by: 'person' | 'auto'): Answer {
  return {
    draft: { type: 'approval.decided', approval: id, row, run: run.id, choice: choice.id, kind: choice.kind, by },
    tell: (agent, handle) => agent.decide(handle, choice.id),
    closes: choice.kind === 'deny' || choice.kind === 'deny_always' ? 'denied' : 'done',
  }
}

function chosenOf(question: Question, choice: string): Choice | undefined {
  if (question.kind !== 'approval') return undefined
  const { choices } = question.request
  return choices.find(({ id }) => id === choice) ?? choices.find(({ kind }) => kind === choice)
}
