import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Event } from '../../server/contract/events'
import { apply, emptyTranscript } from '../../server/contract/fold'
import { toMessages } from '../../server/contract/messages'
import type { Transcript } from '../../server/contract/session'
import { OriginalClient } from '../support/original-client'
import type { EventStream, Frame } from '../support/original-client'
import { startServer, type TestServer } from '../support/server'
import { eventually } from './api'

// A person's turns driven by a client that knows only the original's API, over the scripted agent; and the same told by `/api/events`.
let server: TestServer
let client: OriginalClient
beforeAll(async () => {
  server = await startServer()
  client = new OriginalClient(server.port)
})
afterAll(async () => {
  expect(server.errors.map(String)).toEqual([])
  await server.end()
})

const steer = (session: string, text: string) => client.post('/api/chat/steer', { session_id: session, text })
const answer = (session: string, body: Record<string, unknown>) => client.post('/api/approval/respond', { session_id: session, ...body })

/** What `/api/events` tells of one chat, folded as our page folds it. */
async function follow(session: string): Promise<{ value: () => Transcript; stream: EventStream }> {
  const stream = await client.open('/api/events', { session_id: session, after: '0' })
  const value = emptyTranscript()
  let taken = 0
  return {
    stream,
    value: () => {
      for (const frame of stream.frames.slice(taken)) {
        taken++
        if (frame.event !== 'change') continue
        const change = frame.data as unknown as { session: string; events?: Event[] }
        if (change.session !== session) continue
        for (const event of change.events ?? []) expect(apply(value, event).state).not.toBe('gap')
      }
      return value
    },
  }
}

/** What `/api/events` told, folded, is the chat as the original's client reads it. */
async function same(session: string, mirror: Awaited<ReturnType<typeof follow>>): Promise<void> {
  const { seq } = (await client.get('/api/session/changes', { session_id: session })).body as unknown as { seq: number }
  await eventually('the same by /api/events', () => mirror.value().seq >= seq)
  expect(JSON.parse(JSON.stringify(toMessages(mirror.value())))).toEqual(await client.messages(session))
}

/** The original's names of a turn that ended, without what repeats by the clock alone. */
const order = (frames: Frame[]) => frames.map(({ event }) => event).filter((event, i, all) => event !== all[i - 1])
const numbers = (frames: Frame[]) => frames.map(({ id }) => Number(id!.split(':').at(-1)))
/** The close set of the original's relays: nothing follows one of these. */
const CLOSES = ['stream_end', 'cancel', 'apperror', 'error']
/** Every name that the original has (features.md §3.2). */
const NAMES = [
  'context_status', 'token', 'reasoning', 'interim_assistant', 'tool', 'tool_complete', 'todo_state', 'metering', 'approval', 'clarify', 'warning', 'compressing', 'compressed', 'state_saved', 'pending_steer_leftover', 'goal',
  'goal_continue', 'done', 'title', 'title_status', 'stream_end', 'cancel', 'apperror', 'error',
]

/** What holds of the stream of every run (features.md §3.1, 3.4). */
function checkStream(frames: Frame[], run: string): void {
  expect(frames.every(({ event }) => NAMES.includes(event))).toBe(true)
  expect(frames.every(({ id }) => id!.startsWith(`${run}:`))).toBe(true)
  expect(numbers(frames).every((n, i, all) => i === 0 || n > all[i - 1]!)).toBe(true)
  const names = frames.map(({ event }) => event)
  expect(names.filter((name) => CLOSES.includes(name))).toHaveLength(1)
  expect(CLOSES).toContain(names.at(-1))
  const done = names.indexOf('done')
  if (done >= 0) expect(names.slice(done + 1).every((name) => ['metering', 'title', 'title_status', 'stream_end'].includes(name))).toBe(true)
  else expect(names.at(-1)).not.toBe('stream_end')
  const open = new Set<unknown>()
  for (const { event, data } of frames) {
    if (event === 'tool') open.add(data.tid)
    else if (event === 'tool_complete') expect(open.delete(data.tid)).toBe(true)
  }
}

it('a turn with thoughts, a plan, tools, a question by polling, one by the stream, a clarifying question and a word: all of it, in order, and the same by /api/events', async () => {
  const session = await client.chat()
  const mirror = await follow(session)
  const questions = await client.open('/api/approval/stream', { session_id: session })
  await questions.named('initial')
  const run = await client.start(session, [
    '[[reason:First I look.]]', '[[plan:+Look | >Change | Ask]]', '[[tool:read {"target":"a.md","args":{"path":"a.md"},"result":"seven"}]]', '[[say:I have looked.]]',
    '[[ask:{"command":"make test","choices":["once","session","always","deny"]}]]', '[[ask:make clean]]', '[[clarify:Which colour? | red | blue]]', '[[hear]]', '[[say:All done.]]',
  ].join(' '))
  const stream = await client.run(run)

  // By polling, as the shipped page does, with what the stream told.
  const polled = await client.pending('approval', session)
  expect(polled).toMatchObject({ command: 'make test', choices: ['once', 'session', 'always', 'deny'], allow_permanent: true })
  const told = await stream.named('approval')
  expect(told.data.approval_id).toBe(polled.approval_id)
  expect((await answer(session, { choice: 'session', approval_id: polled.approval_id })).body).toEqual({ ok: true, choice: 'session' })
  // By the stream of questions.
  const asked = await questions.until(({ data }) => (data.pending?.command as string | undefined) === 'make clean')
  expect((await answer(session, { choice: 'deny', approval_id: asked.data.pending!.approval_id })).body).toEqual({ ok: true, choice: 'deny' })

  const clarify = await stream.named('clarify')
  expect(clarify.data).toMatchObject({ session_id: session, question: 'Which colour?', choices_offered: ['red', 'blue'], kind: 'clarify' })
  expect((await client.get('/api/clarify/pending', { session_id: session })).body.pending!.clarify_id).toBe(clarify.data.clarify_id)
  expect((await client.post('/api/clarify/respond', { session_id: session, response: 'blue', clarify_id: clarify.data.clarify_id })).body).toMatchObject({ ok: true, response: 'blue' })
  expect((await steer(session, 'Mind the gap')).body).toMatchObject({ accepted: true, stream_id: run })
  await stream.ended()
  questions.cut()

  checkStream(stream.frames, run)
  expect(order(stream.frames)).toEqual([
    'reasoning', 'todo_state', 'tool', 'tool_complete', 'token', 'interim_assistant', 'tool', 'approval', 'tool_complete', 'tool', 'approval', 'tool_complete', ...order(stream.frames).slice(12),
  ])
  expect(order(stream.frames).slice(12).filter((name) => name !== 'token' && name !== 'interim_assistant')).toEqual(['clarify', 'done', 'stream_end'])
  expect(stream.text('reasoning')).toBe('First I look.')
  expect(stream.text('token')).toContain('All done.')
  expect(stream.frames.find(({ event }) => event === 'todo_state')!.data).toMatchObject({
    session_id: session, stream_id: run, version: 1, todos: [{ content: 'Look', status: 'completed' }, { content: 'Change', status: 'in_progress' }, { content: 'Ask', status: 'pending' }], summary: { total: 3 },
  })
  expect(stream.frames.filter(({ event }) => event === 'tool_complete').map(({ data }) => data.is_error)).toEqual([false, false, true])
  const done = stream.frames.find(({ event }) => event === 'done')!.data
  expect(done.usage).toMatchObject({ duration_seconds: expect.any(Number) })
  expect(done.session).toMatchObject({ session_id: session, active_stream_id: null, todo_state: { todos: [{}, {}, {}] } })
  const messages = await client.messages(session)
  expect(done.session.messages).toEqual(messages)

  await same(session, mirror)
  const rows = mirror.value().order.map((id) => mirror.value().rows.get(id)!)
  expect(rows.find((row) => row.kind === 'steer')).toMatchObject({ text: 'Mind the gap', state: 'done', steer: { state: 'delivered' } })
  expect(rows.find((row) => row.kind === 'question')).toMatchObject({ clarify: { state: 'answered', answer: 'blue' } })
  mirror.stream.cut()
})

it('a turn cut off at each of its frames and taken up by its cursor is told once, whole', async () => {
  const session = await client.chat()
  const run = await client.start(session, '[[reason:Hm.]] [[say:One.]] [[tool:read {"target":"a.md"}]] [[deltas:60]] [[ask:ls]] [[say:Two.]]')
  let told: Frame[] = []
  for (let cuts = 0; cuts < 100 && !told.some(({ event }) => CLOSES.includes(event)); cuts++) {
    const stream = await client.run(run, {}, told.length > 0 ? { 'Last-Event-ID': told.at(-1)!.id! } : {})
    await stream.until(() => true)
    stream.cut()
    told = [...told, ...stream.frames]
    const asked = stream.frames.find(({ event }) => event === 'approval')
    if (asked) expect((await answer(session, { choice: 'once', approval_id: asked.data.approval_id })).status).toBe(200)
  }
  const again = await client.run(run)
  await again.ended()
  const words = (frames: Frame[], name: string) => frames.filter(({ event }) => event === name).map(({ data }) => data.text).join('')
  const others = (frames: Frame[]) => frames.filter(({ event }) => event !== 'token' && event !== 'reasoning').map(({ event, id }) => [event, id])
  checkStream(told, run)
  for (const name of ['token', 'reasoning']) expect(words(told, name)).toBe(words(again.frames, name))
  expect(others(told)).toEqual(others(again.frames))
})

describe('a word into the running turn, as such a client meets it', () => {
  it('accepted and used; accepted and given back as the next message; refused; after a stop; with nothing running', async () => {
    const session = await client.chat()
    const mirror = await follow(session)
    expect((await steer(session, 'x')).body).toMatchObject({ accepted: false, fallback: 'not_running' })
    expect((await steer('ses_unknown', 'x')).body).toMatchObject({ accepted: false, fallback: 'session_not_found' })

    const used = await client.start(session, '[[say:Working.]] [[hear]] [[say:Heard.]]')
    await (await client.run(used)).named('token')
    expect((await steer(session, 'a word')).body).toMatchObject({ accepted: true, stream_id: used })
    await (await client.run(used)).ended()

    const unused = await client.start(session, '[[steers:never]] [[say:Working.]] [[ask:ls]] [[say:Done.]]')
    await (await client.run(unused)).named('approval')
    expect((await steer(session, '[[say:As the next.]]')).body).toMatchObject({ accepted: true })
    await answer(session, { choice: 'once' })
    const stream = await client.run(unused)
    await stream.ended()
    expect(stream.names()).not.toContain('pending_steer_leftover')
    await eventually('the next turn', async () => (await client.messages(session)).at(-1)!.content === 'As the next.')

    const refusing = await client.start(session, '[[steers:refuse]] [[say:Working.]] [[ask:ls]]')
    await (await client.run(refusing)).named('approval')
    expect((await steer(session, 'x')).body).toMatchObject({ accepted: false, fallback: 'agent_lacks_steer', stream_id: refusing })
    await answer(session, { choice: 'deny' })
    await (await client.run(refusing)).ended()

    const throwing = await client.start(session, '[[steers:throw]] [[say:Working.]] [[ask:ls]]')
    await (await client.run(throwing)).named('approval')
    expect((await steer(session, 'x')).body).toMatchObject({ accepted: false, fallback: 'steer_error', stream_id: throwing })
    expect((await client.get('/api/chat/cancel', { stream_id: throwing })).body).toMatchObject({ ok: true, cancelled: true })
    expect(['stream_dead', 'not_running']).toContain((await steer(session, 'x')).body.fallback)
    const last = await client.run(throwing)
    await last.ended()
    checkStream(last.frames, throwing)
    expect(last.names().at(-1)).toBe('cancel')
    await same(session, mirror)
    mirror.stream.cut()
  })
})

it('a send while a turn runs is a 409 that names it; sent again after its end it is the next turn', async () => {
  const session = await client.chat()
  const mirror = await follow(session)
  const run = await client.start(session, '[[say:First.]] [[ask:ls]]')
  const stream = await client.run(run)
  await stream.named('approval')
  const busy = await client.post('/api/chat/start', { session_id: session, message: '[[say:Second.]]' })
  expect([busy.status, busy.body.code, busy.body.active_stream_id]).toEqual([409, 'session_busy', run])
  expect((await client.get('/api/sessions')).body.sessions.find((chat) => chat.session_id === session)).toMatchObject({ is_streaming: true, active_stream_id: run, agent_running: true, has_pending_user_message: false })
  await answer(session, { choice: 'once' })
  await stream.ended()
  const next = await client.start(session, '[[say:Second.]]')
  const second = await client.run(next)
  await second.ended()
  checkStream(second.frames, next)
  expect((await client.messages(session)).filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(['[[say:First.]] [[ask:ls]]', '[[say:Second.]]'])
  await same(session, mirror)
  mirror.stream.cut()
})

it('with auto-approve on, nothing is asked and everything runs; a question of the turn before it was turned on is answered by turning it on', async () => {
  const session = await client.chat()
  const mirror = await follow(session)
  const run = await client.start(session, '[[ask:make]] [[ask:make test]] [[say:Done.]]')
  const stream = await client.run(run)
  await stream.named('approval')
  expect((await client.post('/api/session/yolo', { session_id: session, enabled: true })).body.yolo_enabled).toBe(true)
  await stream.ended()
  checkStream(stream.frames, run)
  expect(stream.names().filter((name) => name === 'approval')).toHaveLength(1)
  expect(stream.frames.filter(({ event }) => event === 'tool_complete').map(({ data }) => data.is_error)).toEqual([false, false])
  expect((await client.get('/api/session/yolo', { session_id: session })).body.yolo_enabled).toBe(true)
  await same(session, mirror)
  expect(mirror.value().session!.approvals).toBe('all')
  mirror.stream.cut()
})

it('stopped, failed, at its limit and silent: each has one end of its own, with the chat as it is then', async () => {
  const session = await client.chat()
  const mirror = await follow(session)
  const end = async (message: string, stop = false): Promise<Frame> => {
    const run = await client.start(session, message)
    const stream = await client.run(run)
    if (stop) {
      await stream.named('token')
      await client.get('/api/chat/cancel', { stream_id: run })
    }
    await stream.ended()
    checkStream(stream.frames, run)
    expect((await client.get('/api/chat/stream/status', { stream_id: run })).body).toMatchObject({ active: false, replay_available: true })
    return stream.frames.findLast(({ event }) => event !== 'stream_end')!
  }
  const stopped = await end('[[say:Kept.]] [[silence]]', true)
  expect(stopped).toMatchObject({ event: 'cancel', data: { type: 'cancelled', status: 'cancelled', session_id: session } })
  expect(stopped.data.session.messages.slice(-2)).toMatchObject([{ content: 'Kept.', _partial: true }, { _error: true, type: 'cancelled' }])
  expect(await end('[[error:quota_exhausted No credit left]]')).toMatchObject({ event: 'apperror', data: { type: 'quota_exhausted', details: 'No credit left', session_id: session } })
  expect(await end('[[nothing]]')).toMatchObject({ event: 'apperror', data: { type: 'no_response' } })
  expect(await end('[[limit:I stop here.]]')).toMatchObject({ event: 'done', data: { terminal_state: 'tool_limit_reached' } })
  expect(await end('[[crash]]')).toMatchObject({ event: 'apperror' })
  await same(session, mirror)
  mirror.stream.cut()
})
