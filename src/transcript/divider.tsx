import { t } from '../../i18n/on-demand'
import type { DividerRow } from '../../server/contract/rows'
import { Icon } from '../ui/icon'

/** Something about the chat as a whole changed here: what its agent remembers. One of a newer server says no more than that. */
export function Divider(props: { row: DividerRow }) {
  return (
    <p class="tx-mk">
      <Icon name="refresh" size="s" />
      <span>{wordsOf(props.row)}</span>
    </p>
  )
}

function wordsOf({ divider }: DividerRow): string {
  switch (divider.code) {
    case 'agent_reseeded': return t('divider.agent_reseeded')
    case 'agent_changed': return t('divider.agent_changed')
    case 'agent_unmatched': return t('divider.agent_unmatched')
    default: return t('divider.other')
  }
}
