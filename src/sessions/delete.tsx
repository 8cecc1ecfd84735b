import { t } from '../../i18n'
import type { ListEntry } from '../../server/contract/listing'
import { Button } from '../ui/button'
import { Dialog } from '../ui/dialog'
import { Show } from 'solid-js'

/** Asks before a chat goes for good: what is lost, and the safe way out beside it with the focus. */
export function DeleteDialog(props: { entry: ListEntry; onCancel: () => void; onDelete: () => void }) {
  return (
    <Dialog title={t('list.delete.title', { title: props.entry.title || t('list.untitled') })} onCancel={() => props.onCancel()}>
      <p class="m2">
        {t('list.delete.text', { n: props.entry.count })}
        <Show when={props.entry.state !== 'idle'}> {t('list.delete.working')}</Show>
      </p>
      <div class="acts">
        <Button kind="outline" ref={(element) => element.setAttribute('autofocus', '')} onPress={() => props.onCancel()}>
          {t('shell.cancel')}
        </Button>
        <Button kind="danger" onPress={() => props.onDelete()}>
          {t('list.delete')}
        </Button>
      </div>
    </Dialog>
  )
}
