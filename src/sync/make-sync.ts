import type { Backend } from '../backend/port'
import { ProblemError } from '../backend/port'
import type { Shelf } from '../cache/port'
import type { Cursor } from '../../server/contract/wire'
import { verdictOf } from './answers'
import { makeBeginning } from './beginning'
import { ChatPart } from './chat-part'
import type { Clock, Surroundings } from './clock'
import { CopyRefresh } from './copy-refresh'
import { makeHiddenPoll } from './hidden-poll'
import { makeHolding, type Holding } from './holding'
import { makeLink, type Asked, type Frame } from './link'
import { ListPart } from './list-part'
import { makeListeners } from './listeners'
import { onceRead } from './once-read'
import type { ChatList, Connection, Sync } from './port'
import type { Shared } from './shared'
import { sweep } from './sweep'

/** After this long without a connection, what changed is asked for instead of replayed: that costs the change, not the history, ms. */
const REPLAY_MS = 60_000
/** While connected, the time of the copies is written so often, ms. */
const CONFIRM_MS = 15_000

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
  let epoch = 0
  let hears: string | null | undefined
  let chat: ChatPart | null = null
  let closed = false
  let confirmedAt = 0
  const connectionListeners = makeListeners<Connection>()
  const listListeners = makeListeners<ChatList>()

  const holding: Holding = makeHolding(shelf, {
    opened() {
      // The open chat first: a person waits for it.
      chat?.copiesOpened()
    },
    known() {
      void list.write()
      if (shared.connected()) refresh.look()
    },
  })
  const { copies, store, forget } = holding
  const shared: Shared = {
    backend,
    clock,
    copies,
    store,
    wrote: holding.wrote,
    accepts,
    epoch: () => epoch,
    connected: () => hears !== undefined,
    hears: (session) => hears === session,
    lastGood: () => link.lastGood(),
  }
  const list: ListPart = new ListPart(
    shared,
    () => listListeners.tell(list.value()),
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
    kept: (session) => holding.saved(session) && chat?.session !== session,
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
    connectionListeners.tell(connection)
  }

  function asks(): Asked {
    const session = chat?.wanted() ? chat.session : null
    const lately = clock.now() - link.lastGood() < REPLAY_MS
    return { session, after: lately ? list.cursor : null }
  }

  /** Every answer names its store. A new one means: other databases, and nothing that was shown is true any more. */
  function accepts(named: string): boolean {
    if (named === store()) return true
    if (store() === null) {
      holding.adopt(named)
      return true
    }
    link.pause()
    hears = undefined
    refresh.stop()
    const changed = holding.change(named)
    list.restart()
    chat?.lost()
    void changed.then((stands) => {
      if (!stands) return
      chat?.restart()
      void list.catchUp()
      if (surroundings.visible()) link.restart()
    })
    return false
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
    const verdict = verdictOf(error, store())
    if (verdict === 'unknown' || asked.session === null) return false
    if (chat?.session === asked.session) chat.refuse(verdict)
    return true
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
    if (last !== null && store() === null) holding.adopt(last)
    await holding.adopted()
    const saved = await copies()?.list()
    if (closed || !saved?.ok || !saved.value) return
    link.knownGood(saved.value.savedAt)
    list.load(saved.value)
  }

  const ends = [surroundings.onVisibility(goOn), surroundings.onDoubt(() => surroundings.visible() && beginning.begun() && link.doubt()), surroundings.onLeaving(flush)]
  const beginning = makeBeginning(clock, load, goOn)

  return {
    connection: () => link.state(),
    onConnection: connectionListeners.add,
    list: () => list.value(),
    onList: listListeners.add,
    open(session) {
      chat?.close()
      const part = new ChatPart(shared, session, {
        saved: () => holding.add(session),
        gone: () => forget(session),
        closed: () => {
          if (chat === part) chat = null
        },
      })
      chat = part
      void beginning.reached.then(() => part.start())
      if (beginning.begun()) goOn()
      return part
    },
    retryNow: () => link.doubt(),
    saved: holding.saved,
    keeping: holding.keeping,
    close() {
      if (closed) return
      const open = copies()
      const written = Promise.all([list.write(), chat?.flush()])
      closed = true
      holding.end()
      beginning.cancel()
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
