import { Show } from 'solid-js'
import { t } from '../../i18n/on-demand'
import { questionOf } from '../../server/contract/apply-questions'
import type { Approval } from '../../server/contract/approvals'
import type { QuestionRow, ToolRow } from '../../server/contract/rows'
import { Icon } from '../ui/icon'

/** What a question row asked, whole; while it is open, the card above the message box asks. */
export function Asked(props: { row: QuestionRow }) {
  const command = () => props.row.approval?.command ?? props.row.approval?.diff
  const words = () => props.row.clarify?.question ?? props.row.secret?.prompt ?? props.row.approval?.reason
  return (
    <>
      <Show when={command()}>{(text) => <pre class="tx-term" tabindex="0" role="group" aria-label={t('step.input')}>{text()}</pre>}</Show>
      <Show when={words()}>
        {(text) => (
          <p class="tx-think tx-asks" dir="auto">
            {text()}
          </p>
        )}
      </Show>
      <Decision row={props.row} />
    </>
  )
}

/** How a question was answered and by whom, or why it was not. */
export function Decision(props: { row: ToolRow | QuestionRow }) {
  return (
    <Show when={decisionOf(props.row)}>
      {(words) => (
        <p class="tx-decision meta">
          <Icon name={props.row.kind === 'question' && props.row.clarify ? 'question' : props.row.kind === 'question' && props.row.secret ? 'key' : 'hand'} size="xs" />
          <span dir="auto">{words()}</span>
        </p>
      )}
    </Show>
  )
}

function decisionOf(row: ToolRow | QuestionRow): string | null {
  const asked = questionOf(row)
  switch (asked?.state) {
    case 'retired': return asked.why === 'run_ended' ? t('permission.ended') : asked.why === 'expired' ? t('permission.expired') : t('permission.withdrawn')
    case 'answered': return 'given' in asked ? t(asked.given ? 'permission.given' : 'permission.notGiven') : t('permission.answered', { answer: asked.answer })
    case 'decided': return decided(asked)
    default: return null
  }
}

function decided(approval: Approval & { state: 'decided' }): string {
  const refuses = approval.kind === 'deny' || approval.kind === 'deny_always'
  if (approval.by === 'auto') return refuses ? t('permission.refusedAuto') : t('permission.allowedAuto')
  // The agent's own words for what was chosen are kept as they were read.
  const label = approval.choices.find((choice) => choice.id === approval.choice)?.label?.trim()
  if (label) return t('permission.chosen', { label })
  switch (approval.kind) {
    case 'once': return t('permission.allowed')
    case 'session': return t('permission.allowedSession')
    case 'always': return t('permission.allowedAlways')
    case 'deny_always': return t('permission.refusedAlways')
    default: return t('permission.refused')
  }
}
