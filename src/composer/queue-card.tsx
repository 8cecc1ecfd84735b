import { createEffect, createSignal, For, on, onCleanup, onMount, Show } from 'solid-js'
import { t } from '../../i18n/queue'
import type { QueueItem } from '../../server/contract/queue'
import '../styles/queue.css'
import { ProblemError } from '../backend/port'
import { reasonOf } from '../shell/reason'
import { Icon } from '../ui/icon'
import { createQueueEdits, joined, moved } from './queue-edits'
import type { Change, QueueProps } from './queue-port'
import { QueueRow } from './queue-row'

/** Once. */
const later = (ms: number, run: () => void) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** The waiting messages, tucked behind the message box: in their order, to be changed in place, moved, joined, removed and sent (design/LANGUAGE.md §8). */
export function QueueCard(props: QueueProps) {
  // Given once, for the life of the card.
  // eslint-disable-next-line solid/reactivity
  const { orders, toast, give, announce, fresh, kept } = props
  const edits = createQueueEdits(() => props.queue, later)
  const items = edits.shown
  const [failed, setFailed] = createSignal<string | null>(null)
  /** The message that is being changed, and what it is to say. */
  const [changing, setChanging] = createSignal<Change | null>(null)
  const put = (change: Change | null) => {
    setChanging(change)
    kept.keep(change && isWords(change) ? change : null)
  }
  let card!: HTMLElement
  let list!: HTMLOListElement

  const at = (id: string) => items().findIndex((item) => item.id === id)
  const why = (error: unknown) => (error instanceof ProblemError && error.code === 'queue_item_not_found' ? t('queue.gone') : reasonOf(error))
  /** False when it was refused; the card says why. */
  const attempt = async (work: Promise<unknown>, say: (reason: string) => string): Promise<boolean> => {
    setFailed(null)
    try {
      await work
      return true
    } catch (error) {
      setFailed(say(why(error)))
      return false
    }
  }

  const move = (id: string, to: number) => {
    const all = items()
    const from = at(id)
    if (from < 0 || to < 0 || to >= all.length || to === from) return
    // Counted without the message itself, which leaves its place.
    const before = all.filter((item) => item.id !== id)[to]?.id
    const focused = list.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.does : undefined
    void attempt(edits.run([id], (shown) => moved(shown, id, before), () => orders.move(id, before)), (reason) => t('queue.failed.move', { reason }))
    announce(t('queue.moved', { n: to + 1 }))
    // A node that changes its place loses the focus.
    if (focused) queueMicrotask(() => find(id, focused)?.focus())
  }
  const join = (ids: string[]) => {
    void attempt(edits.run(ids, (shown) => joined(shown, ids), () => orders.combine(ids)), (reason) => t('queue.failed.join', { reason }))
    holdFocus(ids[0], 'change')
  }
  const remove = async (item: QueueItem) => {
    const place = at(item.id)
    const before = items()[place + 1]?.id
    const gone = edits.run([item.id], (shown) => shown.filter((one) => one.id !== item.id), () => orders.remove(item.id))
    holdFocus(items()[Math.min(place, items().length - 1)]?.id, 'remove')
    if (!(await attempt(gone, (reason) => t('queue.failed.remove', { reason })))) return
    // The card may have gone with its last message; the undo stands in the toast.
    const run = () => void orders.restore(item, before).catch((error: unknown) => toast({ text: t('queue.failed.undo', { reason: reasonOf(error) }) }))
    toast({ text: t('queue.removed'), undo: { label: t('queue.undo'), run } })
  }
  const send = (item: QueueItem, stop: boolean) => {
    const next = items().find((one) => !one.send && one.id !== item.id)?.id
    const apply = (shown: readonly QueueItem[]) => moved(shown, item.id, next).map((one) => (one.id === item.id ? { ...one, send: true as const } : one))
    void attempt(edits.run([item.id], apply, () => orders.send(item.id, stop)), (reason) => t('queue.failed.send', { reason }))
  }
  const keep = async () => {
    const change = changing()
    if (!change) return
    const text = change.text.trim()
    if (text === '' && !items().find((one) => one.id === change.id)?.attachments) return announce(t('queue.change.empty'))
    setChanging(null)
    focusRow(change.id)
    if (text === change.was) return
    try {
      setFailed(null)
      await edits.run([change.id], (shown) => shown.map((one) => (one.id === change.id ? { ...one, text } : one)), () => orders.change(change.id, text))
      if (!changing()) kept.keep(null)
    } catch (error) {
      // Words that somebody typed are never thrown away: back into the field, or, where the message has gone or another is being changed, into the box.
      const gone = error instanceof ProblemError && error.code === 'queue_item_not_found'
      if (!gone) setFailed(t('queue.failed.change', { reason: why(error) }))
      if (!gone && !changing()) return put({ ...change, text })
      if (!changing()) kept.keep(null)
      if (gone) rescue(text)
      else give(text)
    }
  }
  const rescue = (text: string) => {
    give(text)
    toast({ text: t('queue.gone.changed') })
  }
  const find = (id: string, does: string) => list.querySelector<HTMLElement>(`[data-item="${CSS.escape(id)}"] [data-does="${does}"]`)
  const focusRow = (id: string) => queueMicrotask(() => find(id, 'change')?.focus())
  /** What was pressed has gone with its row: who works with keys goes on at this one, or on the card. */
  const holdFocus = (id: string | undefined, does: string) =>
    queueMicrotask(() => {
      if (document.activeElement === document.body) ((id === undefined ? null : find(id, does)) ?? card).focus()
    })

  /** What was being typed into a message that left; also when the card leaves with it. */
  const abandoned = () => {
    const change = changing()
    if (!change || !isWords(change)) return
    kept.keep(null)
    rescue(change.text.trim())
  }
  const resume = (change: Change | null) => {
    if (!change || changing()) return
    if (items().some((item) => item.id === change.id)) return put(change)
    kept.keep(null)
    rescue(change.text.trim())
  }
  // Before a reload somebody was changing one; whether it still waits is known once the queue is the server's.
  createEffect(
    on(
      () => props.online,
      (online, before) => {
        if (online && !before) void kept.load().then(resume)
      },
    ),
  )
  createEffect(
    on(items, (all) => {
      const change = changing()
      if (!change || all.some((item) => item.id === change.id)) return
      abandoned()
      put(null)
    }, { defer: true }),
  )
  onCleanup(abandoned)
  onCleanup(() => card.contains(document.activeElement) && props.onLeft())
  createEffect(on(() => items().length, (n) => announce(t('queue.count', { n })), { defer: !fresh }))

  // Toasts stand above the card.
  const root = document.documentElement.style
  onMount(() => {
    const sizes = new ResizeObserver(() => root.setProperty('--queue-h', `${card.offsetHeight}px`))
    sizes.observe(card)
    onCleanup(() => {
      sizes.disconnect()
      root.removeProperty('--queue-h')
    })
  })

  return (
    <section ref={card} class="queue" aria-label={t('queue.label')} tabindex="-1">
      <div class="qh" classList={{ held: !props.online || (!props.run && props.paused !== null) }}>
        <span class="grow">
          <b>{t('queue.count', { n: items().length })}</b>{' '}
          <Show when={!props.online} fallback={<Why run={props.run} paused={props.paused} />}>
            {t('queue.offline')}
          </Show>
        </span>
        <Show when={props.online}>
          <Show when={!props.run && props.paused}>
            <button
              type="button"
              class="b out"
              onClick={() => {
                if (items()[0]) send(items()[0]!, false)
                // The button goes once it is sent.
                card.focus({ preventScroll: true })
              }}
            >
              {t('queue.next')}
            </button>
          </Show>
          <Show when={items().length > 1}>
            <button type="button" class="b qui" onClick={() => join(items().map((item) => item.id))}>
              {t('queue.join')}
            </button>
          </Show>
        </Show>
      </div>
      <ol ref={list} aria-label={t('queue.list')}>
        <For each={items().map((item) => item.id)}>
          {(id) => (
            <Show when={items().find((item) => item.id === id)}>
              {(item) => (
                <QueueRow
                  item={item()}
                  n={at(id) + 1}
                  last={at(id) === items().length - 1}
                  busy={edits.busy(id)}
                  online={props.online}
                  running={props.run !== null}
                  changing={changing()?.id === id ? changing()!.text : null}
                  onChange={() => {
                    const open = changing()
                    // One at a time: what is being written is ended first.
                    if (open && isWords(open)) list.querySelector<HTMLElement>('.qe textarea')?.focus()
                    else put({ id, was: item().text, text: item().text })
                  }}
                  onType={(text) => put({ id, was: changing()?.was ?? item().text, text })}
                  onKeep={() => void keep()}
                  onCancel={() => {
                    put(null)
                    focusRow(id)
                  }}
                  onMove={(to) => move(id, to)}
                  onJoin={() => join(items().slice(at(id), at(id) + 2).map((one) => one.id))}
                  onRemove={() => void remove(item())}
                  onSend={(stop) => send(item(), stop)}
                />
              )}
            </Show>
          )}
        </For>
      </ol>
      <Show when={failed()}>
        {(words) => (
          <p class="qf" role="alert">
            <Icon name="circle-alert" size="s" />
            <span class="grow">{words()}</span>
            <button type="button" class="ib s" aria-label={t('shell.close')} onClick={() => setFailed(null)}>
              <Icon name="x" size="s" />
            </button>
          </p>
        )}
      </Show>
    </section>
  )
}

/** Something else than before is written. */
function isWords(change: Change): boolean {
  return change.text.trim() !== '' && change.text.trim() !== change.was
}

/** Why they wait, where it is not simply for their turn. */
function Why(props: Pick<QueueProps, 'run' | 'paused'>) {
  const words = () => (props.run ? props.run.stopping && t('queue.stopping') : props.paused && t(`queue.paused.${props.paused}`))
  return <>{words() || ''}</>
}
