import { questionOf } from '../contract/apply-questions'
import { Refusal } from '../contract/problems'
import type { ProfileContext } from '../profiles/context'
import type { Store } from '../store/port'
import { gone } from './answering'
import { owned } from './held'
import type { Question, QuestionKind } from './questions'
import type { LiveRun } from './run'

/** How much of a chat is looked at for a question that is over: its newest rows, and its newest events, for a row shows only what it was asked last. */
const BACK = { rows: 200, events: 2000 }

/**
 * The question that an answer is for: by its id, or the oldest of its kind that takes an answer. Whether it still does is seen by whoever claims it. Refuses with
 * `question_gone` for one that is over or that waits, `approval_not_found` or `question_not_found` for one that is not known.
 */
export async function findQuestion(
  where: { store: Store; live: LiveRun | null; profile: ProfileContext; session: string }, kind: QuestionKind, id: string | undefined,
): Promise<{ run: LiveRun; question: Question }> {
  const { store, live, profile, session } = where
  if (live?.profile === profile.name) {
    const { questions } = live.journal
    const question = id === undefined ? (questions.oldest(kind) ?? questions.waiting(kind)) : questions.get(id)
    if (question?.kind === kind) return { run: live, question }
  }
  const { seq } = owned(await store.load(session), profile)
  if (id !== undefined && (await wasAsked(store, session, seq, id))) throw gone()
  if (kind === 'approval') throw new Refusal('approval_not_found', id === undefined ? 'No question is open in this chat.' : 'This question does not exist.')
  throw new Refusal('question_not_found', id === undefined ? 'Nothing is asked in this chat.' : 'This question does not exist.')
}

async function wasAsked(store: Store, session: string, seq: number, id: string): Promise<boolean> {
  const window = await store.window(session, { limit: BACK.rows })
  if (window?.rows.some((row) => questionOf(row)?.id === id)) return true
  const events = await store.events(session, { afterSeq: Math.max(0, seq - BACK.events), limit: BACK.events })
  return events.some((event) => ('approval' in event && event.approval === id) || ('clarify' in event && event.clarify === id) || ('secret' in event && event.secret === id))
}
