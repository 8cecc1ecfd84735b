import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Changes, Frames } from '../../server/contract/wire'
import { apply, emptyTranscript, merge } from '../../server/contract/fold'
import type { Transcript } from '../../server/contract/session'
import { systemTimers } from '../../server/runs/timers'
import { startServer, type TestServer } from '../support/server'
import { call, eventually, newChat, say, settled } from './api'
import { openSse, type Sse, type SseEvent } from './sse'
import { request, wire } from './raw'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  expect(server.errors.map(String)).toEqual([])
  await server.end()
})

const open = (query: Record<string, string | undefined> = {}, headers: Record<string, string> = {}) => {
  const address = new URL('/api/events', server.url)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, value)
  return openSse(String(address), headers)
}
const synced = (reader: Sse) => reader.until((each) => each.event === 'synced')
const changes = (events: SseEvent[]) => events.filter((each) => each.event === 'change').map((each) => each.data as unknown as Frames['change'])
const window = async (session: string): Promise<Changes> => (await call(server, 'GET /api/session/changes', { session_id: session, limit: 500 })).body

/** What a reader holds after a window and the frames that followed it. */
function told(from: Changes, events: SseEvent[], session: string): Transcript {
  const value = emptyTranscript()
  merge(value, from, 'window')
  for (const change of changes(events)) if (change.session === session) for (const event of change.events ?? []) expect(apply(value, event).state).not.toBe('gap')
  return value
}

it('says synced with the store, its version and a cursor, and carries the store in a header', async () => {
  const reader = await open()
  const { data } = await synced(reader)
  expect(data).toMatchObject({ store: server.store.id, version: 'test', cursor: String(await server.store.head()) })
  expect(reader.headers.get('x-talaria-store')).toBe(server.store.id)
  expect(reader.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  reader.cut()
})

it('tells the open chat its events and every reader the list, each commit at most once, with rising cursors', async () => {
  const chat = await newChat(server)
  const before = await window(chat)
  const inside = await open({ session_id: chat })
  const outside = await open()
  await Promise.all([synced(inside), synced(outside)])
  await settled(server, await say(server, chat, '[[reason:Hm.]] [[tool:read {"target":"a.md"}]] [[say:Done.]]'))
  const done = (reader: Sse) => reader.until((each) => each.event === 'change' && (each.data as unknown as Frames['change']).entry?.outcome === 'completed')
  await Promise.all([done(inside), done(outside)])

  expect([...told(before, inside.events, chat).rows.values()]).toEqual((await window(chat)).rows)
  const kinds = changes(inside.events).flatMap((change) => change.events ?? []).map((event) => event.type)
  expect(kinds).toContain('turn.admitted')
  expect(kinds.at(-1)).toBe('run.settled')
  expect(changes(outside.events).every((change) => change.events === undefined && change.entry)).toBe(true)
  for (const reader of [inside, outside]) {
    const ids = reader.events.filter((each) => each.id !== undefined).map((each) => Number(each.id))
    expect(ids.every((id, i) => i === 0 || id >= ids[i - 1]!)).toBe(true)
    const frames = reader.events.filter((each) => each.event === 'change').map((each) => each.id)
    expect(new Set(frames).size).toBe(frames.length)
  }
  inside.cut()
  outside.cut()
})

describe('a cursor', () => {
  it('from any frame gives the same transcript as no interruption', async () => {
    const chat = await newChat(server)
    const before = await window(chat)
    const whole = await open({ session_id: chat, after: before.cursor })
    for (const word of ['one', 'two']) await settled(server, await say(server, chat, `[[reason:Hm.]] [[tool:read {"target":"a.md"}]] [[deltas:200]] [[say:${word}]]`))
    await eventually('both ends are told', () => changes(whole.events).filter((change) => change.entry?.outcome === 'completed').length === 2)
    whole.cut()
    const wanted = told(before, whole.events, chat)
    const now = await window(chat)
    expect([...wanted.rows.values()]).toEqual(now.rows)
    const frames = whole.events.filter((each) => each.event === 'change')
    expect(frames.length).toBeGreaterThan(3)
    for (let i = 0; i < frames.length; i++) {
      const rest = await open({ session_id: chat }, { 'Last-Event-ID': frames[i]!.id! })
      await synced(rest)
      const upTo = whole.events.slice(0, whole.events.indexOf(frames[i]!) + 1)
      const value = told(before, [...upTo, ...rest.events], chat)
      expect([...value.rows.values()]).toEqual(now.rows)
      expect([...value.turns.values()]).toEqual(now.turns)
      const ids = new Set(upTo.map((each) => each.id))
      expect(rest.events.some((each) => each.event === 'change' && ids.has(each.id))).toBe(false)
      rest.cut()
    }
  })

  it('of another store, or from the future, is answered with reset and goes on live', async () => {
    const chat = await newChat(server)
    const reader = await open({ session_id: chat, after: '999999999' })
    await synced(reader)
    expect(reader.events.map((each) => each.event)).toEqual(['reset', 'synced'])
    expect(reader.events[0]!.data).toEqual({ cursor: String(await server.store.head()) })
    await call(server, 'POST /api/session/rename', { session_id: chat, title: 'Live again' })
    await reader.until((each) => each.event === 'change')
    reader.cut()
  })

  it('that is no number is refused', async () => {
    expect((await open({ after: 'banana' })).status).toBe(400)
  })

  it('while the chat is written to, reconnecting over and over, loses and doubles nothing', async () => {
    const chat = await newChat(server)
    const before = await window(chat)
    let after = before.cursor
    const events: SseEvent[] = []
    const run = await say(server, chat, '[[deltas:3000]] [[say:END]]')
    let over = false
    for (let i = 0; i < 200 && !over; i++) {
      const reader = await open({ session_id: chat, after })
      await synced(reader)
      await reader.until((each) => each.event === 'change' || each.event === 'synced')
      reader.cut()
      events.push(...reader.events)
      after = [...reader.events].reverse().find((each) => each.id !== undefined)!.id!
      over = changes(reader.events).some((change) => change.entry?.outcome === 'completed')
    }
    await settled(server, run)
    const last = await open({ session_id: chat, after })
    await synced(last)
    last.cut()
    expect([...told(before, [...events, ...last.events], chat).rows.values()]).toEqual((await window(chat)).rows)
  })
})

it('a deleted chat leaves by a frame that says so', async () => {
  const chat = await newChat(server)
  const reader = await open()
  await synced(reader)
  await call(server, 'POST /api/session/delete', { session_id: chat })
  const gone = await reader.until((each) => each.event === 'change' && (each.data as unknown as Frames['change']).removed === true)
  expect(gone.data.session).toBe(chat)
  reader.cut()
})

it('a chat that does not exist cannot be opened', async () => {
  expect((await open({ session_id: 'ses_nothing' })).status).toBe(404)
})

it('fifty readers cost one encoding', async () => {
  const chat = await newChat(server)
  const encodings = async (readers: number): Promise<{ frames: number; encoded: number }> => {
    const all = await Promise.all(Array.from({ length: readers }, () => open({ session_id: chat })))
    await Promise.all(all.map(synced))
    const before = server.composition.feed.stats().encoded
    const from = Number((await synced(all[0]!)).data.cursor)
    await settled(server, await say(server, chat, '[[deltas:500]] [[say:END]]'))
    await Promise.all(all.map((reader) => reader.until((each) => each.event === 'change' && (each.data as unknown as Frames['change']).entry?.outcome === 'completed')))
    const encoded = server.composition.feed.stats().encoded - before
    for (const reader of all) reader.cut()
    await eventually('readers left', () => server.composition.feed.stats().readers === 0)
    return { frames: (await server.store.head()) - from, encoded }
  }
  const one = await encodings(1)
  const many = await encodings(50)
  expect(one.encoded).toBe(one.frames)
  expect(many.encoded).toBe(many.frames)
})

it('a reader that takes nothing is cut off alone; the others are told everything, as fast as without it', async () => {
  const chat = await newChat(server)
  const pieces = '[[size:400000]]'
  const measure = async (): Promise<number> => {
    const times: number[] = []
    for (let i = 0; i < 7; i++) {
      const reader = await open({ session_id: chat })
      await synced(reader)
      const began = performance.now()
      const run = await say(server, chat, pieces)
      await reader.until((each) => each.event === 'change' && (each.data as unknown as Frames['change']).entry?.outcome === 'completed')
      times.push(performance.now() - began)
      reader.cut()
      await settled(server, run)
    }
    // The best of several: what a busy machine adds is not ours.
    return Math.min(...times)
  }
  const alone = await measure()
  const stalled = await wire(server.port)
  stalled.write(request('GET', `/api/events?session_id=${chat}`))
  await stalled.until(() => stalled.text().includes('event: synced'))
  stalled.socket.pause()
  const beside = await measure()
  expect(beside / alone).toBeLessThan(3)

  // What it did not take is bounded: sooner or later it is dropped, and its cursor brings it up to date.
  for (let i = 0; i < 40 && server.composition.feed.stats().readers > 0; i++) await settled(server, await say(server, chat, pieces))
  await eventually('the stalled reader is dropped', () => server.composition.feed.stats().readers === 0)
  expect(server.errors.splice(0).map(String)).toEqual(['A reader of /api/events was too slow and was cut off'])
  stalled.end()
})

it('streams that stand behind one another on a connection are all gone with it', async () => {
  const chat = await newChat(server)
  const run = await say(server, chat, '[[silence]]')
  const reader = await wire(server.port)
  reader.write(request('GET', '/api/events') + request('GET', '/api/events') + request('GET', `/api/chat/stream?stream_id=${run}`))
  await eventually('all three are open', () => server.composition.feed.stats().streams === 3)
  reader.end()
  await eventually('none is left', () => server.composition.feed.stats().streams === 0)
  await call(server, 'GET /api/chat/cancel', { stream_id: run })
})

it('a reader on a slow line gets what is longer than its line takes between two signs of life, and is not cut off for it', async () => {
  const timers = systemTimers()
  // Twenty times as fast: a beat every quarter of a second, a reader may take nothing for one second.
  const hasty = await startServer({ parts: { timers: { ...timers, after: (ms, then) => timers.after(ms / 20, then) } } })
  try {
    const long = await newChat(hasty)
    await settled(hasty, await say(hasty, long, `[[say:Short.]]${'x'.repeat(19 * 1024 * 1024)}`))
    const reader = await wire(hasty.port)
    reader.socket.pause()
    reader.write(request('GET', `/api/events?session_id=${long}&after=0`))
    await eventually('it is being told', () => hasty.composition.feed.stats().readers === 1)
    // It takes nothing for as long as two beats need to pass another reader by.
    const other = await openSse(`${hasty.url}/api/events`)
    await eventually('two beats', () => other.events.filter((each) => each.event === 'beat').length >= 2)
    other.cut()
    reader.socket.resume()
    await reader.until(() => reader.text().slice(-400).includes('event: synced') || reader.text().slice(-400).includes('event: beat'), 30_000)
    expect(hasty.errors).toEqual([])
    reader.end()
  } finally {
    await hasty.end()
  }
}, 60_000)
