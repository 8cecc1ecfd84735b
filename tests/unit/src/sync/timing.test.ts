// @vitest-environment node
import { expect, test } from 'vitest'
import { Chat } from '../../../support/chat'
import { makeRig, type Rig } from './rig'

/** When the tries for a stream began, ms after `start`. */
function tries(rig: Rig, start: number): number[] {
  return rig.server.requests.filter(({ route, at }) => route === '/api/events' && at >= start).map(({ at }) => at - start)
}

async function connected(rig: Rig) {
  const page = rig.page()
  await rig.pass(10_000)
  expect(page.sync.connection().state).toBe('connected')
  return page
}

test('a broken connection is tried again at once, after 0.5, 1 and 2 s, then every 2.5 s', async () => {
  const rig = await makeRig()
  const { sync } = await connected(rig)
  const start = rig.timers.now()
  rig.server.network = 'refused'
  rig.server.cut()
  await rig.pass(12_000)
  expect(tries(rig, start)).toEqual([0, 500, 1500, 3500, 6000, 8500, 11_000])
  expect(sync.connection()).toMatchObject({ state: 'offline', since: start })
  sync.close()
})

test('on a path that swallows everything, tries begin as often, two at once at most, and none lives longer than 5 s', async () => {
  const rig = await makeRig()
  const { sync } = await connected(rig)
  const start = rig.timers.now()
  rig.server.network = 'silent'
  rig.server.cut()
  await rig.pass(12_000)
  expect(tries(rig, start)).toEqual([0, 500, 1500, 3500, 6000, 8500, 11_000])
  expect(sync.connection().state).toBe('offline')
  // The path is back: the next try, within 2.5 s, succeeds.
  rig.server.network = 'up'
  const back = rig.timers.now()
  await rig.pass(2500)
  expect(sync.connection().state).toBe('connected')
  expect(tries(rig, back)[0]).toBeLessThanOrEqual(2500)
  sync.close()
})

test('three missed beats and a connection that says nothing is replaced', async () => {
  const rig = await makeRig()
  const { sync } = await connected(rig)
  rig.server.mute()
  const start = rig.timers.now()
  await rig.pass(9000)
  expect(tries(rig, start)).toEqual([])
  await rig.pass(7000)
  const [first] = tries(rig, start)
  expect(first).toBeGreaterThan(9000)
  expect(first).toBeLessThanOrEqual(15_000)
  expect(sync.connection().state).toBe('connected')
  sync.close()
})

test('idle connections that may be dead too are used up when a try hangs, and given up soon', async () => {
  const rig = await makeRig()
  const { sync } = await connected(rig)
  const swept = (since: number) => rig.server.requests.filter(({ route, at }) => route === '/health' && at >= since).map(({ at }) => at - since)
  const refused = rig.timers.now()
  rig.server.network = 'refused'
  rig.server.cut()
  await rig.pass(6000)
  expect(swept(refused)).toEqual([])
  rig.server.network = 'up'
  await rig.pass(5000)
  const hanging = rig.timers.now()
  rig.server.network = 'silent'
  rig.server.cut()
  await rig.pass(6000)
  expect(swept(hanging)).toEqual([500, 500, 500, 500])
  sync.close()
})

test('coming back from somewhere, a connection is distrusted at once', async () => {
  const rig = await makeRig()
  const { sync, surroundings } = await connected(rig)
  rig.server.mute()
  await rig.pass(1000)
  const start = rig.timers.now()
  surroundings.doubt()
  surroundings.doubt()
  await rig.pass(100)
  expect(tries(rig, start)).toEqual([0])
  expect(sync.connection().state).toBe('connected')
  expect(rig.server.streams).toBe(1)
  sync.close()
})

test('a peer that accepts and drops is not called without a pause', async () => {
  const rig = await makeRig()
  const { sync } = await connected(rig)
  const start = rig.timers.now()
  rig.server.cut()
  for (let n = 0; n < 50; n++) {
    await rig.pass(100)
    rig.server.cut()
  }
  expect(tries(rig, start).length).toBeLessThanOrEqual(6)
  sync.close()
})

test('a hidden page holds no stream, asks for the status of its chat at once and every 6 s, and catches up when it is seen', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created())
  const { sync, surroundings } = await connected(rig)
  const open = sync.open('ses_a')
  await rig.pass(1000)
  surroundings.show(false)
  const start = rig.timers.now()
  await rig.pass(13_000)
  expect(rig.server.streams).toBe(0)
  const asked = rig.server.requests.filter(({ route, at }) => route === '/api/session/status' && at >= start).map(({ at }) => at - start)
  expect(asked).toEqual([0, 6000, 12_000])
  await rig.server.append(chat.admitted('trn_1', 'From elsewhere'))
  surroundings.show(true)
  await rig.pass(200)
  expect(rig.server.streams).toBe(1)
  expect(open.value().order).toEqual(['row_trn_1'])
  const seen = rig.timers.now()
  await rig.pass(13_000)
  expect(rig.server.requests.filter(({ route, at }) => route === '/api/session/status' && at >= seen)).toEqual([])
  sync.close()
})

test('a hidden page learns by its polling that something happened', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created())
  const { sync, surroundings } = await connected(rig)
  sync.open('ses_a')
  await rig.pass(1000)
  surroundings.show(false)
  await rig.pass(1000)
  await rig.server.append(chat.admitted('trn_1', 'From elsewhere'))
  await rig.pass(7000)
  expect(sync.list().entries.get('ses_a')?.state).toBe('working')
  sync.close()
})

test('growth is written in batches, and what has settled at once', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Go'), chat.opened('trn_1', 'row_1', ''))
  const writes: number[] = []
  const page = rig.page()
  const opened = page.shelf.open.bind(page.shelf)
  page.shelf.open = async (store) => {
    const copies = await opened(store)
    const save = copies.saveChat.bind(copies)
    copies.saveChat = (given) => {
      writes.push(rig.timers.now())
      return save(given)
    }
    return copies
  }
  page.sync.open('ses_a')
  await rig.pass(5000)
  writes.length = 0
  let length = 0
  const start = rig.timers.now()
  for (let n = 0; n < 50; n++) {
    await rig.server.append(chat.grew('trn_1', 'row_1', length, 'word '))
    length += 5
    await rig.pass(100)
  }
  expect(writes.length).toBeGreaterThanOrEqual(3)
  expect(writes.length).toBeLessThanOrEqual(5)
  expect(writes[0]! - start).toBeGreaterThanOrEqual(1000)
  writes.length = 0
  await rig.server.append(chat.closed('trn_1', 'row_1'), chat.settled('trn_1'))
  await rig.pass(50)
  expect(writes.length).toBeGreaterThanOrEqual(1)
  page.sync.close()
})
