import { createMemo, createSignal, Match, Show, Switch, untrack } from 'solid-js'
import { questionOf } from '../../server/contract/apply-questions'
import type { PlanRow, QuestionRow, Row, ToolRow } from '../../server/contract/rows'
import { Busy } from '../ui/busy'
import { Icon, type IconName } from '../ui/icon'
import type { RowCell } from './model'
import { Asked, Plan, Sent, ToolDetail } from './on-demand'
import { Prose } from './prose'
import { StepEnd, StepLabel } from './step-label'
import { VERB_ICONS, waits } from './steps'
import { useSurroundings } from './surroundings'
import { ThoughtTail } from './thought-tail'

/** One step: a line, and what stands behind it once opened. */
export function Step(props: { cell: RowCell; live: boolean; under?: ReadonlyMap<string, readonly RowCell[]> }) {
  const { choices, now, online } = useSurroundings()
  const row = () => props.cell.row()
  const [choice, setChoice] = createSignal(untrack(() => choices.get(props.cell.id)))
  const inner = () => props.under?.get(props.cell.id) ?? []
  const detailed = createMemo(() => hasDetail(row()))
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
        <Show when={running() && !waits(row()) && row().kind !== 'thought' && row().kind !== 'plan'} fallback={<Icon name={iconOf(row(), open())} />}>
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
              <Asked row={row() as QuestionRow} />
            </Match>
            <Match when={row().kind === 'plan'}>
              <Plan entries={(row() as PlanRow).plan} />
            </Match>
          </Switch>
        </div>
      </Show>
      <Show when={inner().length > 0}>
        <Sent id={props.cell.id} cells={inner()} live={props.live} under={props.under!} Step={Step} />
      </Show>
    </li>
  )
}

function iconOf(row: Row, open: boolean): IconName {
  if (row.kind === 'plan') return 'list-checks'
  if (row.kind === 'question' && (row.clarify || row.secret)) return row.clarify ? 'question' : 'key'
  if (waits(row)) return 'hand'
  if (row.state === 'failed') return 'circle-x'
  if (row.kind === 'thought') return open ? 'chevron-down' : 'chevron-right'
  if (row.kind === 'question') return 'hand'
  return row.kind === 'tool' ? (VERB_ICONS[row.tool.verb] ?? 'wrench') : 'wrench'
}

function hasDetail(row: Row): boolean {
  if (row.kind === 'thought') return row.state === 'live' || row.text !== ''
  if (row.kind === 'question') return (questionOf(row)?.state ?? 'open') !== 'open'
  if (row.kind === 'plan') return true
  if (row.kind !== 'tool') return false
  const { tool } = row
  return Boolean(tool.output || tool.diff || tool.result || row.approval || (tool.args !== undefined && tool.verb !== 'read' && tool.verb !== 'list') || tool.target?.includes('\n'))
}

/** A failed step stands open; a running one shows its last lines; the others are folded. */
function opensItself(row: Row, live: boolean): boolean {
  if (row.kind === 'plan') return live
  if (row.kind !== 'tool') return false
  if (row.state === 'failed') return true
  if (row.state === 'live') return Boolean(row.tool.output)
  return live && Boolean(row.tool.diff)
}
