import { afterAll, beforeAll, expect, it } from 'vitest'
import { says, startFakeModel, stream, type FakeModel } from '../support/fake-model'
import { startServer, type TestServer } from '../support/server'
import { call, newChat, say, settled } from './api'

// `replace_from` of POST /api/chat/start: a message in the place of an earlier one, in one transaction.
let server: TestServer
let model: FakeModel
beforeAll(async () => {
  model = await startFakeModel()
  server = await startServer()
})
afterAll(async () => {
  expect(server.errors).toEqual([])
  await server.end()
  await model.close()
})

const shown = async (session: string) => (await call(server, 'GET /api/session/changes', { session_id: session })).body.rows.map(({ kind, text }) => `${kind} ${text}`)
const rowOf = async (session: string, text: string) => (await call(server, 'GET /api/session/changes', { session_id: session })).body.rows.find((row) => row.text === text)!.id
const exchange = async (session: string, message: string) => settled(server, await say(server, session, message))

it('takes the message and all behind it away and sends the new one, in one revision, that every reader hears of', async () => {
  const session = await newChat(server)
  await exchange(session, '[[say:one]]')
  await exchange(session, '[[say:two]]')
  const { cursor } = (await call(server, 'GET /api/session/changes', { session_id: session })).body
  const row = await rowOf(session, '[[say:two]]')
  const body = { session_id: session, message: '[[say:better]]', replace_from: row, key: 'edit-1' }
  const started = await call(server, 'POST /api/chat/start', body)
  expect(started.status).toBe(200)
  await settled(server, started.body.stream_id)
  expect(await shown(session)).toEqual(['user [[say:one]]', 'answer one', 'user [[say:better]]', 'answer better'])
  const { retracted } = (await call(server, 'GET /api/session/changes', { session_id: session, after: cursor })).body
  expect(retracted).toContain(row)
  expect(retracted).toHaveLength(3)
  const events = await server.store.events(session, { afterSeq: 0, limit: 1000 })
  const at = events.findIndex(({ type }) => type === 'rows.retracted')
  expect(events.slice(at, at + 3).map(({ type }) => type)).toEqual(['rows.retracted', 'turn.admitted', 'run.started'])
  expect(events[at]).toMatchObject({ why: 'edit', counted: 2 })
  // The same request is the same turn, and another with the key is not.
  expect((await call(server, 'POST /api/chat/start', body)).body).toEqual(started.body)
  expect(await call(server, 'POST /api/chat/start', { ...body, message: 'other' })).toMatchObject({ status: 409, problem: { code: 'key_reused' } })
  expect((await call(server, 'GET /api/session', { session_id: session })).body.session.messages.map(({ content }) => content)).toEqual(['[[say:one]]', 'one', '[[say:better]]', 'better'])
})

it('is refused, with nothing changed, for a row that is gone, an answer, a chat that works, and beside a retry', async () => {
  const session = await newChat(server)
  await exchange(session, '[[say:one]]')
  const [asked, answer] = [await rowOf(session, '[[say:one]]'), await rowOf(session, 'one')]
  const head = await server.store.head()
  const refused = async (more: Record<string, unknown>, status: number, code: string) =>
    expect(await call(server, 'POST /api/chat/start', { session_id: session, message: 'x', ...more } as never)).toMatchObject({ status, problem: { code } })
  await refused({ replace_from: 'row_nowhere' }, 409, 'nothing_to_edit')
  await refused({ replace_from: answer }, 409, 'nothing_to_edit')
  await refused({ replace_from: asked, message: ' ' }, 400, 'message_required')
  await refused({ replace_from: asked, message: undefined, retry: 'trn_x' }, 400, 'bad_request')
  expect(await server.store.head()).toBe(head)
  const run = await say(server, session, '[[silence]]')
  await refused({ replace_from: asked }, 409, 'session_busy')
  await call(server, 'GET /api/chat/cancel', { stream_id: run })
  await settled(server, run)
})

it('what the built-in agent is told next holds nothing of what was edited away', async () => {
  const kept = await call(server, 'POST /api/onboarding/setup', { base_url: model.base, api_key: 'a-key-of-the-tests', model: 'fake-model' })
  expect(kept.status).toBe(200)
  const chosen = { model: 'fake-model', model_provider: kept.body.default.provider }
  const made = await call(server, 'POST /api/session/new', { ...chosen, agent: 'embedded' })
  const session = made.body.session.session_id
  const tell = async (message: string, answer: string, more: { replace_from?: string } = {}) => {
    model.next(stream(...says(answer)))
    const started = await call(server, 'POST /api/chat/start', { session_id: session, message, ...chosen, ...more })
    expect(started.problem.code).toBeUndefined()
    await settled(server, started.body.stream_id)
    return JSON.stringify(model.requests.at(-1)!.body.messages)
  }
  await tell('Kept question', 'Kept answer')
  await tell('Gone question', 'Gone answer')
  const seen = await tell('Better question', 'Better answer', { replace_from: await rowOf(session, 'Gone question') })
  expect(seen).toContain('Kept answer')
  expect(seen).toContain('Better question')
  expect(seen).not.toContain('Gone')
})
