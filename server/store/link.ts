import { Worker } from 'node:worker_threads'
import { StoreFault, StoreUnopened } from './port'
import type { AnswerOf, ArgsOf, FromThread, Opened, Request, ThreadData, Verbs } from './protocol'

/** The main thread's end of one store thread. */
export interface Link<V extends Verbs> {
  readonly opened: Opened
  call<K extends keyof V & string>(verb: K, ...args: ArgsOf<V[K]>): Promise<AnswerOf<V[K]>>
  /** Lets the thread finish what it was asked, and close its files. */
  close(): Promise<void>
  /** Resolves, with words, when the thread has ended without having been closed. */
  readonly died: Promise<string>
}

export type StartThread = (data: ThreadData) => Promise<Link<Verbs>>

/** Starts a thread and waits until its database is open. Rejects with `StoreUnopened`. What is asked of a thread that has died, or dies, rejects with `StoreFault`. */
export function startThread(url: URL, data: ThreadData): Promise<Link<Verbs>> {
  const worker = new Worker(url, { workerData: data, name: `store-${data.role}`, execArgv: [] })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>()
  let next = 0
  let ended: StoreFault | null = null
  let closing = false
  let tellDeath: (words: string) => void
  const died = new Promise<string>((resolve) => (tellDeath = resolve))
  const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()))

  const end = (fault: StoreFault) => {
    ended ??= fault
    for (const one of waiting.values()) one.reject(ended)
    waiting.clear()
  }
  const call = (verb: string, ...args: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      if (ended) return reject(ended)
      const id = next++
      worker.postMessage({ id, verb, args } satisfies Request)
      waiting.set(id, { resolve, reject })
    })
  const close = async () => {
    closing = true
    if (!ended) worker.postMessage('close')
    await gone
  }

  return new Promise((resolve, reject) => {
    worker.on('message', (message: FromThread) => {
      if ('opened' in message) return resolve({ opened: message, call: call as Link<Verbs>['call'], close, died })
      if ('unopened' in message) return reject(new StoreUnopened(message.unopened.why, message.unopened.words))
      const asked = waiting.get(message.id)
      waiting.delete(message.id)
      if (message.error) asked?.reject(new StoreFault(message.error.kind, message.error.words))
      else asked?.resolve(message.value)
    })
    worker.on('error', (error) => {
      end(new StoreFault('failed', `the store's ${data.role} thread ended: ${error.message}`))
      reject(new StoreUnopened('unreadable', `The store's thread cannot start: ${error.message}`))
    })
    worker.on('exit', () => {
      end(closing ? new StoreFault('closed', 'the store is closed') : new StoreFault('failed', `the store's ${data.role} thread ended`))
      if (!closing) tellDeath(ended!.message)
      reject(new StoreUnopened('unreadable', 'The store\'s thread ended before it was open.'))
    })
  })
}
