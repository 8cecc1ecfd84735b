import { t } from '../../i18n/on-demand'
import type { Choice, ChoiceKind } from '../../server/contract/approvals'
import type { Row } from '../../server/contract/rows'
import { ProblemError } from '../backend/port'
import { reasonOf } from '../shell/reason'
import type { OpenQuestion } from '../sync/reactive'

/** The agent's own label of a choice, else our word for its kind. */
export function labelOf(choice: Choice): string {
  return choice.label?.trim() || t(`ask.${choice.kind}`)
}

/** The same where a second step follows: our words say so, the agent's stay its own. */
export function leadingLabelOf(choice: Choice): string {
  return choice.label?.trim() || (choice.kind === 'always' || choice.kind === 'deny_always' ? t(`ask.${choice.kind}.more`) : t(`ask.${choice.kind}`))
}

/** What choosing it means beyond this once; for ever is never said without words (spec/agents.md §5). */
export function consequenceOf(choice: Choice): string | undefined {
  return choice.consequence?.trim() || (choice.kind === 'always' || choice.kind === 'deny_always' ? t(`ask.means.${choice.kind}`) : undefined)
}

/** What was done, as one word or two. */
export function doneOf(kind: ChoiceKind): string {
  return t(`ask.done.${kind}`)
}

/** What is asked, in one line; a command that the sentence leaves out is named. */
export function lineOf(question: OpenQuestion): string {
  if (question.kind === 'clarify') return question.asked.question
  if (question.kind === 'secret') return question.asked.prompt || t(`secret.title.${question.asked.kind}`)
  const { action, command } = question.asked
  return command && !action.includes(command) ? `${action}: ${command}` : action
}

/** What is spoken when a question comes. */
export function spokenOf(question: OpenQuestion): string {
  if (question.kind === 'clarify') return t('clarify.announce', { question: question.asked.question })
  if (question.kind === 'secret') return t('secret.announce', { title: t(`secret.title.${question.asked.kind}`), prompt: question.asked.prompt })
  return t('ask.announce', { action: lineOf(question) })
}

/**
 * What became of a question that left and was not answered here: who did what, or why nobody is asked any more. Null where the page says it
 * already (its run ended), or where nothing is known.
 */
export function outcomeOf(question: OpenQuestion, row: Row | undefined): string | null {
  if (row?.kind !== 'tool' && row?.kind !== 'question') return null
  const asked = row.kind === 'tool' ? row.approval : row[question.kind]
  if (!asked || asked.id !== question.asked.id) return null
  switch (asked.state) {
    case 'decided': return t(asked.by === 'auto' ? 'ask.auto' : 'ask.elsewhere', { done: doneOf(asked.kind) })
    case 'answered': return t('ask.elsewhere', { done: 'given' in asked ? t(asked.given ? 'ask.done.given' : 'ask.done.notGiven') : t('ask.done.answered') })
    case 'retired': return asked.why === 'run_ended' ? null : t(`ask.over.${asked.why}`)
    default: return null
  }
}

/** Why an answer was not taken; the agent's own words where it has some. */
export function refusalOf(error: unknown): string {
  if (!(error instanceof ProblemError)) return t('ask.failed', { reason: reasonOf(error) })
  if (error.code === 'session_profile_mismatch') return t('ask.failed', { reason: t('ask.profile') })
  if (error.code === 'relay_failed') return error.problem.words ? `${t('ask.failed.words')} ${error.problem.words}` : t('ask.failed.words')
  return t('ask.failed', { reason: reasonOf(error) })
}

/** The question is not open any more, whatever the code says of it. */
export function isGone(error: unknown): boolean {
  return error instanceof ProblemError && (error.code === 'question_gone' || error.code === 'question_not_found' || error.code === 'approval_not_found')
}
