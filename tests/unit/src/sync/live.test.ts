// @vitest-environment node
import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import type { Transcript } from '../../../../server/contract/session'
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
