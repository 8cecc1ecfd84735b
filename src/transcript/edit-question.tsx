import { createSignal, onCleanup, onMount, Show, untrack } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { UserRow } from '../../server/contract/rows'
import { isUnreachable } from '../backend/port'
import { sends } from '../composer/enter'
import { reasonOf } from '../shell/reason'
import '../styles/edit.css'
import { Button } from '../ui/button'
import { useSurroundings } from './surroundings'

/** A message while it is changed: what is sent stands in its place, and everything after it leaves. Nothing that was typed is lost but by *Cancel*: it is kept on the device, and goes to the message box where the message is gone. */
export function EditQuestion(props: { row: UserRow; /** The message stands. */ stands: () => boolean; onClose: () => void }) {
  const { actions, online } = useSurroundings()
  const { id, text: before, attachments = [] } = untrack(() => props.row)
  const [text, setText] = createSignal(before)
  const [busy, setBusy] = createSignal(false)
  const [failed, setFailed] = createSignal('')
  let field!: HTMLTextAreaElement
  /** Sent, taken back, or sent for all that is known. */
  let over = false
  const blank = () => text().trim() === '' && attachments.length === 0
  const write = (words: string) => {
    over = false
    setText(words)
    actions.keptEdit.keep(words === before ? '' : JSON.stringify({ row: id, text: words }))
  }
  const cancel = () => {
    over = true
    actions.keptEdit.keep('')
    props.onClose()
  }
  const send = async () => {
    if (busy() || blank() || !online()) return
    setBusy(true)
    setFailed('')
    over = true
    try {
      await actions.edit({ row: id, text: text(), files: attachments.map((file) => file.id) })
      actions.keptEdit.keep('')
      props.onClose()
    } catch (error) {
      // Without an answer it may have arrived: then the message goes, and its words stand in the chat.
      over = isUnreachable(error)
      setFailed(t('edit.failed', { reason: reasonOf(error) }))
    } finally {
      setBusy(false)
    }
  }
  const goOn = async () => {
    const change = parse(await actions.keptEdit.load())
    if (!change) return
    if (change.row !== id) {
      actions.putBack(change.text)
      actions.keptEdit.keep('')
    } else if (text() === before) setText(change.text)
  }
  onMount(() => {
    field.focus()
    field.setSelectionRange(field.value.length, field.value.length)
    void goOn()
  })
  onCleanup(() => {
    if (over || text() === before || props.stands()) return
    actions.putBack(text())
    actions.keptEdit.keep('')
  })
  return (
    <form
      class="tx-edit"
      onSubmit={(submit) => {
        submit.preventDefault()
        void send()
      }}
    >
      <textarea
        ref={field}
        dir="auto"
        rows={2}
        aria-label={t('edit.label')}
        aria-describedby={`edit-${id}`}
        value={text()}
        onInput={(input) => write(input.currentTarget.value)}
        onKeyDown={(key) => {
          key.stopPropagation()
          if (key.key === 'Escape' && !key.isComposing) cancel()
          else if (sends(key, matchMedia('(pointer: coarse)').matches)) void send()
          else return
          key.preventDefault()
        }}
      />
      <p class="meta" id={`edit-${id}`}>
        {online() ? t('edit.after') : t('edit.offline')}
      </p>
      <Show when={failed()}>
        <p class="tx-own" role="alert">
          {failed()}
        </p>
      </Show>
      <div class="acts">
        <Button kind="primary" type="submit" busy={busy()} disabled={blank() || !online()}>
          {t('edit.send')}
        </Button>
        <Button kind="quiet" onPress={cancel}>
          {t('edit.cancel')}
        </Button>
      </div>
    </form>
  )
}

function parse(kept: string): { row: string; text: string } | null {
  try {
    const { row, text } = JSON.parse(kept) as { row?: unknown; text?: unknown }
    return typeof row === 'string' && typeof text === 'string' ? { row, text } : null
  } catch {
    return null
  }
}
