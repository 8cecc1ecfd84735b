import { createSignal, Show } from 'solid-js'
import { t } from '../../i18n/on-demand'
import { Button } from '../ui/button'
import { Dialog } from '../ui/dialog'
import { Icon } from '../ui/icon'
import { reasonOf } from '../shell/reason'

/** Says what it means to allow everything in a chat, before it is switched on. The safe way out has the focus. */
export function AllowAll(props: { allow: () => Promise<void>; onClose: () => void }) {
  const [busy, setBusy] = createSignal(false)
  const [failed, setFailed] = createSignal<string | null>(null)
  const press = async () => {
    setBusy(true)
    try {
      await props.allow()
      props.onClose()
      // The card from which it was opened may have gone under it: who works with keys goes on in the box.
      queueMicrotask(() => {
        if (document.activeElement === document.body && !matchMedia('(pointer: coarse)').matches) document.getElementById('message')?.focus()
      })
    } catch (error) {
      setFailed(t('allowAll.failed', { reason: reasonOf(error) }))
      setBusy(false)
    }
  }
  return (
    <Dialog title={t('allowAll.title')} onCancel={() => props.onClose()}>
      <p>{t('allowAll.text')}</p>
      <ul class="plain m2">
        <li>{t('allowAll.reach')}</li>
        <li>{t('allowAll.not')}</li>
      </ul>
      <Show when={failed()}>
        {(reason) => (
          <p class="row bad" role="alert">
            <Icon name="circle-alert" size="s" />
            {reason()}
          </p>
        )}
      </Show>
      <div class="acts">
        <button type="button" class="b out" autofocus onClick={() => props.onClose()}>
          {t('shell.cancel')}
        </button>
        <Button kind="danger" busy={busy()} onPress={() => void press()}>
          {t('allowAll.go')}
        </Button>
      </div>
    </Dialog>
  )
}
