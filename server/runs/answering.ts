import type { AgentSession, Delivery } from '../agents/port'
import type { Draft } from '../contract/events'
import { Refusal } from '../contract/problems'
import { MailboxClosed } from './mailbox'
import { takesAnswer } from './questions'
import type { Handle, Question } from './questions'
import { refusalOf } from './refuse'
import type { LiveRun } from './run'

/** One answer to one question. */
export interface Answer {
  /** What the log says of it. */
  draft: Draft
  tell: (agent: AgentSession, handle: string) => Promise<Delivery>
  /** How a row that stands for the question alone closes with it. */
  closes: 'done' | 'denied'
  /** The agent's words may repeat the answer, so they are told to nobody. */
  silent?: true
}

/**
 * Brings a person's answer to the agent (spec/log.md §9): claimed at once, appended, and only then told, in the order in which answers were taken, so that a
 * crash or a stop may lose an answer but never give it twice or late. Refuses with `question_gone` and `relay_failed`.
 */
export async function answer(run: LiveRun, question: Question, given: Answer): Promise<void> {
  if (!takesAnswer(question) || run.mailbox.closed) throw gone()
  if (!run.journal.asking.inTime(question)) {
    await run.journal.asking.retire(question, 'expired', false).catch((error: unknown) => { throw refusalOf(error) })
    throw gone()
  }
  question.state = 'claimed'
  question.closes = given.closes
  try {
    await run.mailbox.post(async () => {
      if (question.state !== 'claimed') throw gone()
      question.state = 'logged'
      await run.ledger.write({ drafts: [given.draft], generation: run.generation })
      await tell(run, question, given)
    })
  } catch (error) {
    throw error instanceof MailboxClosed ? gone() : refusalOf(error)
  }
}

/** Tells the agent what the log says. A stop that was taken meanwhile ends the run: a late yes must not start anything. */
export async function tell(run: LiveRun, question: Question, { tell: bring, silent }: Answer): Promise<void> {
  const { agent } = run
  const { asking } = run.journal
  if (run.mailbox.closed || run.journal.closed || !agent) return
  if (!asking.mayTell(question)) throw gone()
  question.state = 'told'
  const failed: Handle[] = []
  let delivered = false
  let lost = false
  let words: string | undefined
  for (const handle of question.handles) {
    const told = await Promise.race([ask(() => bring(agent, handle.handle)), asking.over])
    if (!told || run.journal.closed) return
    if (told.state === 'delivered') delivered = true
    else if (told.code !== 'question_gone') {
      failed.push(handle)
      words ??= told.words
      lost ||= told.lost === true
    }
  }
  if (failed.length > 0 && run.journal.isLive(question.row)) {
    await asking.again(question, failed, lost)
    throw new Refusal('relay_failed', 'The agent did not take the answer. It asks again.', silent || words === undefined ? {} : { words })
  }
  if (delivered) return asking.answered(question)
  await asking.retire(question, 'expired', failed.length === 0)
  throw gone()
}

/** For a question that was answered or has ended. */
export function gone(): Refusal {
  return new Refusal('question_gone', 'This question is not open any more.')
}

type Told = Delivery & { /** It is not known what the agent has. */ lost?: boolean }

function ask(bring: () => Promise<Delivery>): Promise<Told> {
  return Promise.resolve().then(bring).catch((error: unknown): Told => ({ state: 'refused', code: 'relay_failed', words: String(error), lost: true }))
}
