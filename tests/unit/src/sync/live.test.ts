// @vitest-environment node
import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import type { Transcript } from '../../../../server/contract/session'
import type { OpenChat } from '../../../../src/sync/port'
import { Chat } from '../../../support/chat'
import { makeRig } from './rig'

function texts(value: Transcript): string[] {
  return value.order.map((id) => value.rows.get(id)!.text)
}

test('a first visit shows the list and an opened chat, and lives with what is committed', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'), chat.opened('trn_1', 'row_1', 'Hi'))
  const { sync } = rig.page()
  await rig.pass(100)
  expect(sync.connection().state).toBe('connected')
  expect([...sync.list().entries.keys()]).toEqual(['ses_a'])
  const open = sync.open('ses_a')
  await rig.pass(100)
  expect(open.state()).toBe('ready')
  expect(open.freshness()).toBe('live')
  expect(texts(open.value())).toEqual(['Hello', 'Hi'])
  await rig.server.append(chat.grew('trn_1', 'row_1', 2, ' there'))
  await rig.pass(10)
  expect(texts(open.value())).toEqual(['Hello', 'Hi there'])
  sync.close()
})

test('a chat that was opened is readable without the network, from a page that starts then', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created({ title: 'Kept' }), chat.admitted('trn_1', 'Hello'), chat.opened('trn_1', 'row_1', 'Hi'))
  const first = rig.page()
  first.sync.open('ses_a')
  await rig.pass(3000)
  first.sync.close()
  await rig.pass(100)
  rig.server.network = 'refused'
  rig.server.cut()
  await rig.pass(60_000)
  const { sync } = rig.page()
  await rig.pass(200)
  expect(sync.list().entries.get('ses_a')?.title).toBe('Kept')
  expect(sync.saved('ses_a')).toBe(true)
  const open = sync.open('ses_a')
  await rig.pass(5000)
  expect(open.state()).toBe('ready')
  expect(open.freshness()).toBe('copy')
  expect(texts(open.value())).toEqual(['Hello', 'Hi'])
  const connection = sync.connection()
  expect(connection.state).toBe('offline')
  expect(rig.timers.now() - (connection as { since: number }).since).toBeGreaterThanOrEqual(60_000)
  expect(rig.timers.now() - open.savedAt()!).toBeGreaterThanOrEqual(60_000)
  const other = sync.open('ses_b')
  await rig.pass(5000)
  expect(other.state()).toBe('not_here')
  rig.server.network = 'up'
  await rig.pass(5000)
  expect(sync.connection().state).toBe('connected')
  expect(other.state()).toBe('absent')
  sync.close()
})

test('on a first visit to a chat its rows are asked for before the list, which comes all the same when the chat does not', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'))
  rig.server.latency = (path) => (path === '/api/session/changes' ? 300 : 0)
  const asked = () => rig.server.requests.filter(({ route }) => route === '/api/sessions/changes').length
  const first = rig.page()
  const open = first.sync.open('ses_a')
  await rig.pass(250)
  expect(asked()).toBe(0)
  await rig.pass(500)
  expect(open.state()).toBe('ready')
  expect(first.sync.list().state).toBe('ready')
  first.sync.close()
  rig.server.latency = (path) => (path === '/api/session/changes' ? 60_000 : 0)
  globalThis.indexedDB = new IDBFactory()
  const second = rig.page()
  second.sync.open('ses_a')
  await rig.pass(2000)
  expect(second.sync.list().state).toBe('ready')
  second.sync.close()
})

/** What a person sees of a chat beside its rows. */
function waits(value: Transcript): [queue: string[], questions: number] {
  const open = [...value.rows.values()].filter((row) => row.kind === 'question' && row.approval?.state === 'open')
  return [value.queue.items.map(({ text }) => text), open.length]
}

test('waiting messages and questions stand in every window, and what was answered or sent in one is gone in the other', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'))
  const [one, two] = [rig.page(), rig.page()].map((page) => page.sync.open('ses_a')) as [OpenChat, OpenChat]
  await rig.pass(100)
  await rig.server.append(chat.append([{ type: 'queue.added', item: 'que_1', text: 'Then prune', by: 'person' }]), chat.asked('trn_1', 'row_q', 'apr_1'))
  await rig.pass(100)
  expect([waits(one.value()), waits(two.value())]).toEqual([[['Then prune'], 1], [['Then prune'], 1]])
  await rig.server.append(
    chat.append([{ type: 'approval.decided', approval: 'apr_1', row: 'row_q', run: chat.run('trn_1'), choice: 'y', kind: 'once', by: 'person' }]),
    chat.append([{ type: 'queue.removed', items: ['que_1'] }]),
  )
  await rig.pass(100)
  expect([waits(one.value()), waits(two.value())]).toEqual([[[], 0], [[], 0]])
})

test('a hidden window learns of waiting messages and questions by its poll, and its list does', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'))
  const page = rig.page()
  const open = page.sync.open('ses_a')
  await rig.pass(100)
  page.surroundings.show(false)
  await rig.pass(100)
  expect(rig.server.streams).toBe(0)
  await rig.server.append(chat.append([{ type: 'queue.added', item: 'que_1', text: 'Then prune', by: 'person' }]))
  await rig.pass(6100)
  expect(waits(open.value())).toEqual([['Then prune'], 0])
  await rig.server.append(chat.asked('trn_1', 'row_q', 'apr_1'))
  await rig.pass(6100)
  expect(waits(open.value())).toEqual([['Then prune'], 1])
  expect(page.sync.list().entries.get('ses_a')).toMatchObject({ questions: 1, queued: 1 })
  await rig.server.append(chat.append([{ type: 'queue.changed', item: 'que_1', text: 'Then prune twice' }]))
  page.surroundings.show(true)
  await rig.pass(100)
  expect(waits(open.value())).toEqual([['Then prune twice'], 1])
})

test('waiting messages are read from the copy without the network, in a page that starts then', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'), chat.append([{ type: 'queue.added', item: 'que_1', text: 'Then prune', by: 'person' }]))
  const first = rig.page()
  first.sync.open('ses_a')
  await rig.pass(3000)
  await rig.server.append(chat.append([{ type: 'queue.added', item: 'que_2', text: 'And keep seven', by: 'person' }]))
  await rig.pass(3000)
  first.sync.close()
  await rig.pass(100)
  rig.server.network = 'refused'
  const open = rig.page().sync.open('ses_a')
  await rig.pass(500)
  expect(open.freshness()).toBe('copy')
  expect(waits(open.value())[0]).toEqual(['Then prune', 'And keep seven'])
})
