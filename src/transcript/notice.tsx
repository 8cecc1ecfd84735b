import { Show } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { NoticeRow } from '../../server/contract/rows'
import { Icon } from '../ui/icon'

/** A small event of a run, in our words where we know its code, and always in the agent's own where it has some. */
export function Notice(props: { row: NoticeRow }) {
  const ours = () => wordsOf(props.row)
  const own = () => (props.row.notice.words !== ours() ? props.row.notice.words : undefined)
  return (
    <div class="tx-mk">
      <Icon name="circle-alert" size="s" />
      <div>
        <p>{ours()}</p>
        <Show when={!known(props.row) && own()}>{(words) => <p class="tx-own" dir="auto">{words()}</p>}</Show>
      </div>
    </div>
  )
}

function known(row: NoticeRow): boolean {
  return ['agent_paused', 'provider_chunks_skipped', 'answer_cut_length', 'answer_cut_filter', 'file_cut', 'pictures_not_taken'].includes(row.notice.code)
}

function wordsOf(row: NoticeRow): string {
  switch (row.notice.code) {
    case 'agent_paused': return t('notice.agent_paused')
    case 'auto_approve_failed': return t('notice.auto_approve_failed')
    case 'provider_chunks_skipped': return t('notice.provider_chunks_skipped', { n: Number(row.notice.params?.n ?? 1) })
    case 'answer_cut_length': return t('notice.answer_cut_length')
    case 'answer_cut_filter': return t('notice.answer_cut_filter')
    case 'file_not_read': return t('notice.file_not_read', { name: String(row.notice.params?.name ?? '') })
    case 'file_cut': return t('notice.file_cut', { name: String(row.notice.params?.name ?? '') })
    case 'pictures_not_taken': return t('notice.pictures_not_taken')
    default: return t('notice.other')
  }
}
