import { parentPort, workerData } from 'node:worker_threads'
import { openForReading, openForWriting } from './database'
import { isFull } from './driver'
import { StoreUnopened } from './port'
import { READS, WRITES, type Answer, type FromThread, type Request, type ThreadData } from './protocol'
import { Writer } from './write/writer'

/** Entry of every store thread: opens its connection by its role, says so, then answers one request after the other. */
const data = workerData as ThreadData
const port = parentPort!
const send = (message: FromThread) => port.postMessage(message)

try {
  if (data.role === 'writer') {
    const { db, store, rev, close } = openForWriting(data)
    const at = { db, writer: new Writer(db) }
    serve((verb, args) => call(WRITES, at, verb, args), close)
    send({ opened: true, store, rev })
  } else {
    const db = openForReading(data.folder)
    serve((verb, args) => call(READS, { db, store: data.store }, verb, args), () => db.close())
    send({ opened: true, store: data.store, rev: 0 })
  }
} catch (error) {
  const why = error instanceof StoreUnopened ? error.why : 'unreadable'
  send({ unopened: { why, words: error instanceof StoreUnopened ? error.message : `The store in ${data.folder} cannot be opened: ${wordsOf(error)}` } })
}

function serve(answer: (verb: string, args: unknown[]) => unknown, close: () => void): void {
  port.on('message', (request: Request | 'close') => {
    if (request === 'close') {
      close()
      port.close()
    } else send(answered(request, answer))
  })
}

function answered({ id, verb, args }: Request, answer: (verb: string, args: unknown[]) => unknown): Answer {
  try {
    return { id, value: answer(verb, args) }
  } catch (error) {
    return { id, error: { kind: isFull(error) ? 'full' : 'failed', words: wordsOf(error) } }
  }
}

function call<At>(verbs: Record<string, (at: At, ...args: never[]) => unknown>, at: At, verb: string, args: unknown[]): unknown {
  return verbs[verb]!(at, ...(args as never[]))
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
