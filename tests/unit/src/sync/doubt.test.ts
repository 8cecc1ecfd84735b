// @vitest-environment node
import { expect, test } from 'vitest'
import { Chat } from '../../../support/chat'
import { emptyDisk } from '../../../support/model-disk'
import { ModelStore } from '../../../support/model-store'
import { noCopies } from '../../../../src/cache/copies'
import { openShelf } from '../../../../src/cache/shelf'
import { makeRig, type Rig } from './rig'

async function kept(rig: Rig, session: string): Promise<boolean> {
  const shelf = openShelf({ user: 'local', profile: 'default' }, rig.clock.after)
  const copies = await shelf.open(rig.server.store.id)
  const page = await copies.page(session)
  copies.close()
  return page.ok && page.value !== null
}

async function withCopy() {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'))
  const page = rig.page()
  const open = page.sync.open('ses_a')
  await rig.pass(3000)
  expect(await kept(rig, 'ses_a')).toBe(true)
  return { rig, chat, page, open }
}

const html = (status: number): Response => new Response('<html>Not here</html>', { status, headers: { 'Content-Type': 'text/html' } })
const answers: [string, (rig: Rig) => Response, boolean][] = [
  ['a 404 with our code and this store', (rig) => rig.server.problem('session_not_found'), true],
  ['a 410 with our code and this store', (rig) => rig.server.problem('session_not_found', 410), true],
  ['a 404 with our code but no store', (rig) => rig.server.problem('session_not_found', 404, null), false],
  ['a 404 with another code', (rig) => rig.server.problem('not_found'), false],
  ['a 404 of something else', () => html(404), false],
  ['a 401', () => html(401), false],
  ['a login page', () => html(200), false],
  ['a redirect', () => new Response(null, { status: 302, headers: { Location: '/login' } }), false],
  ['a 503', (rig) => rig.server.problem('shutting_down'), false],
  ['a chat of another profile', (rig) => rig.server.problem('session_profile_mismatch'), false],
]

for (const [what, response, clears] of answers)
  test(`${what} ${clears ? 'clears' : 'never clears'} the copy of a chat`, async () => {
    const { rig, page, open } = await withCopy()
    rig.server.network = 'refused'
    rig.server.cut()
    await rig.pass(100)
    for (let n = 0; n < 3; n++) rig.server.instead.push({ path: '/api/session/changes', response: () => response(rig) }, { path: '/api/events', response: () => response(rig) })
    rig.server.network = 'up'
    await rig.pass(2000)
    expect(await kept(rig, 'ses_a')).toBe(!clears)
    expect(open.state()).toBe(clears ? 'absent' : what.includes('profile') ? 'other_profile' : 'ready')
    expect(page.sync.saved('ses_a')).toBe(!clears)
    if (clears || what.includes('profile')) expect(page.sync.connection().state).toBe('connected')
    page.sync.close()
  })

test('a chat deleted elsewhere leaves list, page and device', async () => {
  const { rig, chat, page, open } = await withCopy()
  await rig.server.append(chat.append([{ type: 'session.deleted' }]))
  await rig.pass(2000)
  expect(open.state()).toBe('absent')
  expect(page.sync.list().entries.has('ses_a')).toBe(false)
  expect(await kept(rig, 'ses_a')).toBe(false)
  page.sync.close()
})

test('a chat deleted while this page was away leaves when it is back', async () => {
  const { rig, chat, page, open } = await withCopy()
  page.surroundings.show(false)
  await rig.pass(100)
  await rig.server.append(chat.append([{ type: 'session.deleted' }]))
  await rig.pass(100_000)
  page.surroundings.show(true)
  await rig.pass(2000)
  expect(open.state()).toBe('absent')
  expect(page.sync.list().entries.has('ses_a')).toBe(false)
  expect(await kept(rig, 'ses_a')).toBe(false)
  page.sync.close()
})

test('a tab that has not heard of the end of a chat brings nothing of it back, however often it writes', async () => {
  const { rig, chat, page } = await withCopy()
  const deaf = rig.page()
  deaf.sync.open('ses_a')
  await rig.pass(3000)
  // It has something to write, and hears nothing more: neither the end, nor for a while that its line is dead.
  await rig.server.append(chat.opened('trn_1', 'row_1', 'Hi'))
  await rig.pass(50)
  page.sync.close()
  const other = rig.page()
  rig.server.mute()
  other.sync.open('ses_a')
  await rig.pass(200)
  await rig.server.append(chat.append([{ type: 'session.deleted' }]))
  rig.server.network = 'refused'
  await rig.pass(3000)
  expect(await kept(rig, 'ses_a')).toBe(false)
  deaf.surroundings.leave()
  await rig.pass(100)
  deaf.surroundings.show(false)
  await rig.pass(2000)
  expect(await kept(rig, 'ses_a')).toBe(false)
  deaf.sync.close()
  other.sync.close()
})

test('a copy that was removed while its chat is there is written anew, whole, once the server has said so', async () => {
  const { rig, chat, page } = await withCopy()
  const shelf = openShelf({ user: 'local', profile: 'default' }, rig.clock.after)
  const copies = await shelf.open(rig.server.store.id)
  await copies.forget(['ses_a'])
  await rig.server.append(chat.opened('trn_1', 'row_1', 'Hi'))
  await rig.pass(3000)
  const { value } = rig.server.store.disk.sessions.get('ses_a')!
  expect(await copies.page('ses_a')).toMatchObject({ ok: true, value: { from: '' } })
  expect(await copies.before('ses_a', '\uffff', 100)).toMatchObject({ ok: true, value: { rows: value.order.map((id) => value.rows.get(id)!) } })
  copies.close()
  page.sync.close()
})

test('another store at the same address gets databases of its own, and the page goes on with what is there', async () => {
  const { rig, page, open } = await withCopy()
  const before = rig.server.store.id
  rig.server.feed.end()
  rig.server.cut()
  rig.server.store = new ModelStore({ disk: emptyDisk('store_two'), after: (ms, then) => void rig.timers.after(ms, then) })
  await rig.server.open()
  const other = new Chat('ses_z')
  await rig.server.append(other.created({ title: 'Elsewhere' }))
  // So much has happened there that the page's old cursor means something in it.
  for (let n = 0; n < 9; n++) await rig.server.append(other.append([{ type: 'session.changed', title: `Elsewhere ${n}`, titleBy: 'person' }]))
  await rig.pass(6000)
  expect([...page.sync.list().entries.keys()]).toEqual(['ses_z'])
  expect(open.state()).toBe('absent')
  expect(page.sync.connection().state).toBe('connected')
  const opened = page.sync.open('ses_z')
  await rig.pass(3000)
  expect(opened.freshness()).toBe('live')
  expect(await kept(rig, 'ses_z')).toBe(true)
  // What was kept of the first store is still there for the day it comes back.
  const old = await openShelf({ user: 'local', profile: 'default' }, rig.clock.after).open(before)
  expect(await old.page('ses_a')).toMatchObject({ ok: true, value: { session: 'ses_a' } })
  expect(await old.list()).toMatchObject({ ok: true, value: { entries: [{ id: 'ses_a' }] } })
  old.close()
  page.sync.close()
})

test('a log that was set back replaces what this device believed', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Kept'))
  const backup = structuredClone(rig.server.store.disk)
  await rig.server.append(chat.opened('trn_1', 'row_1', 'Lost'), chat.grew('trn_1', 'row_1', 4, ' text'))
  const page = rig.page()
  const open = page.sync.open('ses_a')
  await rig.pass(3000)
  expect(open.value().order.length).toBe(2)
  rig.server.feed.end()
  rig.server.cut()
  rig.server.store = new ModelStore({ disk: backup, after: (ms, then) => void rig.timers.after(ms, then) })
  await rig.server.open()
  await rig.pass(6000)
  expect(open.value().order).toEqual(['row_trn_1'])
  expect(open.freshness()).toBe('live')
  const again = rig.page()
  rig.server.network = 'refused'
  const copy = again.sync.open('ses_a')
  await rig.pass(1000)
  expect(copy.value().order).toEqual(['row_trn_1'])
  page.sync.close()
  again.sync.close()
})

for (const why of ['blocked', 'gone', 'full'] as const)
  test(`storage that is ${why} leaves a page that lives from the network`, async () => {
    const rig = await makeRig()
    const chat = new Chat('ses_a')
    await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'))
    const { sync } = rig.page({ shelf: { last: () => Promise.resolve(null), open: (store) => Promise.resolve(noCopies(store, why)) } })
    const open = sync.open('ses_a')
    await rig.pass(2000)
    await rig.server.append(chat.opened('trn_1', 'row_1', 'Hi'))
    await rig.pass(2000)
    expect(open.value().order.length).toBe(2)
    expect(open.freshness()).toBe('live')
    expect(sync.saved('ses_a')).toBe(false)
    expect(sync.keeping()).toBe(why === 'full' ? 'full' : 'none')
    sync.close()
  })

test('a database that hangs does not keep the page from the network', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'))
  const { sync } = rig.page({ shelf: { last: () => new Promise(() => undefined), open: () => new Promise(() => undefined) } })
  const open = sync.open('ses_a')
  await rig.pass(1000)
  expect(open.freshness()).toBe('live')
  expect(open.value().order.length).toBe(1)
  sync.close()
})

test('a chat that was opened before a slow database is painted from its copy when that opens', async () => {
  const { rig, page } = await withCopy()
  page.sync.close()
  await rig.pass(100)
  rig.server.network = 'refused'
  rig.server.cut()
  const shelf = openShelf({ user: 'local', profile: 'default' }, rig.clock.after)
  const slow = { last: () => shelf.last(), open: (store: string) => new Promise<void>((resolve) => rig.timers.after(2000, resolve)).then(() => shelf.open(store)) }
  const { sync } = rig.page({ shelf: slow })
  const open = sync.open('ses_a')
  await rig.pass(1500)
  expect(open.state()).toBe('not_here')
  await rig.pass(1500)
  expect(open.state()).toBe('ready')
  expect(open.value().order).toEqual(['row_trn_1'])
  sync.close()
})

test('frames that are cut anywhere say the same', async () => {
  const rig = await makeRig()
  rig.server.pieces = 3
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'), chat.opened('trn_1', 'row_1', ''))
  const { sync } = rig.page()
  const open = sync.open('ses_a')
  await rig.pass(1000)
  await rig.server.append(chat.grew('trn_1', 'row_1', 0, '雪が降る 👩‍👩‍👧'))
  await rig.pass(100)
  expect(open.value().rows.get('row_1')!.text).toBe('雪が降る 👩‍👩‍👧')
  sync.close()
})

test('a request that hangs since before the connection was made gives way', async () => {
  const rig = await makeRig()
  const chat = new Chat('ses_a')
  await rig.server.append(chat.created(), chat.admitted('trn_1', 'Hello'))
  const { sync } = rig.page()
  await rig.pass(3000)
  rig.server.network = 'silent'
  rig.server.cut()
  const open = sync.open('ses_a')
  await rig.pass(8000)
  expect(open.state()).toBe('not_here')
  rig.server.network = 'up'
  await rig.pass(2500 + 1000)
  expect(open.freshness()).toBe('live')
  sync.close()
})
