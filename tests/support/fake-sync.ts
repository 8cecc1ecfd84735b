import type { ListEntry } from '../../server/contract/listing'
import { EMPTY_QUEUE } from '../../server/contract/queue'
import type { Transcript } from '../../server/contract/session'
import type { ChatList, ChatNews, Connection, OpenChat, Sync } from '../../src/sync/port'

/** A `Sync` whose every fact is set by the test: what surfaces show is then a function of what was set. */
export interface FakeSync extends Sync {
  setConnection(connection: Connection): void
  setList(entries: Iterable<ListEntry>, more?: Partial<Omit<ChatList, 'entries'>>): void
  chat(session: string): FakeChat
  readonly retries: number
}

export interface FakeChat extends OpenChat {
  set(facts: Partial<FakeChatFacts>): void
  tell(news: ChatNews): void
}

export interface FakeChatFacts {
  state: ReturnType<OpenChat['state']>
  value: Transcript
  freshness: 'copy' | 'live'
  savedAt: number | null
}

export function emptyValue(): Transcript {
  return { session: null, deleted: false, turns: new Map(), rows: new Map(), order: [], queue: EMPTY_QUEUE, seq: 0, from: '' }
}

function makeFakeChat(session: string): FakeChat {
  let facts: FakeChatFacts = { state: 'ready', value: emptyValue(), freshness: 'live', savedAt: null }
  const listeners = new Set<(news: ChatNews) => void>()
  const tell = (news: ChatNews) => {
    for (const listener of listeners) listener(news)
  }
  return {
    session,
    state: () => facts.state,
    value: () => facts.value,
    freshness: () => facts.freshness,
    savedAt: () => facts.savedAt,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    older: () => Promise.resolve(false),
    close: () => listeners.clear(),
    set: (part) => {
      facts = { ...facts, ...part }
      tell({ type: 'value' })
    },
    tell,
  }
}

export function makeFakeSync(saved: (session: string) => boolean = () => true): FakeSync {
  let connection: Connection = { state: 'connected', since: 0 }
  let list: ChatList = { state: 'ready', entries: new Map(), more: false }
  let retries = 0
  const chats = new Map<string, FakeChat>()
  const onConnection = new Set<(connection: Connection) => void>()
  const onList = new Set<(list: ChatList) => void>()
  const chat = (session: string): FakeChat => {
    const found = chats.get(session) ?? makeFakeChat(session)
    chats.set(session, found)
    return found
  }
  return {
    connection: () => connection,
    onConnection: (listener) => {
      onConnection.add(listener)
      return () => onConnection.delete(listener)
    },
    list: () => list,
    onList: (listener) => {
      onList.add(listener)
      return () => onList.delete(listener)
    },
    open: chat,
    retryNow: () => {
      retries++
    },
    get retries() {
      return retries
    },
    saved,
    keeping: () => 'ok',
    close: () => undefined,
    setConnection: (next) => {
      connection = next
      for (const listener of onConnection) listener(next)
    },
    setList: (entries, more = {}) => {
      list = { ...list, ...more, entries: new Map([...entries].map((entry) => [entry.id, entry])) }
      for (const listener of onList) listener(list)
    },
    chat,
  }
}
