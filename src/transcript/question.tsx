import { createMemo, createSignal, Show, untrack } from 'solid-js'
import { t } from '../../i18n'
import { clock } from '../../i18n/format'
import type { UserRow } from '../../server/contract/rows'
import type { RowCell } from './model'
import { onDemand } from '../ui/on-demand'
import { IconButton } from '../ui/icon-button'
import { EditQuestion } from './on-demand'
import { useSurroundings } from './surroundings'

const GivenFiles = onDemand(() => import('./given').then((module) => module.GivenFiles))

/** More lines than this fold to `FOLD_TO` (design/LANGUAGE.md §8, user message). */
const FOLD_OVER = 12
const LONG = 1400

/** A question is a heading: a full-width block, not a bubble. Its text is shown as it was written. */
export function Question(props: { cell: RowCell; id: string; /** It may be changed, if a person wrote it. */ editable: boolean; /** It has not left. */ stands: () => boolean }) {
  const { choices, session } = useSurroundings()
  const row = () => props.cell.row() as UserRow
  const folds = createMemo(() => row().text.split('\n').length > FOLD_OVER || row().text.length > LONG)
  const [open, setOpen] = createSignal(untrack(() => choices.get(props.cell.id)) ?? false)
  const toggle = () => {
    choices.set(props.cell.id, !open())
    setOpen(!open())
  }
  const [editing, setEditing] = createSignal(false)
  let pencil: HTMLButtonElement | undefined
  const close = () => {
    setEditing(false)
    pencil?.focus()
  }
  return (
    <div class="tx-you" id={props.id} tabindex="-1">
      <time class="tx-when" dateTime={new Date(row().at).toISOString()} title={t('you.sentAt', { time: new Date(row().at).toLocaleString() })}>
        {clock(row().at, Date.now())}
      </time>
      <Show when={props.editable && !editing() && (row().source === 'person' || row().source === 'queue')}>
        <span class="tx-pen">
          <IconButton ref={(button) => (pencil = button)} icon="pencil" name={t('you.edit')} small onPress={() => setEditing(true)} />
        </span>
      </Show>
      <Show when={editing()}>
        <EditQuestion row={row()} stands={() => props.stands()} onClose={close} />
      </Show>
      <h2 class="tx-said" classList={{ sr: row().text === '' || editing(), 'tx-clamped': folds() && !open(), 'tx-calm': row().text.length > 300 }} dir="auto">
        {row().text || nameOf(row())}
      </h2>
      <Show when={folds() && !editing()}>
        <button type="button" class="b qui tx-more" aria-expanded={open()} onClick={toggle}>
          {open() ? t('you.showLess') : t('you.showAll')}
        </button>
      </Show>
      <Show when={row().attachments}>{(files) => <GivenFiles session={session} files={files()} />}</Show>
      <Show when={row().source !== 'person'}>
        <p class="meta">{t(`you.source.${row().source as 'queue' | 'wakeup' | 'goal' | 'agent'}`)}</p>
      </Show>
    </div>
  )
}

/** A message without words is called by its files. */
export function nameOf(row: UserRow): string {
  return row.text || (row.attachments ?? []).map(({ name }) => name).join(', ')
}
