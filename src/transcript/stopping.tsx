import { createMemo, untrack } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { RowCell } from './model'
import { Busy } from '../ui/busy'
import { useSurroundings } from './surroundings'

/** After this long it is said what is waited for, ms. */
const LONG_MS = 5000

/** A stop was taken and the agent has not ended yet (spec/log.md §9). Counted from when this page saw it. */
export function Stopping(props: { cells: readonly RowCell[] }) {
  const { now } = useSurroundings()
  const clock = now()
  const since = untrack(clock)
  const long = createMemo(() => clock() - since >= LONG_MS)
  const words = () => {
    if (!long()) return t('stopping.now')
    const row = props.cells.findLast((cell) => cell.row().state === 'live' && cell.row().kind === 'tool')?.row()
    const what = row?.kind === 'tool' ? (row.tool.title ?? row.tool.target ?? row.tool.name).split('\n')[0]! : ''
    return what ? t('stopping.tool', { what }) : t('stopping.agent')
  }
  return (
    <p class="tx-mk" role="status">
      <Busy />
      <span>{words()}</span>
    </p>
  )
}
