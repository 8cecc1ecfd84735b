// @vitest-environment node
import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import { deleteDB, openDB } from 'idb'
import { beforeEach, expect, test } from 'vitest'
import { EMPTY_QUEUE } from '../../../../server/contract/queue'
import type { Row } from '../../../../server/contract/rows'
import type { SessionHead } from '../../../../server/contract/session'
import type { ChatSave, Copies } from '../../../../src/cache/port'
import { unheld } from '../../../../src/cache/held'
import { COPY_VERSION, copyName, type CopySchema } from '../../../../src/cache/schema'
import { openShelf } from '../../../../src/cache/shelf'
import { transcriptOf } from '../../../../src/sync/page-record'
import { FakeTimers } from '../../../support/fake-timers'

let timers: FakeTimers
beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
  timers = new FakeTimers()
})

const shelf = (user = 'local', profile = 'default') => openShelf({ user, profile }, timers.after)
const row = (n: number, seq: number, text = ''): Row => ({ id: `row_${n}`, kind: 'answer', n, turn: 'trn_1', pos: `1${n}`, seq, at: 1, state: 'done', text })
const head = { id: 'ses_a', title: 'A' } as SessionHead

function save(rows: Row[], seq: number, more: Partial<ChatSave> = {}): ChatSave {
  return { session: 'ses_a', head, rows, turns: [], removed: [], last: rows, lastFrom: '', lastTurns: [], queue: EMPTY_QUEUE, from: '', missed: 0, cursor: String(seq), behind: false, seq, savedAt: 1, ...more }
}
async function texts(copies: Copies): Promise<string[]> {
  const found = await copies.before('ses_a', '\uffff', 100)
  return found.ok && found.value ? found.value.rows.map(({ text }) => text) : []
}

test('stores, users and profiles never see each other’s rows', async () => {
  const places = [await shelf().open('one'), await shelf().open('two'), await shelf('ann').open('one'), await shelf('local', 'work').open('one')]
  await places[0]!.saveChat(save([row(1, 1, 'mine')], 1, { replace: 'window' }))
  expect(await Promise.all(places.map(texts))).toEqual([['mine'], [], [], []])
  expect(await places[1]!.saved()).toEqual({ ok: true, value: [] })
})

test('the store that was opened last is known at the next start', async () => {
  expect(await shelf().last()).toBe(null)
  await shelf().open('one')
  await shelf().open('two')
  expect(await shelf().last()).toBe('two')
})

test('the waiting messages are kept whole with the chat, and a copy of a build that knew of none stays readable', async () => {
  const copies = await shelf().open('one')
  const queue = { items: [{ id: 'que_1', text: 'Then prune', addedAt: 1, by: 'person' as const }], seq: 2 }
  await copies.saveChat(save([row(1, 1, 'a')], 2, { queue, replace: 'window' }))
  const held = await copies.page('ses_a')
  expect(held.ok && held.value && transcriptOf(held.value).queue).toEqual(queue)
  copies.close()
  const database = await openDB<CopySchema>(copyName('one', 'local', 'default'))
  const { queue: _, ...old } = (await database.get('pages', 'ses_a'))!
  await database.put('pages', old)
  database.close()
  const again = await shelf().open('one')
  const found = await again.page('ses_a')
  expect(found.ok && found.value && transcriptOf(found.value)).toMatchObject({ queue: { items: [] }, order: ['row_1'] })
})

test('a tab that is behind writes nothing over what a newer one wrote', async () => {
  const copies = await shelf().open('one')
  await copies.saveChat(save([row(1, 5, 'new')], 5, { replace: 'window' }))
  await copies.saveChat(save([row(1, 3, 'old')], 3))
  expect(await texts(copies)).toEqual(['new'])
  expect(await copies.page('ses_a')).toMatchObject({ value: { seq: 5 } })
  await copies.saveChat(save([row(1, 4, 'late'), row(2, 6, 'next')], 6))
  expect(await texts(copies)).toEqual(['new', 'next'])
})

test('the copy reaches as far back as the record says, whichever tab moved it', async () => {
  const copies = await shelf().open('one')
  await copies.saveChat(save([row(5, 5)], 5, { from: '15', replace: 'window' }))
  expect(await copies.saveOlder('ses_a', { rows: [row(3, 2), row(4, 3)], turns: [], from: '13', upTo: '15', seq: 5 })).toEqual({ ok: true, value: 'saved' })
  expect(await copies.saveOlder('ses_a', { rows: [], turns: [], from: '10', upTo: '15', seq: 5 })).toEqual({ ok: true, value: 'moved' })
  // Another tab that still believes in the shallower copy learns of the deeper one,
  expect(await copies.saveChat(save([row(6, 6)], 6, { from: '15' }))).toEqual({ ok: true, value: { from: '13' } })
  // unless something happened there that the deeper one had not seen.
  expect(await copies.saveChat(save([row(7, 9)], 9, { from: '15', missed: 8 }))).toEqual({ ok: true, value: { from: '15' } })
})

test('a deeper copy whose tab had still to bring what happened there does not pass for whole when another tab writes', async () => {
  const copies = await shelf().open('one')
  await copies.saveChat(save([row(1, 1), row(5, 5)], 9, { behind: true, cursor: '5', missed: 9, replace: 'window' }))
  expect(await copies.saveChat(save([row(6, 10)], 10, { from: '15', missed: 9 }))).toEqual({ ok: true, value: { from: '15' } })
  expect(await copies.page('ses_a')).toMatchObject({ value: { from: '15', behind: false } })
})

test('a window takes the place of a copy that could not be brought up to date; an older window does not, unless the log was set back', async () => {
  const copies = await shelf().open('one')
  await copies.saveChat(save([row(1, 1, 'a'), row(2, 2, 'b')], 5, { replace: 'window' }))
  await copies.saveChat(save([row(2, 1, 'x')], 4, { from: '12', replace: 'window' }))
  expect(await texts(copies)).toEqual(['a', 'b'])
  await copies.saveChat(save([row(2, 1, 'x')], 4, { from: '12', replace: 'set_back' }))
  expect(await texts(copies)).toEqual(['x'])
  await copies.saveChat(save([row(3, 6, 'y')], 6, { from: '13', replace: 'window' }))
  expect(await texts(copies)).toEqual(['y'])
})

test('an older window replaces what stood in its place', async () => {
  const copies = await shelf().open('one')
  await copies.saveChat(save([row(1, 1, 'ghost'), row(2, 1, 'kept'), row(5, 5, 'end')], 5, { from: '15', replace: 'window' }))
  await copies.saveOlder('ses_a', { rows: [row(2, 1, 'kept')], turns: [], from: '', upTo: '15', seq: 5 })
  expect(await texts(copies)).toEqual(['kept', 'end'])
})

test('what the server says is gone leaves with everything of it', async () => {
  const copies = await shelf().open('one')
  await copies.saveChat(save([row(1, 1, 'a')], 1, { replace: 'window' }))
  await copies.saveDraft('ses_a', 'typed', 1)
  await copies.forget(['ses_a'])
  expect(await copies.page('ses_a')).toEqual({ ok: true, value: null })
  expect(await copies.draft('ses_a')).toEqual({ ok: true, value: '' })
  expect(await texts(copies)).toEqual([])
})

test('a connection gives way to a newer schema and says that it is gone', async () => {
  const copies = await shelf().open('one')
  await copies.saveDraft('ses_a', 'typed', 1)
  const newer = await openDB(copyName('one', 'local', 'default'), COPY_VERSION + 1)
  expect(await copies.draft('ses_a')).toEqual({ ok: false, why: 'gone' })
  // A page of the older build goes on without copies.
  expect(await (await shelf().open('one')).saved()).toEqual({ ok: false, why: 'blocked' })
  newer.close()
})

test('a database that is deleted under a page is gone, not an exception', async () => {
  const copies = await shelf().open('one')
  await deleteDB(copyName('one', 'local', 'default'))
  expect(await copies.saveChat(save([], 1))).toEqual({ ok: false, why: 'gone' })
})

test('a database that is blocked is given up after a while', async () => {
  // A page of an older build that does not close.
  const stubborn = indexedDB.open(copyName('one', 'local', 'default'), 1)
  await new Promise((resolve) => (stubborn.onsuccess = resolve))
  const opening = indexedDB.deleteDatabase(copyName('one', 'local', 'default'))
  const copies = shelf().open('one')
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve))
  await timers.advance(5000)
  expect(await (await copies).saved()).toEqual({ ok: false, why: 'blocked' })
  stubborn.result.close()
  await new Promise((resolve) => (opening.onsuccess = resolve))
})

test('reasons of browsers are told apart', () => {
  expect(unheld(new DOMException('', 'QuotaExceededError'))).toBe('full')
  expect(unheld(new DOMException('', 'SecurityError'))).toBe('blocked')
  expect(unheld(new DOMException('', 'InvalidStateError'))).toBe('gone')
  expect(unheld('?')).toBe('gone')
})

test('what only adds to a copy that another tab has removed, as of a deleted chat, brings nothing of it back', async () => {
  const copies = await shelf().open('one')
  await copies.saveChat(save([row(1, 1, 'a')], 1, { replace: 'window' }))
  await copies.forget(['ses_a'])
  expect(await copies.saveChat(save([row(2, 2, 'b')], 2))).toEqual({ ok: true, value: { from: '', gone: true } })
  expect(await copies.page('ses_a')).toEqual({ ok: true, value: null })
  expect(await copies.saved()).toEqual({ ok: true, value: [] })
})
