import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fixedChoice } from '../../server/agents/choice'
import type { FullSession } from '../../server/contract/routes'
import { says, startFakeModel, stream, type FakeModel } from '../support/fake-model'
import { startServer, type TestServer } from '../support/server'
import { call, newChat, say, settled } from './api'
import { openSse } from './sse'

// The way from nothing connected to an answer of a real model server, by HTTP alone.
const KEY = 'sk-wire-0123456789abcdef'
let server: TestServer
let model: FakeModel
beforeAll(async () => {
  model = await startFakeModel()
  server = await startServer({ parts: { choice: fixedChoice('embedded') } })
})
afterAll(async () => {
  expect(server.errors.map(String)).toEqual([])
  await server.end()
  await model.close()
})

/** Everything that any answer said since the start; no key may be in it. */
const said: string[] = []
async function told<N extends Parameters<typeof call>[1]>(name: N, input: Parameters<typeof call<N>>[2]) {
  const answer = await call(server, name, input)
  said.push(JSON.stringify(answer.body))
  return answer
}

async function answerOf(message: string, more: Record<string, unknown> = {}): Promise<{ session: string; run: string; last: Record<string, unknown> }> {
  const session = await newChat(server)
  const started = await told('POST /api/chat/start', { session_id: session, message, ...more })
  const run = started.body.stream_id
  const reader = await openSse(`${server.url}/api/chat/stream?stream_id=${run}`)
  await reader.ended()
  said.push(JSON.stringify(reader.events))
  return { session, run, last: reader.events.findLast((each) => each.event !== 'stream_end')!.data }
}

it('says that nothing is connected, and refuses a send before it is admitted', async () => {
  expect((await told('GET /api/onboarding/status', {})).body).toMatchObject({ completed: false, default: null, connections: [{ id: 'scripted' }], default_workspace: expect.stringMatching(/default$/) })
  const session = await newChat(server)
  const before = await server.store.head()
  expect(await told('POST /api/chat/start', { session_id: session, message: 'Hello?' })).toMatchObject({ status: 409, problem: { code: 'no_model' } })
  expect(await server.store.head()).toBe(before)
})

it('tries an address without keeping it, refuses input that is none, and tells why a server does not answer', async () => {
  expect((await told('POST /api/onboarding/probe', { base_url: model.base, api_key: KEY })).body).toMatchObject({ ok: true, kind: 'openai', listed: true, models: [{ id: 'fake-model' }, { id: 'fake-other' }] })
  expect((await told('GET /api/onboarding/status', {})).body).toMatchObject({ completed: false })
  expect((await told('POST /api/onboarding/probe', { base_url: 'http://127.0.0.1:1/v1' })).body).toMatchObject({ ok: false })
  expect(await told('POST /api/onboarding/setup', { base_url: 'not an address', model: 'x' })).toMatchObject({ status: 400, problem: { code: 'connection_invalid' } })
  expect(await told('POST /api/onboarding/setup', { base_url: model.base, model: '' })).toMatchObject({ status: 400 })
})

it('keeps a connection with its key closed away, and its model answers new chats', async () => {
  const kept = await told('POST /api/onboarding/setup', { base_url: model.base, api_key: KEY, model: 'fake-model' })
  expect(kept.body).toMatchObject({ ok: true, connection: { has_key: true, state: 'ready', removable: true }, default: { id: 'fake-model' } })
  const file = join(server.folder, 'state', 'talaria', 'connections.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).toContain(KEY)

  expect((await told('GET /api/onboarding/status', {})).body).toMatchObject({ completed: true, default: kept.body.default, default_source: 'page' })
  expect((await told('GET /api/providers', {})).body).toMatchObject({ active_provider: kept.body.default.provider })
  const { body: offers } = await told('GET /api/models', {})
  expect(offers).toMatchObject({ active_provider: kept.body.default.provider, default_model: 'fake-model' })
  expect(offers.groups.find((group) => group.provider_id === kept.body.default.provider)!.models.map((each) => each.id)).toEqual(['fake-model', 'fake-other'])

  model.next(stream(...says('From a ', 'model.')))
  const { session, last } = await answerOf('Hello!')
  expect((last.session as FullSession).messages.at(-1)).toMatchObject({ role: 'assistant', content: 'From a model.' })
  expect(model.requests.at(-1)!.headers.authorization).toBe(`Bearer ${KEY}`)
  expect((await told('GET /health', {})).body.agents.find((agent) => agent.kind === 'embedded')).toMatchObject({ state: 'ready', model: kept.body.default })
  expect((await told('GET /api/session/status', { session_id: session })).body.agent).toMatchObject({ kind: 'embedded' })
})

it('a model that does not exist settles as failed in the provider’s own words; another one is chosen and the turn tried again', async () => {
  model.next({ status: 404, headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify({ error: { message: 'The model `no-such` does not exist', code: 'model_not_found' } })] })
  const provider = (await told('GET /api/onboarding/status', {})).body.default!.provider
  const { session, last } = await answerOf('Hello?', { model: 'no-such', model_provider: provider })
  expect(last).toMatchObject({ type: 'model_not_found', details: expect.stringContaining('The model `no-such` does not exist') as string })

  const turn = (await told('GET /api/session/changes', { session_id: session })).body.turns[0]!
  model.next(stream(...says('Now it works.')))
  const again = await told('POST /api/chat/start', { session_id: session, retry: turn.id, model: 'fake-other', model_provider: provider, key: 'again' })
  expect(again.body).toMatchObject({ turn_id: turn.id, effective_model: 'fake-other' })
  await settled(server, again.body.stream_id)
  const { body } = await told('GET /api/session/changes', { session_id: session })
  expect(body.rows.map((row) => [row.kind, row.text])).toEqual([['user', 'Hello?'], ['answer', 'Now it works.']])
  expect(body.turns[0]!.runs.map((run) => run.outcome)).toEqual(['failed', 'completed'])
  expect(await told('POST /api/chat/start', { session_id: session, message: 'x', model: 'm', model_provider: 'nobody' })).toMatchObject({ status: 400, problem: { code: 'model_unknown' } })
})

it('is removed again, which changes no receipt; what Hermes or the script gives cannot be', async () => {
  const provider = (await told('GET /api/providers', {})).body.active_provider!
  model.next(stream(...says('Once.')))
  const chat = { title: 'Made once', key: 'new-1' }
  const made = await told('POST /api/session/new', chat)
  const turn = { session_id: made.body.session.session_id, message: 'Hello!', model: 'fake-model', model_provider: provider, key: 'turn-1' }
  const started = await told('POST /api/chat/start', turn)
  await settled(server, started.body.stream_id)
  expect((await told('POST /api/providers/delete', { provider })).body).toEqual({ ok: true, provider })
  expect(await told('POST /api/chat/start', turn)).toMatchObject({ status: 200, body: started.body })
  expect((await told('POST /api/session/new', chat)).body.session.session_id).toBe(turn.session_id)
  expect((await told('GET /api/onboarding/status', {})).body).toMatchObject({ completed: false })
  expect(await told('POST /api/providers/delete', { provider })).toMatchObject({ status: 404, problem: { code: 'not_found' } })
  expect(await told('POST /api/providers/delete', { provider: 'scripted' })).toMatchObject({ status: 400, problem: { code: 'connection_invalid' } })
})

it('Try it: the script becomes the default, and new chats are answered by it', async () => {
  const chat = { title: 'Made before', key: 'new-2' }
  const before = await told('POST /api/session/new', chat)
  expect((await told('POST /api/onboarding/setup', { provider: 'scripted', model: 'scripted' })).body).toMatchObject({ ok: true, default: { provider: 'scripted' } })
  expect((await told('POST /api/session/new', chat)).body.session.session_id).toBe(before.body.session.session_id)
  const session = await newChat(server)
  await settled(server, await say(server, session, '[[say:hi]]'))
  expect((await told('GET /api/session/status', { session_id: session })).body.agent).toMatchObject({ kind: 'scripted' })
})

it('never told anybody the key', () => {
  expect(said.length).toBeGreaterThan(15)
  expect(said.join('')).not.toContain(KEY)
})
