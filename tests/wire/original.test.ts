import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type TestServer } from '../support/server'
import { eventually } from './api'
import { openSse, type SseEvent } from './sse'

// A client that knows only the original's API: paths, payloads, codes and event names of spec/features.md §2–3, nothing of ours.
let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  expect(server.errors).toEqual([])
  await server.end()
})

interface Message { role: string; content: string; [name: string]: unknown }
interface Chat { session_id: string; messages: Message[]; active_stream_id: string | null; title: string }
/** What such a client reads of answers and of event data. */
interface Json { session: Chat; sessions: Chat[]; stream_id: string; pending: { approval_id: string } | null; pending_count: number; active: boolean; ok: boolean }

async function get(path: string): Promise<{ status: number; body: Json }> {
  const answer = await fetch(server.url + path)
  return { status: answer.status, body: (await answer.json()) as Json }
}
async function post(path: string, body: Record<string, unknown>): Promise<{ status: number; body: Json }> {
  const answer = await fetch(server.url + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Json }
}
const stream = (id: string, query = '', headers: Record<string, string> = {}) => openSse(`${server.url}/api/chat/stream?stream_id=${id}${query}`, headers)

async function begin(message: string): Promise<{ session: string; run: string }> {
  const session = (await post('/api/session/new', {})).body.session.session_id
  const started = await post('/api/chat/start', { session_id: session, message })
  expect(started.status).toBe(200)
  return { session, run: started.body.stream_id }
}

const textOf = (events: SseEvent[], name = 'token') => events.filter((each) => each.event === name).map((each) => each.data.text).join('')

const LONG = '[[reason:First I think it over.]] [[tool:read {"target":"a.md","args":{"path":"a.md"},"result":"seven"}]] [[say:Half of it.]] [[tool:list {"target":"."}]] [[say:The other half, with \u{1F680} in it.]]'

it('starts, streams, asks, is answered, and ends with done and stream_end', async () => {
  const { session, run } = await begin('[[reason:Hm.]] [[ask:make test]] [[say:All green.]]')
  const reader = await stream(run)
  expect(reader.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(reader.headers.get('cache-control')).toBe('no-cache')
  expect(reader.headers.get('x-accel-buffering')).toBe('no')
  const asked = await reader.until((each) => each.event === 'approval')
  expect(asked.data).toMatchObject({ command: 'make test', pending_count: 1 })

  const listed = (await get('/api/sessions')).body.sessions.find((each) => each.session_id === session)
  expect(listed).toMatchObject({ is_streaming: true, active_stream_id: run, attention: { kind: 'approval', count: 1 } })
  const pending = await get(`/api/approval/pending?session_id=${session}`)
  expect(pending.body).toMatchObject({ pending: { approval_id: asked.data.approval_id, choices: ['once', 'deny'] }, pending_count: 1 })

  expect((await post('/api/approval/respond', { session_id: session, choice: 'once', approval_id: asked.data.approval_id })).body).toEqual({ ok: true, choice: 'once' })
  await reader.ended()
  const names = reader.events.map((each) => each.event)
  expect(names.slice(-2)).toEqual(['done', 'stream_end'])
  expect(names).toContain('tool_complete')
  expect(textOf(reader.events)).toBe('All green.')
  expect(textOf(reader.events, 'reasoning')).toBe('Hm.')
  const done = reader.events.find((each) => each.event === 'done')!.data as unknown as Json
  expect(done.session.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'All green.' })
  expect(done.session.active_stream_id).toBeNull()

  const whole = (await get(`/api/session?session_id=${session}`)).body.session
  expect(whole.messages).toEqual(done.session.messages)
  expect(whole.messages[0]).toMatchObject({ role: 'user', content: expect.stringContaining('[[ask:make test]]') })
  // The answer card goes away: nothing is asked any more.
  expect((await post('/api/approval/respond', { session_id: session, choice: 'deny', approval_id: asked.data.approval_id })).body).toMatchObject({ ok: true, stale_cleared: true })
  expect((await get(`/api/approval/pending?session_id=${session}`)).body).toEqual({ pending: null, pending_count: 0 })
})

it('an answer to another question than the one that is open is not ok, and changes nothing', async () => {
  const { session, run } = await begin('[[ask:make test]]')
  await eventually('the question', async () => (await get(`/api/approval/pending?session_id=${session}`)).body.pending)
  expect((await post('/api/approval/respond', { session_id: session, choice: 'once', approval_id: 'apr_other' })).body).toEqual({ ok: false, choice: 'once' })
  expect((await get(`/api/approval/pending?session_id=${session}`)).body.pending_count).toBe(1)
  expect((await post('/api/approval/respond', { session_id: session, choice: 'deny' })).body).toEqual({ ok: true, choice: 'deny' })
  const reader = await stream(run)
  await reader.ended()
  expect(reader.events.find((each) => each.event === 'tool_complete')!.data.is_error).toBe(true)
})

it('stops a run by its stream, keeps what it wrote, and tells it with cancel', async () => {
  const { session, run } = await begin('[[say:Kept words.]] [[silence]]')
  const reader = await stream(run)
  await reader.until((each) => each.event === 'token')
  expect((await get(`/api/chat/stream/status?stream_id=${run}`)).body).toMatchObject({ active: true, stream_id: run, replay_available: true })
  expect((await get(`/api/chat/cancel?stream_id=${run}`)).body).toMatchObject({ ok: true, cancelled: true, stream_id: run })
  await reader.ended()
  expect(reader.events.at(-1)!.event).toBe('cancel')
  expect(reader.events.at(-1)!.data).toMatchObject({ type: 'cancelled' })
  expect((await get(`/api/chat/stream/status?stream_id=${run}`)).body.active).toBe(false)
  expect((await get(`/api/chat/cancel?stream_id=${run}`)).body).toMatchObject({ ok: true, cancelled: false })
  const messages = (await get(`/api/session?session_id=${session}`)).body.session.messages
  expect(messages.some((message) => message.content === 'Kept words.')).toBe(true)
  expect(messages.at(-1)).toMatchObject({ _error: true, type: 'cancelled' })
})

it('tells a failure with apperror, once, and no stream_end', async () => {
  const { run } = await begin('[[error:rate_limit Slow down, please]]')
  const reader = await stream(run)
  await reader.ended()
  expect(reader.events.at(-1)!.event).toBe('apperror')
  expect(reader.events.at(-1)!.data).toMatchObject({ type: 'rate_limit', details: 'Slow down, please' })
  expect(reader.events.some((each) => each.event === 'stream_end')).toBe(false)
})

it('a stream that nobody knows is a 404, for all three of its routes alike where they read', async () => {
  expect((await get('/api/chat/stream?stream_id=run_nothing')).status).toBe(404)
  expect((await get('/api/chat/stream/status?stream_id=run_nothing')).status).toBe(404)
  expect((await get('/api/chat/cancel?stream_id=run_nothing')).body).toMatchObject({ ok: true, cancelled: false })
  expect((await get('/api/chat/cancel')).status).toBe(400)
})

describe('resuming', () => {
  let run: string
  let whole: SseEvent[]
  beforeAll(async () => {
    ;({ run } = await begin(LONG))
    const reader = await stream(run)
    await reader.ended()
    whole = reader.events
    expect(whole.length).toBeGreaterThan(8)
  })
  const joined = (events: SseEvent[]) => ({ token: textOf(events), reasoning: textOf(events, 'reasoning'), others: events.filter((each) => each.event !== 'token' && each.event !== 'reasoning').map((each) => [each.event, each.id]) })

  it.each(['Last-Event-ID', 'after_event_id', 'after_seq'])('by %s at every id loses and doubles nothing', async (way) => {
    for (let i = 0; i < whole.length; i++) {
      const id = whole[i]!.id!
      const rest = way === 'Last-Event-ID' ? await stream(run, '', { 'Last-Event-ID': id }) : await stream(run, `&${way}=${encodeURIComponent(way === 'after_seq' ? id.slice(id.indexOf(':') + 1) : id)}`)
      await rest.ended()
      expect(joined([...whole.slice(0, i + 1), ...rest.events])).toEqual(joined(whole))
    }
  })
  it('ids rise strictly', () => {
    const numbers = whole.map((each) => Number(each.id!.split(':')[1]))
    expect(numbers.every((n, i) => i === 0 || n > numbers[i - 1]!)).toBe(true)
  })
  it.each(['run_other:40', 'nonsense', '999999', ''])('a cursor that cannot be honoured, %j, tells everything again', async (id) => {
    const reader = await stream(run, `&after_event_id=${encodeURIComponent(id)}`, { 'Last-Event-ID': whole[3]!.id! })
    await reader.ended()
    expect(joined(reader.events)).toEqual(joined(whole))
  })
  it('replay=1 tells everything again', async () => {
    const reader = await stream(run, '&replay=1', { 'Last-Event-ID': whole[3]!.id! })
    await reader.ended()
    expect(joined(reader.events)).toEqual(joined(whole))
  })

  it('in the middle of a live answer, cut again and again, tells every token once', async () => {
    const live = await begin('[[deltas:400]] [[say:END]]')
    let told: SseEvent[] = []
    for (let turn = 0; turn < 50 && !told.some((each) => each.event === 'stream_end'); turn++) {
      const last = told.at(-1)?.id
      const reader = await stream(live.run, '', last === undefined ? {} : { 'Last-Event-ID': last })
      await reader.until(() => reader.events.length > 1 || reader.events.some((each) => each.event === 'stream_end'))
      reader.cut()
      told = [...told, ...reader.events]
    }
    const again = await stream(live.run)
    await again.ended()
    expect(textOf(told)).toBe(textOf(again.events))
    expect(textOf(told).endsWith('END')).toBe(true)
  })
})

it('reads a window of messages with its offset', async () => {
  const { session, run } = await begin('[[say:one]]')
  await (await stream(run)).ended()
  for (const word of ['two', 'three']) await (await stream((await post('/api/chat/start', { session_id: session, message: `[[say:${word}]]` })).body.stream_id)).ended()
  const last = (await get(`/api/session?session_id=${session}&msg_limit=2`)).body.session
  expect(last).toMatchObject({ _messages_truncated: true, _messages_offset: 4 })
  expect(last.messages.map((message) => message.content)).toEqual(['[[say:three]]', 'three'])
  const before = (await get(`/api/session?session_id=${session}&msg_limit=3&msg_before=4`)).body.session
  expect(before.messages.map((message) => message.content)).toEqual(['one', '[[say:two]]', 'two'])
  expect((await get(`/api/session?session_id=${session}&messages=0`)).body.session.messages).toEqual([])
})

it('renames, updates, lists and deletes', async () => {
  const { session, run } = await begin('[[say:hi]]')
  await (await stream(run)).ended()
  expect((await post('/api/session/rename', { session_id: session, title: 'A better name' })).body).toMatchObject({ ok: true, session: { title: 'A better name' } })
  expect((await post('/api/session/update', { session_id: session, model: 'big', model_provider: 'scripted' })).body).toMatchObject({ session: { model: 'big', model_provider: 'scripted' } })
  expect((await get(`/api/session/status?session_id=${session}`)).body).toMatchObject({ title: 'A better name', agent_running: false, active_stream_id: null, message_count: 2 })
  expect((await post('/api/session/delete', { session_id: session })).body.ok).toBe(true)
  expect((await get('/api/sessions')).body.sessions.some((each) => each.session_id === session)).toBe(false)
  expect((await get(`/api/session?session_id=${session}`)).status).toBe(404)
})

it('a stream whose chat is deleted ends', async () => {
  const { session, run } = await begin('[[silence]]')
  const reader = await stream(run)
  await post('/api/session/delete', { session_id: session })
  await reader.ended()
  expect(reader.events.at(-1)!.event).toBe('cancel')
})
