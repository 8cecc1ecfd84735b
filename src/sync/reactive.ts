import { batch, createEffect, createSignal, onCleanup, untrack, type Accessor } from 'solid-js'
import type { Approval } from '../../server/contract/approvals'
import type { Queue } from '../../server/contract/queue'
import type { Clarify, Secret } from '../../server/contract/questions'
import type { Row } from '../../server/contract/rows'
import { lastRun, type Run, type SessionHead } from '../../server/contract/session'
import type { ChatList, Connection, OpenChat, Sync } from './port'

/** The connection as a signal. */
export function createConnection(sync: Sync): Accessor<Connection> {
  const [connection, set] = createSignal(sync.connection())
  onCleanup(sync.onConnection((next) => set(next)))
  return connection
}

/** The chat list as a signal; every change is news, the maps may be the same object. */
export function createChatList(sync: Sync): Accessor<ChatList> {
  const [list, set] = createSignal(sync.list(), { equals: false })
  onCleanup(sync.onList((next) => set(next)))
  return list
}

/** A question of a run that waits for a person, with the row it stands on. */
export type OpenApproval = Approval & { state: 'open' }
export type OpenClarify = Clarify & { state: 'open' }
export type OpenSecret = Secret & { state: 'open' }
export type OpenQuestion = { kind: 'approval'; asked: OpenApproval } | { kind: 'clarify'; asked: OpenClarify } | { kind: 'secret'; asked: OpenSecret }

/**
 * What the frame around a transcript shows of an open chat. Each is a signal that moves only when its own facts do: growing text moves
 * none of them (law 14).
 */
export interface ChatFacts {
  readonly chat: OpenChat
  state: Accessor<ReturnType<OpenChat['state']>>
  freshness: Accessor<'copy' | 'live'>
  savedAt: Accessor<number | null>
  head: Accessor<SessionHead | null>
  /** The live run, or the last one. */
  run: Accessor<Run | null>
  /** Oldest first. */
  questions: Accessor<OpenQuestion[]>
  /** The permissions among them. */
  approvals: Accessor<OpenApproval[]>
  /** The waiting messages; the same object until one of them changed. */
  queue: Accessor<Queue>
  /** No question was asked in it yet. */
  empty: Accessor<boolean>
}

/** Opens the chat whose id is given, closes it when the id changes or the owner goes. */
export function createOpenChat(sync: Sync, session: Accessor<string | null>): Accessor<ChatFacts | null> {
  const [facts, set] = createSignal<ChatFacts | null>(null)
  createEffect(() => {
    const id = session()
    if (id === null) {
      set(null)
      return
    }
    const chat = untrack(() => sync.open(id))
    const [made, stop] = factsOf(chat)
    set(made)
    onCleanup(() => {
      stop()
      chat.close()
    })
  })
  return facts
}

function factsOf(chat: OpenChat): [ChatFacts, () => void] {
  const open = new Map<string, OpenQuestion>()
  const [state, setState] = createSignal(chat.state())
  const [freshness, setFreshness] = createSignal(chat.freshness())
  const [savedAt, setSavedAt] = createSignal(chat.savedAt())
  const [head, setHead] = createSignal(chat.value().session, { equals: false })
  const [run, setRun] = createSignal<Run | null>(null, { equals: false })
  const [questions, setQuestions] = createSignal<OpenQuestion[]>([])
  const [approvals, setApprovals] = createSignal<OpenApproval[]>([])
  const [queue, setQueue] = createSignal(chat.value().queue)
  const [empty, setEmpty] = createSignal(true)

  const look = (row: Row | undefined, id: string): boolean => {
    const asked = row && questionOf(row)
    if (!asked) return open.delete(id)
    open.set(id, asked)
    return true
  }
  const publish = () => {
    const all = [...open.values()].sort(({ asked: a }, { asked: b }) => a.raisedAt - b.raisedAt || (a.id < b.id ? -1 : 1))
    setQuestions(all)
    setApprovals(all.flatMap((one) => (one.kind === 'approval' ? [one.asked] : [])))
  }
  const newest = (): Run | null => {
    const value = chat.value()
    for (let at = value.order.length - 1; at >= 0; at--) {
      const row = value.rows.get(value.order[at]!)
      const turn = row && value.turns.get(row.turn)
      if (turn) return lastRun(turn) ?? null
    }
    return null
  }
  const readAll = () => {
    const value = chat.value()
    open.clear()
    for (const [id, row] of value.rows) look(row, id)
    publish()
    setHead(value.session)
    setRun(newest())
    setQueue(value.queue)
    setEmpty(value.order.length === 0 && value.from === '')
  }
  const readState = () => {
    setState(chat.state())
    setFreshness(chat.freshness())
    setSavedAt(chat.savedAt())
  }
  readAll()
  const stop = chat.subscribe((news) =>
    batch(() => {
      if (news.type === 'state') return readState()
      if (news.type === 'value') {
        readState()
        return readAll()
      }
      const { touched } = news
      if (touched.head) setHead(chat.value().session)
      setQueue(chat.value().queue)
      if (touched.turns.size || touched.removed.size) setRun(newest())
      if (touched.rows.size || touched.removed.size) {
        let moved = false
        for (const id of touched.rows) moved = look(chat.value().rows.get(id), id) || moved
        for (const id of touched.removed) moved = open.delete(id) || moved
        if (moved) publish()
        setEmpty(chat.value().order.length === 0 && chat.value().from === '')
      }
    }),
  )
  return [{ chat, state, freshness, savedAt, head, run, questions, approvals, queue, empty }, stop]
}

/** What a row asks, while it is open. */
function questionOf(row: Row): OpenQuestion | undefined {
  if (row.kind !== 'tool' && row.kind !== 'question') return undefined
  if (row.approval?.state === 'open') return { kind: 'approval', asked: row.approval }
  if (row.kind === 'tool') return undefined
  if (row.clarify?.state === 'open') return { kind: 'clarify', asked: row.clarify }
  return row.secret?.state === 'open' ? { kind: 'secret', asked: row.secret } : undefined
}
