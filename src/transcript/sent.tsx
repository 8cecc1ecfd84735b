import { createMemo, createSignal, For, Show, untrack, type Component } from 'solid-js'
import { duration } from '../../i18n/format'
import { t } from '../../i18n/on-demand'
import { Icon } from '../ui/icon'
import type { RowCell } from './model'
import { isAgent, tickOf, waits } from './steps'
import { useSurroundings } from './surroundings'

export interface SentProps {
  /** The step that sent them. */
  id: string
  cells: readonly RowCell[]
  live: boolean
  under: ReadonlyMap<string, readonly RowCell[]>
  Step: Component<{ cell: RowCell; live: boolean; under?: ReadonlyMap<string, readonly RowCell[]> }>
}

/** What a step sent out: how many, and how they stand, in one line that folds them away (issue 5, sub-agents). Open by itself only while one waits for the person. */
export function Sent(props: SentProps) {
  const { choices, online } = useSurroundings()
  const key = () => `sent ${props.id}`
  const [choice, setChoice] = createSignal(untrack(() => choices.get(key())))
  const rows = createMemo(() => props.cells.map((cell) => cell.row()))
  /** With everything that those sent out in turn. */
  const all = createMemo(() => below(props.cells, props.under).map((cell) => cell.row()))
  const open = () => choice() ?? all().some(waits)
  const toggle = () => {
    const next = !open()
    choices.set(key(), next)
    setChoice(next)
  }
  const states = createMemo(() => rows().map((row) => tickOf(row, online()).state))
  const counted = (state: string) => states().filter((one) => one === state).length
  const what = () => {
    const agents = rows().filter((row) => row.kind === 'tool' && isAgent(row)).length
    return agents === rows().length ? t('sent.agents', { n: agents }) : t('sent.steps', { n: all().length })
  }
  const how = () =>
    [
      ...(all().some(waits) ? [{ words: t('step.waiting'), bad: false }] : []),
      ...(counted('live') ? [{ words: t('sent.working', { n: counted('live') }), bad: false }] : []),
      ...(counted('failed') ? [{ words: t('tx.failed', { n: counted('failed') }), bad: true }] : []),
      ...(states().every((state) => state === 'done') ? [{ words: t('sent.done'), bad: false }] : []),
    ]
  return (
    <div class="tx-sent">
      <button type="button" class="tx-hd" aria-expanded={open()} onClick={toggle}>
        <Icon name={open() ? 'chevron-down' : 'chevron-right'} size="s" />
        <span class="tx-label">
          {what()}{' '}
          <span class="m3 tx-end">
            <For each={how()}>
              {(said, index) => (
                <>
                  {index() > 0 ? ', ' : ''}
                  <span classList={{ bad: said.bad }}>{said.words}</span>
                </>
              )}
            </For>
          </span>
        </span>
        <Show when={rows().every((row) => row.duration !== undefined)}>
          <span class="tx-dur">{duration(Math.max(...rows().map((row) => row.duration ?? 0)))}</span>
        </Show>
      </button>
      <Show when={open()}>
        <ol class="tx-steps">
          <For each={props.cells}>{(cell) => <props.Step cell={cell} live={props.live} under={props.under} />}</For>
        </ol>
      </Show>
    </div>
  )
}

function below(cells: readonly RowCell[], under: ReadonlyMap<string, readonly RowCell[]>): RowCell[] {
  return cells.flatMap((cell) => [cell, ...below(under.get(cell.id) ?? [], under)])
}

