import type { Backend } from '../backend/port'
import { ProblemError } from '../backend/port'
import type { Copies, Shelf } from '../cache/port'
import type { Cursor } from '../../server/contract/wire'
import { verdictOf } from './answers'
import { ChatPart } from './chat-part'
import type { Clock, Surroundings } from './clock'
import { CopyRefresh } from './copy-refresh'
import { makeHiddenPoll } from './hidden-poll'
import { makeLink, type Asked, type Frame } from './link'
import { ListPart } from './list-part'
import { onceRead } from './once-read'
import type { ChatList, Connection, Keeping, Sync } from './port'
import type { Shared } from './shared'
import { sweep } from './sweep'

/** After this long without a connection, what changed is asked for instead of replayed: that costs the change, not the history, ms. */
const REPLAY_MS = 60_000
/** While connected, the time of the copies is written so often, ms. */
const CONFIRM_MS = 15_000

/** How long the first connection waits for the copies, ms. */
const COPIES_MS = 300

export interface SyncParts {
  backend: Backend
  shelf: Shelf
  clock: Clock
  surroundings: Surroundings
}

/**
 * Keeps the list and the open chat in step with the server and with their copies (DESIGN §5, §7; spec/log.md §1, §2, §6). One stream while the page
 * is visible; none while it is hidden.
 */
export function makeSync({ backend, shelf, clock, surroundings }: SyncParts): Sync {
  let copies: Copies | null = null
  let store: string | null = null
  let adopting: Promise<void> | null = null
  let epoch = 0
  let hears: string | null | undefined
  let chat: ChatPart | null = null
  let closed = false
  let confirmedAt = 0
  let savedChats = new Set<string>()
  let keeping: Keeping = 'ok'
  const connectionListeners = new Set<(connection: Connection) => void>()
  const listListeners = new Set<(list: ChatList) => void>()

  const shared: Shared = {
    backend,
    clock,
    copies: () => copies,
    store: () => store,
    wrote: (done) => {
      keeping = done.ok ? 'ok' : done.why === 'full' ? 'full' : 'none'
    },
    accepts,
    epoch: () => epoch,
    connected: () => hears !== undefined,
    hears: (session) => hears === session,
    lastGood: () => link.lastGood(),
  }
  const list: ListPart = new ListPart(
    shared,
    tellList,
    (sessions) => {
      for (const session of sessions) {
        forget(session)
        if (chat?.session === session) chat.refuse('gone')
      }
    },
    (entry) => shared.connected() && refresh.consider(entry),
  )
  const refresh = new CopyRefresh(shared, {
    entries: () => list.value().entries,
    kept: (session) => savedChats.has(session) && chat?.session !== session,
    refresh: (session) => new ChatPart(shared, session, { saved: () => undefined, gone: () => forget(session), closed: () => undefined }).refreshCopy(),
  })
  const link = makeLink({
    clock,
    events: (asked, signal) => backend.events({ ...(asked.session ? { session_id: asked.session } : {}), ...(asked.after ? { after: asked.after } : {}) }, signal),
    asks,
    accepts,
    onRegistered,
    onFrame,
    onState,
    onHanging: () => sweep(backend, clock),
    onRefused,
  })
  const poll = makeHiddenPoll({
    clock,
    ask: (session) => backend.call('GET /api/session/status', { session_id: session }, { fresh: true }),
    isFinal: (error) => error instanceof ProblemError && (error.status === 404 || error.status === 410),
    onNews: () => {
      void list.catchUp()
      chat?.refresh()
    },
    onFinal: () => undefined,
  })

  function tellList(): void {
    const value = list.value()
    for (const listener of listListeners) listener(value)
  }

  function onState(connection: Connection): void {
    if (connection.state !== 'connected') {
      if (hears !== undefined) {
        hears = undefined
        refresh.stop()
        list.lost()
        chat?.lost()
      }
      if (connection.state === 'offline') chat?.offline()
    }
    for (const listener of connectionListeners) listener(connection)
  }

  function asks(): Asked {
    const session = chat?.wanted() ? chat.session : null
    const lately = clock.now() - link.lastGood() < REPLAY_MS
    return { session, after: lately ? list.cursor : null }
  }

  /** Every answer names its store. A new one means: other databases, and nothing that was shown is true any more. */
  function accepts(named: string): boolean {
    if (named === store) return true
    if (store === null) {
      adopt(named)
      return true
    }
    link.pause()
    hears = undefined
    refresh.stop()
    copies?.close()
    copies = null
    store = named
    savedChats = new Set()
    list.restart()
    chat?.lost()
    void open(named).then(() => {
      if (closed || store !== named) return
      chat?.restart()
      void list.catchUp()
      if (surroundings.visible()) link.restart()
    })
    return false
  }

  /** The first store that this page hears of. What it shows already came from there. */
  function adopt(named: string): void {
    store = named
    adopting = open(named)
  }

  async function open(named: string): Promise<void> {
    const opened = await shelf.open(named)
    if (closed || store !== named) return opened.close()
    copies = opened
    // The open chat first: a person waits for it.
    chat?.copiesOpened()
    const saved = await opened.saved()
    if (saved.ok) for (const id of saved.value) savedChats.add(id)
    void list.write()
    if (shared.connected()) refresh.look()
  }

  function onRegistered(asked: Asked): void {
    epoch += 1
    hears = asked.session
    chat?.registered(asked)
    const at = epoch
    // On a first visit to a chat a person waits for its rows; the list is asked for once they stand.
    if (chat?.state() === 'loading' && list.cursor === null) onceRead(chat, clock, () => at === epoch && hears !== undefined && list.registered(asked))
    else list.registered(asked)
    refresh.look()
  }

  function onFrame(frame: Frame): void {
    switch (frame.name) {
      case 'change': {
        const { session, events } = frame.data
        if (events && chat?.session === session) chat.frame(events)
        list.frame(frame.data)
        moved(frame.id)
        return
      }
      case 'synced':
        if (!accepts(frame.data.store)) return
        moved(frame.data.cursor)
        return
      case 'reset':
        if (!frame.data.session) list.reset()
        if (!frame.data.session || frame.data.session === chat?.session) chat?.reset()
        return
      case 'beat':
        if (clock.now() - confirmedAt < CONFIRM_MS) return
        confirmedAt = clock.now()
        void list.write()
    }
  }

  function moved(cursor: Cursor | null): void {
    if (cursor === null) return
    list.moved(cursor)
    chat?.moved(cursor)
  }

  function onRefused(error: unknown, asked: Asked): boolean {
    if (error instanceof ProblemError && error.store !== null && !accepts(error.store)) return false
    const verdict = verdictOf(error, store)
    if (verdict === 'unknown' || asked.session === null) return false
    if (chat?.session === asked.session) chat.refuse(verdict)
    return true
  }

  function forget(session: string): void {
    savedChats.delete(session)
    void copies?.forget([session])
  }

  function goOn(): void {
    if (closed) return
    if (surroundings.visible()) {
      poll.stop()
      link.restart()
      return
    }
    link.pause()
    hears = undefined
    refresh.stop()
    list.lost()
    chat?.lost()
    flush()
    if (chat?.wanted()) poll.start(chat.session)
  }

  function flush(): void {
    void list.write()
    void chat?.flush()
  }

  /** Reads what this device holds. */
  async function load(): Promise<void> {
    const last = await shelf.last()
    if (last !== null && store === null) adopt(last)
    await adopting
    const saved = await copies?.list()
    if (closed || !saved?.ok || !saved.value) return
    link.knownGood(saved.value.savedAt)
    list.load(saved.value)
  }

  const ends = [surroundings.onVisibility(goOn), surroundings.onDoubt(() => surroundings.visible() && begun && link.doubt()), surroundings.onLeaving(flush)]
  let begun = false
  let ready = (): void => undefined
  const beginning = new Promise<void>((resolve) => {
    ready = resolve
  })
  /** The stream is opened from the copy's cursor, so it waits for the copies, but not for a database that hangs. */
  function begin(): void {
    if (begun || closed) return
    begun = true
    ready()
    goOn()
  }
  const cancelBegin = clock.after(COPIES_MS, begin)
  void load().then(begin)

  return {
    connection: () => link.state(),
    onConnection: (listener) => subscribe(connectionListeners, listener),
    list: () => list.value(),
    onList: (listener) => subscribe(listListeners, listener),
    open(session) {
      chat?.close()
      const part = new ChatPart(shared, session, {
        saved: () => savedChats.add(session),
        gone: () => forget(session),
        closed: () => {
          if (chat === part) chat = null
        },
      })
      chat = part
      void beginning.then(() => part.start())
      if (begun) goOn()
      return part
    },
    retryNow: () => link.doubt(),
    saved: (session) => savedChats.has(session),
    keeping: () => keeping,
    close() {
      if (closed) return
      const open = copies
      const written = Promise.all([list.write(), chat?.flush()])
      closed = true
      cancelBegin()
      poll.stop()
      link.pause()
      chat?.close()
      list.stop()
      refresh.stop()
      for (const end of ends) end()
      void written.then(() => open?.close())
    },
  }
}

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
