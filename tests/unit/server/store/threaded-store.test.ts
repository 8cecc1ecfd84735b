import { expect, test } from 'vitest'
import { ThreadedStore } from '../../../../server/store/threaded-store'
import { Chat } from '../../../support/chat'

/** A store over two threads whose answers come when the test says so. */
function apart() {
  const answers = new Map<string, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  const link = (rev: number) => ({
    opened: { opened: true as const, store: 'id', rev },
    call: (verb: string) => new Promise((resolve, reject) => answers.set(verb, { resolve, reject })),
    close: async () => {},
  })
  const started: unknown[] = []
  const startReader = async () => (started.push(1), link(0) as never)
  const store = new ThreadedStore(link(7) as never, [link(0) as never], { startReader, clock: () => 1, timers: { set: () => 0, clear: () => {} }, interval: 1 })
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return { store, started, settle, answer: async (verb: string, value: unknown) => (answers.get(verb)!.resolve(value), settle()), fail: async (verb: string, error: Error) => (answers.get(verb)!.reject(error), settle()) }
}
const accepted = { verdicts: [{ state: 'accepted', accepted: { rev: 8, profile: 'default' } }], ms: 1, bytes: 1 }

test('a cursor that a reader saw first waits until the listener has been told of its commit', async () => {
  const { store, answer, settle } = apart()
  const order: string[] = []
  store.onCommit(() => order.push('told'))
  const appended = store.append(new Chat('ses_a').created()).then(() => order.push('resolved'))
  const window = store.window('ses_a', { limit: 1 }).then((changes) => order.push(`cursor ${changes!.cursor}`))
  await settle()
  await answer('window', { cursor: '8' })
  expect(order).toEqual([])
  expect(await store.head()).toBe(7)
  await answer('commit', accepted)
  await Promise.all([appended, window])
  expect(order[0]).toBe('told')
  expect(new Set(order)).toEqual(new Set(['told', 'resolved', 'cursor 8']))
  expect(await store.head()).toBe(8)
})

test('an older cursor, an unknown session and a failed commit keep nobody waiting', async () => {
  const { store, answer, fail, settle } = apart()
  const older = store.window('ses_a', { limit: 1 })
  await answer('window', { cursor: '7' })
  await expect(older).resolves.toEqual({ cursor: '7' })
  const unknown = store.changes('ses_a', { after: '0', from: '', limit: 1 })
  await answer('changes', null)
  await expect(unknown).resolves.toBeNull()
  const appended = expect(store.append(new Chat('ses_a').created())).rejects.toThrow('the thread died')
  const list = store.list({ profile: 'default', limit: 1 })
  await settle()
  await answer('list', { cursor: '8' })
  await fail('commit', new Error('the thread died'))
  await appended
  await expect(list).resolves.toEqual({ cursor: '8' })
})

test('however many ask for a check, one thread does it; the next one is new', async () => {
  const { store, started, settle, answer } = apart()
  const checks = Promise.all(Array.from({ length: 50 }, () => store.check()))
  await settle()
  await answer('check', { ok: true, words: 'ok' })
  expect(new Set(await checks)).toEqual(new Set([{ ok: true, words: 'ok' }]))
  expect(started).toHaveLength(1)
  const next = store.check()
  await settle()
  await answer('check', { ok: false, words: 'broken' })
  expect(await next).toEqual({ ok: false, words: 'broken' })
  expect(started).toHaveLength(2)
})
