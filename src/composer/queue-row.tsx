import { createSignal, onMount, Show } from 'solid-js'
import { t } from '../../i18n/queue'
import type { QueueItem } from '../../server/contract/queue'
import { Icon } from '../ui/icon'
import { Menu, type MenuItem } from '../ui/menu'
import { Busy } from '../ui/busy'
import { sends } from './enter'
import { listenForDrag } from './queue-drag'

export interface QueueRowProps {
  item: QueueItem
  /** Its place, from 1. */
  n: number
  last: boolean
  /** Something about it is on its way to the server. */
  busy: boolean
  online: boolean
  running: boolean
  /** What it is to say, while it is being changed. */
  changing: string | null
  onChange: () => void
  onType: (text: string) => void
  onKeep: () => void
  onCancel: () => void
  /** To this place, from 0. */
  onMove: (to: number) => void
  onJoin: () => void
  onRemove: () => void
  onSend: (stop: boolean) => void
}

/** One waiting message. Its number is the handle: it can be dragged, or moved with Alt and the arrows. */
export function QueueRow(props: QueueRowProps) {
  let more!: HTMLButtonElement
  const [menu, setMenu] = createSignal(false)
  const names = () => (props.item.attachments ?? []).map(({ name }) => name).join(', ')
  const entries = (): MenuItem[] => [
    ...(props.running
      ? [{ label: t('queue.stopSend'), icon: 'octagon-x' as const, run: () => props.onSend(true) }]
      : [{ label: t('queue.send'), icon: 'arrow-up' as const, run: () => props.onSend(false) }]),
    ...(props.n > 1 ? [{ label: t('queue.up'), icon: 'arrow-up' as const, keys: 'Alt ↑', run: () => props.onMove(props.n - 2) }] : []),
    ...(props.last ? [] : [{ label: t('queue.down'), icon: 'arrow-down' as const, keys: 'Alt ↓', run: () => props.onMove(props.n) }, { label: t('queue.join.next'), icon: 'list-plus' as const, run: () => props.onJoin() }]),
  ]
  const onDrop = (to: number) => props.onMove(to)
  const onKey = (key: KeyboardEvent) => {
    if (!key.altKey || !props.online || (key.key !== 'ArrowUp' && key.key !== 'ArrowDown')) return
    key.preventDefault()
    props.onMove(props.n - 1 + (key.key === 'ArrowUp' ? -1 : 1))
  }
  return (
    <li data-item={props.item.id} aria-busy={props.busy ? 'true' : undefined} classList={{ busy: props.busy }} onKeyDown={onKey}>
      <Show when={props.changing === null} fallback={<ChangeForm {...props} text={props.changing ?? ''} />}>
        <Show when={props.online} fallback={<span class="qn">{props.n}</span>}>
          <button
            type="button"
            class="qn"
            data-does="drag"
            aria-label={t('queue.drag', { n: props.n })}
            ref={(handle) => listenForDrag(handle, onDrop)}
          >
            {props.n}
          </button>
        </Show>
        <span class="qt" dir="auto" title={props.item.text}>
          {props.item.text || names()}
        </span>
        <Show when={props.item.attachments}>
          <span class="qs" title={names()}>
            <Icon name="paperclip" size="s" />
            <span aria-hidden="true">{props.item.attachments!.length}</span>
            <span class="sr">{t('queue.files', { names: names() })}</span>
          </span>
        </Show>
        <Show when={props.item.send}>
          <span class="tag">{t('queue.goesNext')}</span>
        </Show>
        <Show when={props.item.by === 'steer'}>
          <span class="qs" title={t('queue.bySteer')}>
            <Icon name="corner-down-right" size="s" class="flip" />
            <span class="sr">{t('queue.bySteer')}</span>
          </span>
        </Show>
        <Show when={props.busy}>
          <Busy />
        </Show>
        <Show when={props.online}>
          <button type="button" class="ib s" data-does="change" aria-label={t('queue.change')} title={t('queue.change')} onClick={() => props.onChange()}>
            <Icon name="pencil" size="s" />
          </button>
          <button type="button" class="ib s" data-does="remove" aria-label={t('queue.remove')} title={t('queue.remove')} onClick={() => props.onRemove()}>
            <Icon name="x" size="s" />
          </button>
          <button ref={more} type="button" class="ib s" data-does="more" aria-label={t('queue.more', { n: props.n })} aria-haspopup="menu" aria-expanded={menu()} onClick={() => setMenu(!menu())}>
            <Icon name="ellipsis" size="s" />
          </button>
          <Show when={menu()}>
            <Menu anchor={more} label={t('queue.more', { n: props.n })} align="end" items={entries()} onClose={() => setMenu(false)} />
          </Show>
        </Show>
      </Show>
    </li>
  )
}

function ChangeForm(props: Pick<QueueRowProps, 'n' | 'onType' | 'onKeep' | 'onCancel'> & { text: string }) {
  let field!: HTMLTextAreaElement
  onMount(() => {
    field.focus()
    field.setSelectionRange(field.value.length, field.value.length)
  })
  return (
    <form
      class="qe"
      onSubmit={(submit) => {
        submit.preventDefault()
        props.onKeep()
      }}
    >
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        aria-label={t('queue.change.label', { n: props.n })}
        value={props.text}
        onInput={(input) => props.onType(input.currentTarget.value)}
        onKeyDown={(key) => {
          key.stopPropagation()
          if (key.key === 'Escape') props.onCancel()
          else if (sends(key, matchMedia('(pointer: coarse)').matches)) props.onKeep()
          else return
          key.preventDefault()
        }}
      />
      <button type="submit" class="b out">
        {t('shell.save')}
      </button>
      <button type="button" class="b qui" onClick={() => props.onCancel()}>
        {t('shell.cancel')}
      </button>
    </form>
  )
}
