import { createMemo, Show } from 'solid-js'
import { t } from '../../i18n'
import type { ToolRow } from '../../server/contract/rows'
import { Decision } from './decision'
import { Diff } from './diff'
import { lastLines, readDiff } from './steps'

/** Lines that are shown of a failed step, and of one that is running. */
const FAILED_LINES = 12
const LIVE_LINES = 6

/** What stands behind a step of a tool: its change, what went in, what it printed, how it was permitted. */
export function ToolDetail(props: { row: ToolRow; whole: boolean }) {
  const tool = () => props.row.tool
  const diff = createMemo(() => (tool().diff ? readDiff(tool().diff!) : null))
  const printed = () => tool().output ?? ''
  const shown = () => {
    if (props.whole) return printed().trimEnd()
    return lastLines(printed(), props.row.state === 'live' ? LIVE_LINES : FAILED_LINES)
  }
  const result = () => (tool().output || tool().diff ? '' : (tool().result ?? ''))
  const args = () => (tool().verb === 'other' && tool().args !== undefined ? JSON.stringify(tool().args, null, 2) : '')
  const command = () => (tool().verb === 'run' && (props.row.state !== 'live' || tool().target?.includes('\n')) ? tool().target : undefined)
  return (
    <>
      <Show when={diff()}>{(lines) => <Diff lines={lines()} />}</Show>
      <Show when={args()}>
        <p class="meta">{t('step.input')}</p>
        <pre class="tx-term" tabindex="0" role="group" aria-label={t('step.input')}>{args()}</pre>
      </Show>
      <Show when={command() || shown()}>
        <pre class="tx-term" tabindex="0" role="group" aria-label={t('step.output')}>
          <Show when={command()}>{(line) => <span class="tx-cmd">{`$ ${line()}\n`}</span>}</Show>
          {shown() || (props.row.state === 'live' ? '' : t('step.noOutput'))}
        </pre>
      </Show>
      <Show when={result()}>
        <pre class="tx-term" tabindex="0" role="group" aria-label={t('step.result')}>{props.whole ? result() : lastLines(result(), FAILED_LINES)}</pre>
      </Show>
      <Show when={tool().cut}>
        <p class="meta">{t('step.cut')}</p>
      </Show>
      <Decision row={props.row} />
    </>
  )
}
