import { afterAll, beforeAll, expect, it } from 'vitest'
import { apply, emptyTranscript, merge } from '../../server/contract/fold'
import type { Transcript } from '../../server/contract/session'
import type { Changes, Frames } from '../../server/contract/wire'
import { startServer, type TestServer } from '../support/server'
import { call, eventually, newChat, say, settled } from './api'
import { openSse, type SseEvent } from './sse'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  expect(server.errors.map(String)).toEqual([])
  await server.end()
})

const window = async (session: string): Promise<Changes> => (await call(server, 'GET /api/session/changes', { session_id: session, limit: 500 })).body
const reading = (session: string, after: string) => openSse(`${server.url}/api/events?session_id=${session}&after=${after}`)
const changeOf = ({ data }: SseEvent) => data as unknown as Frames['change']

/** Takes frames, and what `changes` answers where the server says that the rest is not to be had: as a page does. */
async function follow(value: Transcript, events: readonly SseEvent[], session: string, after: string): Promise<{ value: Transcript; resets: number }> {
  let resets = 0
  for (const event of events) {
    if (event.event === 'reset') {
      resets++
      merge(value, (await call(server, 'GET /api/session/changes', { session_id: session, after, from: '', limit: 500 })).body, 'after')
    }
    if (event.event === 'change' && changeOf(event).session === session) for (const one of changeOf(event).events ?? []) expect(apply(value, one).state).not.toBe('gap')
  }
  return { value, resets }
}

it('a reader that was away while the log was pruned is told so once, comes back by what changed, and goes on live; one that stood behind it is replayed', async () => {
  const session = await newChat(server)
  const early = await window(session)
  await settled(server, await say(server, session, '[[reason:Hm.]] [[tool:read {"target":"a.md","result":"Alpha"}]] [[say:The first answer.]]'))
  const late = await window(session)
  const { settledAt } = late.turns[0]!.runs[0]!
  await eventually('the clock goes on', () => Date.now() > settledAt!)
  await settled(server, await say(server, session, '[[say:The second answer.]]'))
  expect(await server.store.prune({ settledBefore: settledAt! + 1, limit: 10_000 })).toBeGreaterThan(0)

  const away = await reading(session, early.cursor)
  const behind = await reading(session, late.cursor)
  await Promise.all([away, behind].map((reader) => reader.until(({ event }) => event === 'synced')))
  await settled(server, await say(server, session, '[[say:The third answer.]]'))
  const third = (events: readonly SseEvent[]) => events.some((event) => event.event === 'change' && changeOf(event).entry?.line?.text === 'The third answer.')
  for (const reader of [away, behind]) await reader.until(() => third(reader.events))

  const now = await window(session)
  for (const [reader, from, resets] of [[away, early, 1], [behind, late, 0]] as const) {
    const started = emptyTranscript()
    merge(started, from, 'window')
    const followed = await follow(started, reader.events, session, from.cursor)
    expect(followed.resets).toBe(resets)
    expect(followed.value.order.map((id) => followed.value.rows.get(id))).toEqual(now.rows)
    reader.cut()
  }
  expect(now.rows.filter(({ kind }) => kind === 'answer').map(({ text }) => text)).toEqual(['The first answer.', 'The second answer.', 'The third answer.'])
})
