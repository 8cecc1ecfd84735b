import type { Delivery } from '../agents/port'
import type { Choice } from '../contract/approvals'
import { Refusal } from '../contract/problems'
import type { OpenQuestion } from './questions'
import { MailboxClosed } from './mailbox'
import { refusalOf } from './refuse'
import type { LiveRun } from './run'
import { questionState } from './settle'

/**
 * A person's answer to a question of a live run (spec/log.md §9): claimed at once, appended, and only then told to the agent, so that a crash
 * may lose an answer but never give it twice. Refuses with `approval_not_found`, `invalid_choice`, `question_gone`, `relay_failed`.
 */
export async function decide(run: LiveRun, approval: string | undefined, kind: 'once' | 'deny'): Promise<{ approval: string; choice: string }> {
  const question = approval === undefined ? run.journal.questions.oldest() : run.journal.questions.get(approval)
  if (!question) throw approval === undefined ? notFound() : new Refusal('approval_not_found', 'This question does not exist.')
  if (question.state !== 'open' || run.mailbox.closed) throw gone()
  const choice = question.request.choices.find((offered) => offered.kind === kind)
  if (!choice) throw new Refusal('invalid_choice', 'The agent did not offer this choice.')
  if (question.request.deadline !== undefined && run.timers.now() > question.request.deadline) {
    await run.ledger.write({ drafts: run.journal.questions.retire(question, 'expired'), generation: run.generation })
    throw gone()
  }
  question.state = 'deciding'
  try {
    await run.mailbox.post(() => answer(run, question, choice))
  } catch (error) {
    throw error instanceof MailboxClosed ? gone() : refusalOf(error)
  }
  return { approval: question.id, choice: choice.kind }
}

/** For a chat without an open question. */
export function notFound(): Refusal {
  return new Refusal('approval_not_found', 'No question is open in this chat.')
}

/** For a question that was answered or has ended. */
export function gone(): Refusal {
  return new Refusal('question_gone', 'This question is not open any more.')
}

async function answer(run: LiveRun, question: OpenQuestion, choice: Choice): Promise<void> {
  if (question.state !== 'deciding') throw gone()
  question.state = 'decided'
  const { id, row } = question
  await run.ledger.write({
    drafts: [{ type: 'approval.decided', approval: id, row, run: run.id, choice: choice.id, kind: choice.kind, by: 'person' }],
    generation: run.generation,
  })
  // A stop that was taken meanwhile ends the run: a late yes must not start anything.
  if (run.mailbox.closed || !run.agent) return
  const delivery = await run.agent.decide(question.question, choice.id).catch((error: unknown): Delivery => ({ state: 'refused', code: 'relay_failed', words: String(error) }))
  if (run.journal.closed) return
  if (delivery.state === 'delivered') {
    if (question.own) run.ledger.push({ drafts: run.journal.closing(row, questionState({ state: 'decided', kind: choice.kind })), generation: run.generation })
    return
  }
  if (delivery.code === 'question_gone' || !run.journal.isLive(row)) {
    await run.ledger.write({ drafts: run.journal.questions.retire(question, 'expired'), generation: run.generation })
    throw gone()
  }
  await run.ledger.write({ drafts: run.journal.questions.reraise(question), generation: run.generation })
  throw new Refusal('relay_failed', 'The agent did not take the answer. It asks again.', delivery.words === undefined ? {} : { words: delivery.words })
}
