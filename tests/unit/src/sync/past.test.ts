// @vitest-environment node
import { expect, test } from 'vitest'
import type { Row } from '../../../../server/contract/rows'
import { openShelf } from '../../../../src/cache/shelf'
import { Chat } from '../../../support/chat'
import { makeRig, rest, type Page, type Rig } from './rig'

/** Everything that the device holds of a chat. */
async function copied(rig: Rig): Promise<Row[]> {
  const copies = await openShelf({ user: 'local', profile: 'default' }, rig.clock.after).open(rig.server.store.id)
  const found = await copies.before('ses_a', '\uffff', 1000)
  copies.close()
  return found.ok && found.value ? found.value.rows : []
}

const truth = (rig: Rig): Row[] => {
  const { value } = rig.server.store.disk.sessions.get('ses_a')!
  return value.order.map((id) => value.rows.get(id)!)
}

/** A page that shows the last rows of a chat with a long-lived first row, all of it in the copy. */
async function partial(): Promise<{ rig: Rig; chat: Chat; page: Page }> {
  const rig = await makeRig()
  rig.server.mostRows = 2
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'))
  for (let n = 1; n <= 8; n++) await rig.server.append(chat.opened('trn_1', `row_${n}`, `text ${n}`))
  const page = rig.page()
  const open = page.sync.open('ses_a')
  await rig.pass(5000)
  expect(open.value().order).toEqual(['row_7', 'row_8'])
  expect(await copied(rig)).toEqual(truth(rig))
  return { rig, chat, page }
}

test('a change of a row that only the copy holds reaches the copy', async () => {
  const { rig, chat, page } = await partial()
  await rig.server.append(chat.closed('trn_1', 'row_1'))
  await rig.pass(3000)
  expect(await copied(rig)).toEqual(truth(rig))
  page.sync.close()
})

test('it also does when the page ended before it had asked', async () => {
  const { rig, chat, page } = await partial()
  await rig.server.append(chat.closed('trn_1', 'row_1'))
  await rig.pass(50)
  page.sync.close()
  await rest()
  expect((await copied(rig))[1]).toMatchObject({ id: 'row_1', state: 'live' })
  const again = rig.page()
  again.sync.open('ses_a')
  await rig.pass(5000)
  expect(await copied(rig)).toEqual(truth(rig))
  again.sync.close()
})

test('an answer that was read before the change does not pass for it, also when the page ends before the next one', async () => {
  const { rig, chat, page } = await partial()
  rig.server.latency = (path) => (path === '/api/events' ? 50 : 900)
  page.sync.open('ses_b')
  await rig.pass(30)
  page.sync.open('ses_a')
  // The stream stands; what was asked before it does is under way.
  await rig.pass(200)
  await rig.server.append(chat.closed('trn_1', 'row_1'))
  await rig.pass(800)
  await rig.server.append(chat.opened('trn_1', 'row_9', 'text 9'))
  await rig.pass(50)
  page.sync.close()
  await rest()
  rig.server.latency = () => 0
  const again = rig.page()
  again.sync.open('ses_a')
  await rig.pass(5000)
  expect(await copied(rig)).toEqual(truth(rig))
  again.sync.close()
})

test('a copy that another tab has begun later is brought to its beginning again', async () => {
  const { rig, chat, page } = await partial()
  const copies = await openShelf({ user: 'local', profile: 'default' }, rig.clock.after).open(rig.server.store.id)
  const held = await copies.page('ses_a')
  if (!held.ok || !held.value) throw new Error('there is a copy')
  const { rows, turns, queue, ...record } = held.value
  await copies.saveChat({ ...record, from: rows[0]!.pos, rows, turns, removed: [], last: rows, lastFrom: rows[0]!.pos, lastTurns: turns, queue: queue!, missed: 0, replace: 'window' })
  copies.close()
  expect(await copied(rig)).toEqual(truth(rig).slice(-2))
  await rig.server.append(chat.opened('trn_1', 'row_9', 'text 9'))
  await rig.pass(5000)
  expect(await copied(rig)).toEqual(truth(rig))
  page.sync.close()
})

test('a request for older rows that hangs while the stream stands is given up and made again', async () => {
  const rig = await makeRig()
  rig.server.mostRows = 2
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'))
  for (let n = 1; n <= 3; n++) await rig.server.append(chat.opened('trn_1', `row_${n}`, `text ${n}`))
  const asked = (): number => rig.server.requests.filter(({ query }) => query['before'] !== undefined).length
  rig.server.latency = (path) => (path === '/api/session/changes' && asked() > 0 ? Infinity : 0)
  const { sync } = rig.page()
  sync.open('ses_a')
  await rig.pass(1000)
  expect(asked()).toBe(1)
  expect(await copied(rig)).toEqual(truth(rig).slice(-2))
  rig.server.latency = () => 0
  await rig.pass(20_000)
  expect(sync.connection().state).toBe('connected')
  expect(await copied(rig)).toEqual(truth(rig))
  sync.close()
})

test('older rows of which one changed while they were written are brought again', async () => {
  const rig = await makeRig()
  rig.server.mostRows = 2
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'))
  for (let n = 1; n <= 3; n++) await rig.server.append(chat.opened('trn_1', `row_${n}`, `text ${n}`))
  const shelf = openShelf({ user: 'local', profile: 'default' }, rig.clock.after)
  let written = (): void => undefined
  const slow = new Promise<void>((resolve) => (written = resolve))
  const { sync } = rig.page({
    shelf: {
      last: () => shelf.last(),
      async open(store) {
        const copies = await shelf.open(store)
        return { ...copies, async saveOlder(...given) {
          const done = await copies.saveOlder(...given)
          await slow
          return done
        } }
      },
    },
  })
  sync.open('ses_a')
  await rig.pass(3000)
  await rig.server.append(chat.closed('trn_1', 'row_1'))
  await rig.pass(3000)
  written()
  await rig.pass(5000)
  expect(await copied(rig)).toEqual(truth(rig))
  sync.close()
})

test('what was committed between an early answer and the stream is not lost, in the chat nor in the list', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'))
  rig.server.latency = (path) => (path === '/api/events' ? 100 : 200)
  const { sync } = rig.page()
  const open = sync.open('ses_a')
  await rest()
  await rig.pass(50)
  await rig.server.append(chat.opened('trn_1', 'row_1', 'In between'), chat.append([{ type: 'session.changed', title: 'In between', titleBy: 'person' }]))
  await rig.pass(2000)
  expect(open.value().order).toEqual(['row_trn_1', 'row_1'])
  expect(open.freshness()).toBe('live')
  expect(sync.list().entries.get('ses_a')?.title).toBe('In between')
  sync.close()
})

test('an answer that is later than a dead connection would be is waited for longer each time, and the chat does not look absent meanwhile', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'))
  rig.server.latency = (path) => (path === '/api/events' ? 0 : 12_000)
  const { sync } = rig.page()
  const open = sync.open('ses_a')
  await rig.pass(15_000)
  expect(sync.connection().state).toBe('connected')
  expect(open.state()).toBe('loading')
  await rig.pass(45_000)
  expect(open.freshness()).toBe('live')
  const asked = rig.server.requests.filter(({ route }) => route === '/api/session/changes').map(({ at }) => at)
  expect(asked.slice(1).map((at, n) => at - asked[n]!).slice(0, 3)).toEqual([2500, 5000, 10_000])
  sync.close()
})

test('a write that failed leaves no hole: the next one writes all that is known', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'), chat.opened('trn_1', 'row_1', 'one'))
  const shelf = openShelf({ user: 'local', profile: 'default' }, rig.clock.after)
  let full = false
  const { sync } = rig.page({
    shelf: {
      last: () => shelf.last(),
      async open(store) {
        const copies = await shelf.open(store)
        return { ...copies, saveChat: (save) => (full ? Promise.resolve({ ok: false, why: 'full' }) : copies.saveChat(save)), saveList: (save) => (full ? Promise.resolve({ ok: false, why: 'full' }) : copies.saveList(save)) }
      },
    },
  })
  sync.open('ses_a')
  await rig.pass(3000)
  full = true
  await rig.server.append(chat.opened('trn_1', 'row_2', 'two'), chat.append([{ type: 'session.changed', title: 'Later', titleBy: 'person' }]))
  await rig.pass(3000)
  expect((await copied(rig)).length).toBe(2)
  full = false
  await rig.server.append(chat.opened('trn_1', 'row_3', 'three'))
  const other = new Chat('ses_b')
  await rig.server.append(other.created())
  await rig.pass(3000)
  expect(await copied(rig)).toEqual(truth(rig))
  const copies = await shelf.open(rig.server.store.id)
  const list = await copies.list()
  expect(list.ok && list.value!.entries.map(({ title }) => title).sort()).toEqual(['A chat', 'Later'])
  copies.close()
  sync.close()
})

test('more events than can wait for an answer are asked for once more', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'), chat.opened('trn_1', 'row_1', ''))
  const { sync } = rig.page()
  await rig.pass(1000)
  rig.server.latency = (path) => (path === '/api/session/changes' ? 5000 : 0)
  const open = sync.open('ses_a')
  await rig.pass(6000)
  let length = 0
  for (let n = 0; n < 2100; n++) {
    await rig.server.append(chat.grew('trn_1', 'row_1', length, 'ab'))
    length += 2
  }
  await rig.pass(20_000)
  expect(open.value().rows.get('row_1')!.text.length).toBe(4200)
  expect(open.freshness()).toBe('live')
  sync.close()
})

test('a chat that was left in mid-answer is kept to its end, without being opened again', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  const other = new Chat('ses_b')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'), chat.opened('trn_1', 'row_1', 'Half'), other.created())
  const { sync } = rig.page()
  sync.open('ses_a')
  await rig.pass(2000)
  sync.open('ses_b')
  await rig.pass(2000)
  await rig.server.append(chat.grew('trn_1', 'row_1', 4, ' and whole'), chat.closed('trn_1', 'row_1'), chat.settled('trn_1'))
  await rig.pass(2000)
  expect((await copied(rig)).map(({ text }) => text)).toEqual(['Go', 'Half and whole'])
  sync.close()
})
