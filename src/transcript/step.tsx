import { createMemo, createSignal, For, Match, Show, Switch, untrack } from 'solid-js'
import { t } from '../../i18n'
import type { Approval } from '../../server/contract/approvals'
import type { Row, ToolRow } from '../../server/contract/rows'
import { Busy } from '../ui/busy'
import { Icon, type IconName } from '../ui/icon'
import { Diff } from './diff'
import type { RowCell } from './model'
import { Prose } from './prose'
import { StepEnd, StepLabel } from './step-label'
import { lastLines, readDiff, VERB_ICONS, waits } from './steps'
import { useSurroundings } from './surroundings'
import { ThoughtTail } from './thought-tail'

/** Lines that are shown of a failed step, and of one that is running. */
const FAILED_LINES = 12
const LIVE_LINES = 6

/** One step: a line, and what stands behind it once opened. */
export function Step(props: { cell: RowCell; live: boolean; under?: ReadonlyMap<string, readonly RowCell[]> }) {
  const { choices, now, online } = useSurroundings()
  const row = () => props.cell.row()
  const [choice, setChoice] = createSignal(untrack(() => choices.get(props.cell.id)))
  const inner = () => props.under?.get(props.cell.id) ?? []
  const detailed = createMemo(() => hasDetail(row()) || inner().length > 0)
  const open = () => detailed() && (choice() ?? opensItself(row(), props.live))
  const running = () => row().state === 'live' && online()
  const toggle = () => {
    const next = !open()
    choices.set(props.cell.id, next)
    setChoice(next)
  }
  // The clock is read only while there is something to time.
  const clock = createMemo(() => (running() && !waits(row()) ? now() : null))
  const elapsed = () => {
    const second = clock()
    return second ? second() - row().at : undefined
  }
  return (
    <li class="tx-step" classList={{ 'tx-live': running(), 'tx-fail': row().state === 'failed', 'tx-wait': waits(row()) }} data-row={props.cell.id}>
      <span class="tx-ic" aria-hidden="true">
        <Show when={running() && !waits(row()) && row().kind !== 'thought'} fallback={<Icon name={iconOf(row(), open())} />}>
          <Busy />
        </Show>
      </span>
      <Show
        when={detailed()}
        fallback={
          <div class="tx-hd">
            <StepLabel row={row()} />
            <StepEnd row={row()} elapsed={elapsed()} />
          </div>
        }
      >
        <button type="button" class="tx-hd" aria-expanded={open()} onClick={toggle}>
          <StepLabel row={row()} />
          <StepEnd row={row()} elapsed={elapsed()} />
        </button>
      </Show>
      <Show when={open()} fallback={<Show when={row().kind === 'thought' && running()}><ThoughtTail cell={props.cell} /></Show>}>
        <div class="tx-body">
          <Switch>
            <Match when={row().kind === 'thought'}>
              <Prose cell={props.cell} class="tx-md tx-think" />
            </Match>
            <Match when={row().kind === 'tool'}>
              <ToolDetail row={row() as ToolRow} whole={choice() === true} />
            </Match>
            <Match when={row().kind === 'question'}>
              <Decision approval={(row() as { approval?: Approval }).approval} />
            </Match>
          </Switch>
          <Show when={inner().length > 0}>
            <ol class="tx-steps">
              <For each={inner()}>{(cell) => <Step cell={cell} live={props.live} under={props.under} />}</For>
            </ol>
          </Show>
        </div>
      </Show>
    </li>
  )
}

function iconOf(row: Row, open: boolean): IconName {
  if (waits(row)) return 'hand'
  if (row.state === 'failed') return 'circle-x'
  if (row.kind === 'thought') return open ? 'chevron-down' : 'chevron-right'
  if (row.kind === 'question') return 'hand'
  return row.kind === 'tool' ? (VERB_ICONS[row.tool.verb] ?? 'wrench') : 'wrench'
}

function hasDetail(row: Row): boolean {
  if (row.kind === 'thought') return row.state === 'live' || row.text !== ''
  if (row.kind === 'question') return row.approval !== undefined && row.approval.state !== 'open'
  if (row.kind !== 'tool') return false
  const { tool } = row
  return Boolean(tool.output || tool.diff || tool.result || row.approval || (tool.args !== undefined && tool.verb !== 'read' && tool.verb !== 'list') || tool.target?.includes('\n'))
}

/** A failed step stands open; a running one shows its last lines; the others are folded. */
function opensItself(row: Row, live: boolean): boolean {
  if (row.kind !== 'tool') return false
  if (row.state === 'failed') return true
  if (row.state === 'live') return Boolean(row.tool.output)
  return live && Boolean(row.tool.diff)
}

function ToolDetail(props: { row: ToolRow; whole: boolean }) {
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
      <Decision approval={props.row.approval} />
    </>
  )
}

/** How a permission was answered; while it is open, the card above the message box asks. */
function Decision(props: { approval: Approval | undefined }) {
  return (
    <Show when={props.approval && decisionWords(props.approval)}>
      {(words) => (
        <p class="tx-decision meta">
          <Icon name="hand" size="xs" />
          {words()}
        </p>
      )}
    </Show>
  )
}

function decisionWords(approval: Approval): string | null {
  if (approval.state === 'open') return null
  if (approval.state === 'retired') {
    return approval.why === 'run_ended' ? t('permission.ended') : approval.why === 'expired' ? t('permission.expired') : t('permission.withdrawn')
  }
  const person = approval.by === 'person'
  switch (approval.kind) {
    case 'once': return person ? t('permission.allowed') : t('permission.allowedAuto')
    case 'session': return person ? t('permission.allowedSession') : t('permission.allowedAuto')
    case 'always': return person ? t('permission.allowedAlways') : t('permission.allowedAuto')
    default: return person ? t('permission.refused') : t('permission.refusedAuto')
  }
}
