import { createEffect, createMemo, createSignal, For, Match, on, Show, Switch, untrack } from 'solid-js'
import { t } from '../../i18n'
import { duration, running } from '../../i18n/format'
import { questionOf } from '../../server/contract/apply-questions'
import type { ToolRow } from '../../server/contract/rows'
import type { Run } from '../../server/contract/session'
import { Icon } from '../ui/icon'
import { Trace, traceLabel } from '../ui/trace'
import type { Part, RowCell } from './model'
import { Step } from './step'
import { commonFolder, counts, groupSteps, hollow, nestSteps, tickOf, waits, type StepItem } from './steps'
import { useSurroundings } from './surroundings'

/** More steps than this stand behind "Show n earlier steps". */
const MANY = 30

/** Everything between question and answer is one line: how long, the trace, how many steps, how many failed. */
export function WorkHead(props: { cells: readonly RowCell[]; run: Run | undefined; open: boolean; onToggle: () => void }) {
  const { now, online } = useSurroundings()
  const live = () => props.run !== undefined && props.run.state !== 'settled'
  const ticks = createMemo(() => props.cells.map((cell) => cell.row()).filter(counts).map((row) => tickOf(row, online())))
  const clock = createMemo(() => (live() && online() ? now() : null))
  const elapsed = () => (clock()?.() ?? 0) - (props.run?.startedAt ?? 0)
  const asked = createMemo(() => props.cells.map((cell) => cell.row()).find(waits))
  const failed = () => ticks().filter((tick) => tick.state === 'failed').length
  const title = () => {
    const run = props.run
    if (!run) return t('turn.worked', { time: duration(sum(props.cells)) })
    if (!live()) return t('turn.worked', { time: duration(run.timings?.total ?? (run.settledAt ?? run.startedAt) - run.startedAt) })
    if (!online()) return t('turn.lost')
    const question = asked()
    if (question) return t('turn.waits', { time: running(questionOf(question)!.raisedAt - run.startedAt) })
    return run.state === 'stopping' ? t('turn.stopping', { time: running(elapsed()) }) : t('turn.working', { time: running(elapsed()) })
  }
  const liveFor = () => {
    const last = props.cells.at(-1)?.row()
    return last?.state === 'live' && clock() ? Math.max(0, clock()!() - last.at) : undefined
  }
  return (
    <button type="button" class="tx-head" aria-expanded={props.open} onClick={() => props.onToggle()}>
      <Icon name="chevron-right" size="s" class="tx-chev" />
      <span class="tx-time">{title()}</span>
      <Trace steps={ticks()} label={traceLabel(ticks())} elapsed={liveFor()} />
      <span class="m3 tx-count" aria-hidden="true">
        <Show when={!live() || failed() > 0}>
          {t('trace.steps', { n: ticks().length })}
          <Show when={failed()}>
            {', '}
            <span class="bad">{t('tx.failed', { n: failed() })}</span>
          </Show>
        </Show>
      </span>
    </button>
  )
}

function sum(cells: readonly RowCell[]): number {
  return cells.reduce((all, cell) => all + (cell.row().duration ?? 0), 0)
}

/** The steps of one stretch, folded away with the others of the turn. */
export function StepList(props: { part: Part & { kind: 'steps' }; live: boolean; last: boolean }) {
  const { choices } = useSurroundings()
  let known = new Map<string, StepItem<RowCell>>()
  const [all, setAll] = createSignal(false)
  const nested = createMemo(() => nestSteps(props.part.rows().filter((cell) => !hollow(cell.row())), (cell) => cell.row()))
  const hidden = () => (all() ? 0 : Math.max(0, nested().top.length - MANY))
  const items = createMemo(() => keepItems(groupSteps(nested().top.slice(hidden()), (cell) => cell.row())))
  // Items keep their identity while their cells do, so that a new step draws one line and not all.
  function keepItems(next: StepItem<RowCell>[]): StepItem<RowCell>[] {
    const kept = new Map<string, StepItem<RowCell>>()
    const result = next.map((item) => {
      const id = item.kind === 'one' ? item.cell.id : `group ${item.id} ${item.cells.length}`
      const same = known.get(id) ?? item
      kept.set(id, same)
      return same
    })
    known = kept
    return result
  }
  return (
    <ol class="tx-steps">
      <Show when={hidden() > 0}>
        <li class="tx-step">
          <button type="button" class="tx-hd tx-earlier" onClick={() => setAll(true)}>
            {t('step.earlier', { n: hidden() })}
          </button>
        </li>
      </Show>
      <For each={items()}>
        {(item) => (
          <Switch>
            <Match when={item.kind === 'one' && item}>{(one) => <Step cell={one().cell} live={props.live} under={nested().under} />}</Match>
            <Match when={item.kind === 'group' && item}>{(group) => <StepGroup cells={group().cells} id={group().id} choices={choices} live={props.live} />}</Match>
          </Switch>
        )}
      </For>
    </ol>
  )
}

/** "5 files read in roles/backup": three or more that only looked at things. */
function StepGroup(props: { cells: readonly RowCell[]; id: string; choices: Map<string, boolean>; live: boolean }) {
  const key = () => `group ${props.id}`
  const [open, setOpen] = createSignal(untrack(() => props.choices.get(key())) ?? false)
  const rows = () => props.cells.map((cell) => cell.row() as ToolRow)
  const verb = () => rows()[0]!.tool.verb as 'read' | 'list' | 'search'
  const what = () => t(`step.group.${verb()}`, { n: rows().length })
  const folder = createMemo(() => (verb() === 'read' ? commonFolder(rows().map((row) => row.tool.target)) : null))
  createEffect(on(open, (now) => props.choices.set(key(), now), { defer: true }))
  return (
    <>
      <li class="tx-step">
        <span class="tx-ic" aria-hidden="true">
          <Icon name={open() ? 'chevron-down' : 'chevron-right'} />
        </span>
        <button type="button" class="tx-hd" aria-expanded={open()} onClick={() => setOpen(!open())}>
          <span class="tx-label">
            <Show when={folder()} fallback={what()}>
              {(path) => (
                <>
                  {t('step.group.in', { what: what() })} <span class="tx-target code" dir="ltr">{path()}</span>
                </>
              )}
            </Show>
          </span>
          <span class="tx-dur">{duration(sum(props.cells))}</span>
        </button>
      </li>
      <Show when={open()}>
        <For each={props.cells}>{(cell) => <Step cell={cell} live={props.live} />}</For>
      </Show>
    </>
  )
}
