import { Match, Show, Switch } from 'solid-js'
import { t } from '../../i18n'
import { duration } from '../../i18n/format'
import type { PlanRow, QuestionRow, Row, ToolRow } from '../../server/contract/rows'
import { questionOf } from '../../server/contract/apply-questions'
import { CODE_VERBS, countDiff, isAgent, readDiff, VERB_ICONS } from './steps'

/** Verb in ink-2, target in ink; tense and end say how it went (design/LANGUAGE.md §8, steps). */
export function StepLabel(props: { row: Row }) {
  return (
    <span class="tx-label">
      <Switch>
        <Match when={props.row.kind === 'thought'}>{props.row.state === 'live' ? t('step.thinking') : t('step.thought')}</Match>
        <Match when={props.row.kind === 'question'}>
          <span class="tx-target" dir="auto">
            {questionLabel(props.row as QuestionRow)}
          </span>{' '}
          <Show when={questionEnd(props.row as QuestionRow)}>
            {(end) => (
              <span class="m3 tx-end" dir="auto">
                {end()}
              </span>
            )}
          </Show>
        </Match>
        <Match when={props.row.kind === 'plan'}>{planLabel(props.row as PlanRow)}</Match>
        <Match when={props.row.kind === 'tool'}>
          <ToolLabel row={props.row as ToolRow} />
        </Match>
      </Switch>
    </span>
  )
}

function ToolLabel(props: { row: ToolRow }) {
  const tool = () => props.row.tool
  const code = () => CODE_VERBS.has(tool().verb) && !tool().title
  const target = () => (tool().title ?? tool().target ?? '').split('\n')[0]!
  return (
    <>
      {verbOf(props.row)}{' '}
      <Show when={target()}>
        <span class="tx-target" classList={{ code: code() }} dir={code() ? 'ltr' : 'auto'}>
          {target()}
        </span>{' '}
      </Show>
      <Show when={endOf(props.row)}>{(end) => <span class={`tx-end ${end().bad ? 'bad' : 'm3'}`}>{end().words}</span>}</Show>
    </>
  )
}

function verbOf(row: ToolRow): string {
  const { verb, name } = row.tool
  if (isAgent(row)) return t('step.agent')
  // What waits for a person or was refused did not happen.
  const tense = row.approval?.state === 'open' || row.state === 'denied' ? 'ask' : row.state === 'live' ? 'now' : 'done'
  // A newer server may know verbs that this build does not.
  return verb === 'other' || !(verb in VERB_ICONS) ? t(`step.other.${tense}`, { name }) : t(`step.${verb}.${tense}`)
}

function endOf(row: ToolRow): { words: string; bad: boolean } | null {
  if (row.approval?.state === 'open') return { words: t('step.waiting'), bad: false }
  switch (row.state) {
    case 'failed': return { words: row.tool.exit === undefined ? t('step.failed') : t('step.failedExit', { code: row.tool.exit }), bad: true }
    case 'cancelled': return { words: t('step.cancelled'), bad: false }
    case 'denied': return { words: t('step.denied'), bad: false }
    case 'unknown': return { words: t('step.unknown'), bad: false }
    default: return null
  }
}

function questionLabel(row: QuestionRow): string {
  // One line of plain words; the whole stands behind it.
  const action = (row.approval?.action ?? row.clarify?.question.replace(/\*\*|`/g, '') ?? row.secret?.prompt ?? '').trim().split('\n')[0]!
  return questionOf(row)?.state === 'open' ? t('step.asks', { action }) : t('step.asked', { action })
}

function questionEnd(row: QuestionRow): string {
  const asked = questionOf(row)
  if (asked?.state === 'open') return t('step.waiting')
  if (asked?.state === 'retired') return t('step.notAnswered')
  if (asked?.state === 'answered') return 'given' in asked ? t(asked.given ? 'step.given' : 'step.notGiven') : t('step.answer', { answer: asked.answer.split('\n')[0]! })
  return row.state === 'denied' ? t('step.denied') : ''
}

function planLabel(row: PlanRow): string {
  return t('step.plan', { done: row.plan.filter((entry) => entry.state === 'done').length, n: row.plan.filter((entry) => entry.state !== 'cancelled').length })
}

/** At the end of the line: how much changed, which lines were read, or how long it took. */
export function StepEnd(props: { row: Row; elapsed: number | undefined }) {
  const diff = () => (props.row.kind === 'tool' && props.row.tool.diff ? countDiff(readDiff(props.row.tool.diff)) : null)
  const lines = () => (props.row.kind === 'tool' && props.row.tool.verb === 'read' ? linesOf(props.row) : null)
  return (
    <span class="tx-dur">
      <Switch>
        <Match when={diff()}>
          {(count) => (
            <>
              <span class="sr">{t('step.changes', count())}</span>
              <span class="tx-plus" aria-hidden="true">{`+${count().added}`}</span> <span class="tx-minus" aria-hidden="true">{`−${count().removed}`}</span>
            </>
          )}
        </Match>
        <Match when={lines()}>{lines()}</Match>
        <Match when={props.row.kind === 'plan'}>{null}</Match>
        <Match when={props.row.duration !== undefined}>{duration(props.row.duration!)}</Match>
        <Match when={props.elapsed !== undefined}>{duration(Math.max(1000, props.elapsed!))}</Match>
      </Switch>
    </span>
  )
}

function linesOf(row: ToolRow): string | null {
  const place = row.tool.locations?.[0]
  if (!place || place.line === undefined || !Number.isSafeInteger(place.line) || place.line < 1) return null
  if (place.lines === undefined || !Number.isSafeInteger(place.lines) || place.lines < 2) return t('step.line', { from: place.line })
  return t('step.lines', { from: place.line, to: place.line + place.lines - 1 })
}
