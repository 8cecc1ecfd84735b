import { For } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { PlanEntry } from '../../server/contract/rows'
import { Icon } from '../ui/icon'

/** What the agent is going to do, as a list that is ticked off. States are said in words, too. */
export function Plan(props: { entries: readonly PlanEntry[] }) {
  return (
    <ul class="tx-plan">
      <For each={props.entries}>
        {(entry) => (
          <li data-state={entry.state}>
            <span class="tx-mark" aria-hidden="true">
              {entry.state === 'done' ? <Icon name="check" size="s" /> : entry.state === 'cancelled' ? <Icon name="x" size="s" /> : null}
            </span>
            <span dir="auto">{entry.text}</span>
            <span class="sr">, {t(`plan.state.${entry.state}`)}</span>
          </li>
        )}
      </For>
    </ul>
  )
}
