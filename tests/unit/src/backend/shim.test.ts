// @vitest-environment node
import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import { beforeEach, expect, test } from 'vitest'
import { keptAs } from '../../../../src/backend/small-answers'
import { makeBackend } from '../../../../src/backend/client'
import { openShelf } from '../../../../src/cache/shelf'
import { emptyTranscript, merge } from '../../../../server/contract/fold'
import type { Changes } from '../../../../server/contract/wire'
import { makeShim } from '../../../../sw/shim'
import { FakeTimers } from '../../../support/fake-timers'
import { Chat } from '../../../support/chat'
import { makeRig, rest, type Rig } from '../sync/rig'

let timers: FakeTimers
beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
  timers = new FakeTimers()
})

const base = 'http://localhost:1'
const get = (path: string) => new Request(base + path)

function shimOver(fetch: (request: Request) => Promise<Response>, rig?: Rig) {
  const clock = rig?.clock ?? { now: timers.now, after: timers.after, idle: timers.after.bind(null, 0) }
  return makeShim({ fetch, shelf: openShelf({ user: 'local', profile: 'default' }, clock.after), clock })
}

const refused = (): Promise<Response> => Promise.reject(new TypeError('fetch failed'))
const silent = (request: Request): Promise<Response> => new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason as Error)))

async function withChat() {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created({ title: 'Kept' }))
  for (let n = 0; n < 40; n++) await rig.server.append(chat.admitted(`trn_${n}`, `Question ${n}`), chat.opened(`trn_${n}`, `row_${n}`, `Answer ${n}`), chat.closed(`trn_${n}`, `row_${n}`), chat.settled(`trn_${n}`))
  const page = rig.page()
  page.sync.open('ses_a')
  await rig.pass(3000)
  page.sync.close()
  await rest()
  return rig
}

for (const path of ['/api/session/status?session_id=ses_a', '/api/approval/pending?session_id=ses_a', '/api/chat/cancel?stream_id=x', '/api/session/changes?session_id=never', '/api/models', '/api/onboarding/status'])
  test(`without network and copy, ${path} is 503 with our own header, never 404`, async () => {
    const rig = await withChat()
    const response = await shimOver(refused, rig)(get(path))
    expect(response.status).toBe(503)
    expect(response.headers.get('X-Served-From')).toBe('offline')
    expect(await response.json()).toMatchObject({ code: 'offline' })
  })

test('what the server says is passed on as it is, its refusals too', async () => {
  const rig = await withChat()
  for (const status of [200, 401, 404, 409, 500]) {
    const response = await shimOver(async () => Response.json({ said: status }, { status }), rig)(get('/api/session/changes?session_id=ses_a'))
    expect([response.status, await response.json(), response.headers.get('X-Served-From')]).toEqual([status, { said: status }, null])
  }
})

test('a proxy that fails for the server counts as no network', async () => {
  const rig = await withChat()
  const response = await shimOver(async () => new Response('bad gateway', { status: 502 }), rig)(get('/api/session/changes?session_id=ses_a'))
  expect(response.headers.get('X-Served-From')).toBe('offline')
  expect(response.status).toBe(200)
})

test('a chat that was opened is answered whole, window by window, from the copy', async () => {
  const rig = await withChat()
  const { value } = rig.server.store.disk.sessions.get('ses_a')!
  rig.server.network = 'refused'
  const shim = shimOver(rig.server.fetch, rig)
  const backend = makeBackend({ base, fetch: shim, localShim: () => null })
  const first = await backend.ask('GET /api/session/changes', { session_id: 'ses_a', limit: 30 })
  expect(first.servedFrom).toBe('offline')
  expect(first.copyAt).toBeGreaterThan(0)
  const seen = emptyTranscript()
  merge(seen, first.output, 'window')
  expect(seen.order.length).toBe(30)
  while (seen.from !== '') expect(merge(seen, await backend.call('GET /api/session/changes', { session_id: 'ses_a', before: seen.from, limit: 30 }), 'older').state).toBe('applied')
  expect(seen.order).toEqual(value.order)
  expect([...seen.rows.values()].sort((a, b) => a.n - b.n)).toEqual(value.order.map((id) => value.rows.get(id)!))
  const after = await backend.call('GET /api/session/changes', { session_id: 'ses_a', after: first.output.cursor, from: '' })
  expect(after).toMatchObject({ rows: [], turns: [], from: '', cursor: first.output.cursor })
  expect(await backend.call('GET /api/session/changes', { session_id: 'ses_a', after: '3', from: '' })).toMatchObject({ reset: true })
})

test('the list is answered from the copy, paged as the server would', async () => {
  const rig = await makeRig()
  for (let n = 0; n < 7; n++) await rig.server.append(new Chat(`ses_${n}`).created({ at: 1000 + n }))
  const page = rig.page()
  await rig.pass(2000)
  page.sync.close()
  await rest()
  rig.server.network = 'refused'
  const shim = shimOver(rig.server.fetch, rig)
  const backend = makeBackend({ base, fetch: shim, localShim: () => null })
  const first = await backend.call('GET /api/sessions/changes', { limit: 4 })
  expect(first.entries.map(({ id }) => id)).toEqual(['ses_6', 'ses_5', 'ses_4', 'ses_3'])
  expect(first.more).toBe(true)
  const rest_ = await backend.call('GET /api/sessions/changes', { limit: 4, before: 'ses_3' })
  expect(rest_.entries.map(({ id }) => id)).toEqual(['ses_2', 'ses_1', 'ses_0'])
  expect(rest_.more).toBe(false)
})

test('a silent server is answered for after 2 s while a copy exists, and waited for while none does', async () => {
  const rig = await withChat()
  const shim = shimOver(silent, rig)
  let copy: Response | undefined
  let none: Response | undefined
  void shim(get('/api/session/changes?session_id=ses_a')).then((response) => (copy = response))
  void shim(get('/api/models')).then((response) => (none = response))
  await rig.pass(1900)
  expect(copy).toBeUndefined()
  await rig.pass(200)
  expect(copy?.headers.get('X-Served-From')).toBe('offline')
  await rig.pass(60_000)
  expect(none).toBeUndefined()
})

test('a small answer that the page kept is answered from the copy', async () => {
  const rig = await withChat()
  const shelf = openShelf({ user: 'local', profile: 'default' }, rig.clock.after)
  const copies = await shelf.open(rig.server.store.id)
  await copies.saveAnswer({ key: 'GET /api/models', body: { groups: [{ provider: 'x' }] }, savedAt: 5 })
  copies.close()
  const response = await shimOver(refused, rig)(get('/api/models'))
  expect(await response.json()).toEqual({ groups: [{ provider: 'x' }] })
  expect(response.headers.get('X-Copy-At')).toBe('5')
})

test('models of one agent are no copy of another one’s', async () => {
  const rig = await withChat()
  const copies = await openShelf({ user: 'local', profile: 'default' }, rig.clock.after).open(rig.server.store.id)
  const body = { groups: [{ provider: 'its own' }] }
  await copies.saveAnswer({ key: keptAs('GET /api/models', get('/api/models?agent=hermes'), body)!, body, savedAt: 5 })
  copies.close()
  const shim = shimOver(refused, rig)
  expect(await (await shim(get('/api/models?agent=hermes'))).json()).toEqual(body)
  for (const path of ['/api/models', '/api/models?agent=embedded']) expect((await shim(get(path))).status, path).toBe(503)
})

test('the waiting messages come from the copy with the window, and are in no answer about other places', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Question'), chat.append([{ type: 'queue.added', item: 'que_1', text: 'Then prune', by: 'person' }]))
  const page = rig.page()
  page.sync.open('ses_a')
  await rig.pass(3000)
  page.sync.close()
  await rest()
  const shim = shimOver(refused, rig)
  const window = (await (await shim(get('/api/session/changes?session_id=ses_a'))).json()) as Changes
  expect(window.queue?.items.map(({ text }) => text)).toEqual(['Then prune'])
  const value = emptyTranscript()
  merge(value, window, 'window')
  expect(value.queue.items).toHaveLength(1)
  const none = (await (await shim(get(`/api/session/changes?session_id=ses_a&after=${window.cursor}`))).json()) as Changes
  expect(none.queue).toBeUndefined()
  expect((await shim(get('/api/chat/queue?session_id=ses_a'))).status).toBe(503)
})
