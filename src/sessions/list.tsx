import { createEffect, createMemo, createSignal, For, on, Show } from 'solid-js'
import { t } from '../../i18n'
import type { Attention, ListEntry } from '../../server/contract/listing'
import type { ChatList } from '../sync/port'
import { Button } from '../ui/button'
import { now } from '../ui/now'
import { groupsOf, holdStill, type Group, type GroupId } from './grouping'
import { Row } from './row'

export interface ListProps {
  list: ChatList
  current: string | null
  offline: boolean
  skew: number
  saved: (session: string) => boolean
  /** Why a chat asks for a look. */
  attention: (entry: ListEntry) => Attention | null
  onRename: (entry: ListEntry, title: string) => void
  onDelete: (entry: ListEntry) => void
  /** A chat that is not on this device was pressed while offline. */
  onUnavailable: (entry: ListEntry) => void
}

const HEADS: Record<GroupId, () => string> = {
  needs: () => t('list.needs'),
  working: () => t('list.working'),
  pinned: () => t('list.pinned'),
  today: () => t('list.today'),
  yesterday: () => t('list.yesterday'),
  thisWeek: () => t('list.thisWeek'),
  lastWeek: () => t('list.lastWeek'),
  earlier: () => t('list.earlier'),
  here: () => t('list.here'),
  notHere: () => t('list.notHere'),
}

/** The chats in their groups. One tab stop; arrows, j and k, Home and End move; the list holds still under a mouse. */
export function SessionList(props: ListProps) {
  let nav!: HTMLElement
  const minute = now.minute()
  const [pointer, setPointer] = createSignal(false)
  const [stop, setStop] = createSignal<string | null>(null)
  const [renaming, setRenaming] = createSignal<string | null>(null)
  const [busy, setBusy] = createSignal(false)

  const groups = createMemo<Group[]>((before) => {
    const next = groupsOf(props.list.entries.values(), { now: minute() + props.skew, offline: props.offline, saved: props.saved })
    return pointer() ? holdStill(before, next) : next
  }, [])
  const entryOf = (id: string) => props.list.entries.get(id)
  const ids = createMemo(() => groups().flatMap((group) => group.entries.map((entry) => entry.id)))
  const tabStop = () => {
    const wanted = stop() ?? props.current
    return wanted !== null && ids().includes(wanted) ? wanted : ids()[0]
  }
  createEffect(on(() => props.current, (current) => setStop(current), { defer: true }))

  const links = () => [...nav.querySelectorAll<HTMLAnchorElement>('a.ses')]
  const move = (by: number) => {
    const all = links()
    const at = all.indexOf(document.activeElement as HTMLAnchorElement)
    all[Math.max(0, Math.min(all.length - 1, at + by))]?.focus()
  }
  const onKey = (key: KeyboardEvent) => {
    if (key.ctrlKey || key.metaKey || key.altKey || key.target instanceof HTMLInputElement) return
    if (key.key === 'ArrowDown' || key.key === 'j') move(1)
    else if (key.key === 'ArrowUp' || key.key === 'k') move(-1)
    else if (key.key === 'Home') links()[0]?.focus()
    else if (key.key === 'End') links().at(-1)?.focus()
    else return
    key.preventDefault()
    key.stopPropagation()
  }

  return (
    <nav
      ref={nav}
      class="scroll list"
      aria-label={t('list.label')}
      aria-busy={props.list.state === 'loading'}
      onKeyDown={onKey}
      onPointerEnter={(enter) => setPointer(enter.pointerType === 'mouse')}
      onPointerLeave={() => setPointer(false)}
    >
      <Show when={props.list.state === 'ready'} fallback={<Skeleton />}>
        <Show when={groups().length > 0} fallback={<Empty />}>
          <For each={groups().map((group) => group.id)}>
            {(id) => {
              const group = () => groups().find((one) => one.id === id)?.entries ?? []
              return (
                <section>
                  <h2 class="grp" classList={{ need: id === 'needs' }}>
                    {HEADS[id]()}
                    <Show when={id === 'needs'}>
                      <span class="cnt">{group().length}</span>
                    </Show>
                  </h2>
                  <ul>
                    <For each={group().map((entry) => entry.id)}>
                      {(session) => (
                        <Show when={entryOf(session)}>
                          {(entry) => (
                            <Row
                              entry={entry()}
                              current={props.current === session}
                              offline={props.offline}
                              saved={props.saved(session)}
                              attention={props.attention(entry())}
                              stop={tabStop() === session}
                              renaming={renaming() === session}
                              skew={props.skew}
                              onFocus={() => setStop(session)}
                              onUnavailable={() => props.onUnavailable(entry())}
                              onRename={() => setRenaming(session)}
                              onRenamed={(title, left) => {
                                setRenaming(null)
                                if (title !== null) props.onRename(entry(), title)
                                if (!left) queueMicrotask(() => links().find((link) => link.dataset.session === session)?.focus())
                              }}
                              onDelete={() => props.onDelete(entry())}
                            />
                          )}
                        </Show>
                      )}
                    </For>
                  </ul>
                </section>
              )
            }}
          </For>
          <Show when={props.list.more && props.list.loadMore}>
            {(load) => (
              <div class="more">
                <Button
                  kind="quiet"
                  fill
                  busy={busy()}
                  onPress={() => {
                    setBusy(true)
                    void load()()
                      .catch(() => undefined)
                      .finally(() => setBusy(false))
                  }}
                >
                  {t('list.more')}
                </Button>
              </div>
            )}
          </Show>
        </Show>
      </Show>
    </nav>
  )
}

function Empty() {
  return (
    <div class="none">
      <p>{t('list.empty')}</p>
      <a class="lnk" href="/new">
        {t('list.empty.go')}
      </a>
    </div>
  )
}

function Skeleton() {
  return (
    <div aria-hidden="true">
      <For each={[1, 2, 3, 4, 5, 6]}>
        {() => (
          <div class="sk-row">
            <span class="sk" />
          </div>
        )}
      </For>
    </div>
  )
}
