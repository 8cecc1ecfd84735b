import { createEffect, createSignal, For, on, Show } from 'solid-js'
import { t } from '../../i18n/files'
import { bytes } from '../../i18n/format'
import { ATTACHMENTS_LIMIT, isRaster, UPLOAD_CAP } from '../../server/contract/attachments'
import type { UploadedFile } from '../../server/contract/routes'
import { isUnreachable } from '../backend/port'
import type { UploadOptions } from '../backend/upload'
import { reasonOf } from '../shell/reason'
import '../styles/files.css'
import { Icon } from '../ui/icon'
import type { Tray } from './tray-port'

/** What the form around a file needs of a request. */
const FORM_BYTES = 4096
/** Uploads at once. */
const AT_ONCE = 2

export interface TrayParts {
  upload: (session: string, file: File, options: UploadOptions) => Promise<UploadedFile>
  /** False only when the server says that it has no such file. */
  isThere: (session: string, id: string) => Promise<boolean>
  /** Where a picture that is on the server is shown from. */
  address: (session: string, id: string) => string
  /** Keeps what is on the server, for the next page; empty: nothing. */
  keep: (chat: string, value: string) => void
  announce: (words: string) => void
  /** Makes the chat that does not exist yet: its files need a place. */
  make: () => Promise<string>
}

type State = 'waits' | 'goes' | 'ready' | 'failed'
interface Item {
  n: number
  chat: string
  name: string
  size: number
  mime: string
  state: State
  /** From 0 to 1. */
  done: number
  /** Once it is on the server, with the chat that has it there. */
  id?: string
  session?: string
  why?: string
  /** It can be tried again; by itself once the server is back, when that was the reason. */
  again?: 'press' | 'online'
  file?: File
  preview?: string
  stop?: AbortController
}
interface Kept { id: string; name: string; size: number; mime: string; session: string }

/** Files on their way to the server, each by itself: one that fails leaves the others alone, and nothing is sent before all are there. */
export function makeTray(parts: TrayParts): Tray {
  const [items, setItems] = createSignal<readonly Item[]>([])
  const making = new Map<string, Promise<string>>()
  let last = 0

  const of = (chat: string) => items().filter((item) => item.chat === chat)
  const at = (n: number) => items().find((item) => item.n === n)
  const change = (n: number, patch: Partial<Item>) => setItems((all) => all.map((item) => (item.n === n ? { ...item, ...patch } : item)))
  const keep = (chat: string) => {
    const ready = of(chat).flatMap(({ id, name, size, mime, session }): Kept[] => (id === undefined || session === undefined ? [] : [{ id, name, size, mime, session }]))
    parts.keep(chat, ready.length > 0 ? JSON.stringify(ready) : '')
  }
  const drop = (gone: readonly Item[]) => {
    for (const { preview, stop } of gone) {
      stop?.abort()
      if (preview) URL.revokeObjectURL(preview)
    }
    setItems((all) => all.filter((item) => !gone.some(({ n }) => n === item.n)))
  }

  /** The chat on the server. One that does not exist yet is made once, and not again while its files stand here. */
  const sessionFor = (item: Item): Promise<string> => {
    const known = of(item.chat).find((other) => other.session !== undefined)?.session
    if (known !== undefined) return Promise.resolve(known)
    let made = making.get(item.chat)
    if (!made) {
      made = item.chat === 'new' ? parts.make() : Promise.resolve(item.chat)
      making.set(item.chat, made)
      made.catch(() => making.delete(item.chat))
    }
    return made
  }
  const pump = () => {
    const going = items().filter(({ state }) => state === 'goes').length
    for (const item of items().filter(({ state }) => state === 'waits').slice(0, Math.max(0, AT_ONCE - going))) void go(item)
  }
  const go = async ({ n, file }: Item) => {
    const stop = new AbortController()
    change(n, { state: 'goes', done: 0, stop })
    try {
      const session = await sessionFor(at(n)!)
      const { id, filename, size, mime } = await parts.upload(session, file!, { signal: stop.signal, onProgress: (done) => change(n, { done }) })
      const item = at(n)
      if (!item) return
      change(n, { state: 'ready', id, session, name: filename, size, mime })
      keep(item.chat)
      parts.announce(t('files.ready', { name: filename }))
    } catch (error) {
      const item = at(n)
      if (!item || stop.signal.aborted) return
      const away = isUnreachable(error)
      fail(item, away ? t('files.offline') : reasonOf(error), away ? 'online' : 'press')
    } finally {
      pump()
    }
  }
  const fail = (item: Item, why: string, again?: 'press' | 'online') => {
    setItems((all) => all.map((one) => (one.n === item.n ? dropStop({ ...one, state: 'failed', why, ...(again ? { again } : {}) }) : one)))
    parts.announce(t('files.failed', { name: item.name, reason: why }))
  }
  const retry = (which: (item: Item) => boolean) => {
    setItems((all) => all.map((item) => (item.state === 'failed' && item.file && item.again && which(item) ? { ...item, state: 'waits', done: 0 } : item)))
    pump()
  }
  const remove = (item: Item) => {
    drop([item])
    // A chat that was made for files alone may be gone by the next one.
    if (of(item.chat).length === 0) making.delete(item.chat)
    keep(item.chat)
    parts.announce(t('files.removed', { name: item.name }))
    pump()
  }

  return {
    any: (chat) => of(chat).length > 0,
    held: (chat) => {
      const states = of(chat).map(({ state }) => state)
      return states.includes('failed') ? t('files.hold') : states.some((state) => state !== 'ready') ? t('files.wait') : null
    },
    given: (chat) => {
      const ready = of(chat).filter(({ state }) => state === 'ready')
      const ids = ready.flatMap(({ id }) => id ?? [])
      const mark = `${ids[0]!}.${hash(ids.join(' ')).toString(36)}`
      return ids.length === 0 ? undefined : { session: ready[0]!.session!, ids, keyOf: (message, key) => (message === '' ? mark : `${key}.${mark}`) }
    },
    add(chat, files) {
      const chosen = [...files]
      const room = ATTACHMENTS_LIMIT - of(chat).length
      const most = UPLOAD_CAP - FORM_BYTES
      const added = chosen.slice(0, Math.max(0, room)).map((file): Item => ({
        n: ++last, chat, name: file.name, size: file.size, mime: file.type, state: 'waits', done: 0, file,
        ...(isRaster(file.type) ? { preview: URL.createObjectURL(file) } : {}),
      }))
      setItems((all) => [...all, ...added.map((item): Item => (item.size > most ? { ...item, state: 'failed', why: t('files.tooBig', { max: UPLOAD_CAP / 1024 / 1024 }) } : item))])
      parts.announce(room < chosen.length ? t('files.tooMany', { max: ATTACHMENTS_LIMIT }) : t('files.added', { n: added.length }))
      pump()
    },
    restore(chat, kept) {
      if (of(chat).length > 0) return
      const found = parse(kept).map((one): Item => ({ n: ++last, chat, state: 'ready', done: 1, ...one }))
      setItems((all) => [...all, ...found])
      for (const item of found)
        // What is read after the wait is read on purpose as it is then.
        // eslint-disable-next-line solid/reactivity
        void parts.isThere(item.session!, item.id!).then((there) => {
          if (there || !at(item.n)) return
          setItems((all) => all.map(({ id, session, ...one }) => (one.n === item.n ? one : { ...one, ...(id === undefined ? {} : { id }), ...(session === undefined ? {} : { session }) })))
          fail(item, t('files.gone'))
          keep(chat)
        })
    },
    sent(chat, { ids }, made) {
      drop(of(chat).filter(({ id }) => id !== undefined && ids.includes(id)))
      making.delete(chat)
      if (made !== undefined) {
        setItems((all) => all.map((item) => (item.chat === chat ? { ...item, chat: made } : item)))
        keep(made)
      }
      keep(chat)
    },
    View(props) {
      let list!: HTMLUListElement
      createEffect(on(() => props.online, (online) => online && retry(({ again }) => again === 'online')))
      const take = (item: Item) => {
        const place = of(props.chat).indexOf(item)
        const box = props.onLeft
        remove(item)
        // What was pressed has gone: who works with keys goes on at the next one, or in the box.
        queueMicrotask(() => {
          const left = list.querySelectorAll<HTMLElement>('[data-does="remove"]')
          if (left.length > 0) left[Math.min(place, left.length - 1)]!.focus()
          else box()
        })
      }
      return (
        <ul ref={list} class="tray" aria-label={t('files.label')}>
          <For each={of(props.chat).map(({ n }) => n)}>
            {(n) => (
              <Show when={at(n)}>
                {(item) => (
                  <li class="att" classList={{ bad: item().state === 'failed' }}>
                    <Thumb item={item()} address={parts.address} />
                    <span class="att-of">
                      <span class="att-name" dir="auto" title={item().name}>
                        {item().name}
                      </span>
                      <span class="meta num">{item().state === 'failed' ? item().why : going(item()) ? t('files.percent', { percent: percent(item()) }) : bytes(item().size)}</span>
                    </span>
                    <Show when={item().state === 'failed' && item().again}>
                      <button type="button" class="b qui" aria-label={t('files.again.name', { name: item().name })} onClick={() => retry((one) => one.n === n)}>
                        {t('files.again')}
                      </button>
                    </Show>
                    <button type="button" class="ib s" data-does="remove" aria-label={t('files.remove', { name: item().name })} title={t('files.remove', { name: item().name })} onClick={() => take(item())}>
                      <Icon name="x" size="s" />
                    </button>
                    <Show when={going(item())}>
                      <span class="bar2" role="progressbar" aria-label={t('files.progress', { name: item().name, percent: percent(item()) })} aria-valuenow={percent(item())} style={{ '--v': `${percent(item())}%` }} />
                    </Show>
                  </li>
                )}
              </Show>
            )}
          </For>
        </ul>
      )
    },
  } satisfies Tray
}

function Thumb(props: { item: Item; address: TrayParts['address'] }) {
  const [broken, setBroken] = createSignal(false)
  const source = () => {
    const { preview, id, session, mime, state } = props.item
    return state === 'failed' || broken() ? undefined : (preview ?? (id && session && isRaster(mime) ? props.address(session, id) : undefined))
  }
  return (
    <Show when={source()} fallback={<span class="thumb"><Icon name={props.item.state === 'failed' ? 'circle-alert' : 'file-text'} size="s" /></span>}>
      {(from) => <img class="thumb" src={from()} alt="" onError={() => setBroken(true)} />}
    </Show>
  )
}

function going({ state }: Item): boolean {
  return state === 'goes' || state === 'waits'
}

function percent({ done }: Item): number {
  return Math.floor(done * 100)
}

function dropStop({ stop: _, ...item }: Item): Item {
  return item
}

function parse(kept: string): Kept[] {
  try {
    const list = JSON.parse(kept) as Kept[]
    return list.filter((one) => [one.id, one.name, one.mime, one.session].every((each) => typeof each === 'string') && typeof one.size === 'number')
  } catch {
    return []
  }
}

/** FNV-1a: the first id is unique already; this tells sets with the same first file apart. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0
  return value
}


