import { openForReading, openForWriting } from './database'
import { isFull, type Connection } from './driver'
import { StoreUnopened } from './port'
import { READS, WRITES, type Answer, type Opened, type Request, type ThreadData, type Unopened } from './protocol'
import { Writer } from './write/writer'

/** What a store thread does, without the thread: an open connection that answers one request after the other. */
export interface Role {
  opened: Opened
  answer(request: Request): Answer
  close: () => void
}

/** Opens the connection of a role, or says in words why it cannot be. `through` stands between the writer and its driver: where a test makes that fail. */
export function openRole(data: ThreadData, through: (db: Connection) => Connection = (db) => db): Role | Unopened {
  try {
    return data.role === 'writer' ? openWriter(data, through) : openReader(data)
  } catch (error) {
    if (error instanceof StoreUnopened) return { unopened: { why: error.why, words: error.message } }
    const words = isFull(error) ? `The disk that holds ${data.folder} is full: make room on it and start again. Nothing was lost.` : `The store in ${data.folder} cannot be opened: ${wordsOf(error)}`
    return { unopened: { why: 'unreadable', words } }
  }
}

function openWriter(data: ThreadData, through: (db: Connection) => Connection): Role {
  const { db: driver, store, rev, close } = openForWriting(data)
  const db = through(driver)
  const at = { db, writer: new Writer(db, data.keep) }
  return { opened: { opened: true, store, rev }, answer: (request) => answer(WRITES, at, request), close }
}

function openReader(data: ThreadData): Role {
  const db = openForReading(data.folder)
  const at = { db, store: data.store }
  return { opened: { opened: true, store: data.store, rev: 0 }, answer: (request) => answer(READS, at, request), close: () => db.close() }
}

function answer<At>(verbs: Record<string, (at: At, ...args: never[]) => unknown>, at: At, { id, verb, args }: Request): Answer {
  try {
    return { id, value: verbs[verb]!(at, ...(args as never[])) }
  } catch (error) {
    return { id, error: { kind: isFull(error) ? 'full' : 'failed', words: wordsOf(error) } }
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
