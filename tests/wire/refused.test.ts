import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Problem, ProblemCode } from '../../server/contract/problems'
import { startServer, type TestServer } from '../support/server'
import { freshFolder, openTestStore } from '../support/store-thread'
import { call, newChat, say, settled } from './api'

// What is refused before admission answers with a code, and changes nothing: no event, no list entry, no receipt.
let server: TestServer
let session: string
beforeAll(async () => {
  server = await startServer()
  session = await newChat(server)
})
afterAll(async () => {
  expect(server.errors).toEqual([])
  await server.end()
})

async function post(path: string, body: string, headers: Record<string, string> = {}): Promise<{ status: number; problem: Problem }> {
  const answer = await fetch(server.url + path, { method: 'POST', body, headers })
  return { status: answer.status, problem: (await answer.json()) as Problem }
}

const start = (body: Record<string, unknown>, headers?: Record<string, string>) => post('/api/chat/start', JSON.stringify({ session_id: session, ...body }), headers)

/** Runs `act`, expects the refusal, and that the store stands where it stood. */
async function refused(act: () => Promise<{ status: number; problem: Problem }>, status: number, code: ProblemCode): Promise<Problem> {
  const before = await server.store.head()
  const answer = await act()
  expect({ status: answer.status, code: answer.problem.code }).toEqual({ status, code })
  expect(answer.problem.error).not.toBe('')
  expect(answer.problem.error).not.toContain(server.folder)
  expect(await server.store.head()).toBe(before)
  return answer.problem
}

describe('a send that is refused', () => {
  it('to a chat that does not exist', () => refused(() => start({ session_id: 'ses_nothing', message: 'hi' }), 404, 'session_not_found'))
  it('without a chat', () => refused(() => post('/api/chat/start', JSON.stringify({ message: 'hi' })), 400, 'bad_request'))
  it('with an id that is no text', () => refused(() => start({ session_id: 7, message: 'hi' }), 400, 'bad_request'))
  it.each([[''], [' \n\t '], [undefined]])('with the text %j', async (message) => {
    await refused(() => start({ message }), 400, 'message_required')
  })
  it('with a body of 21 MiB', () => refused(() => start({ message: 'x'.repeat(21 * 1024 * 1024) }), 413, 'body_too_large'))
  it.each(['{"session_id":', '[]', '"text"', 'null'])('with the body %s', async (body) => {
    await refused(() => post('/api/chat/start', body), 400, 'invalid_json')
  })
  it('with bytes that are no text', async () => {
    await refused(async () => {
      const answer = await fetch(`${server.url}/api/chat/start`, { method: 'POST', body: Buffer.concat([Buffer.from(`{"session_id":"${session}","message":"`), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]) })
      return { status: answer.status, problem: (await answer.json()) as Problem }
    }, 400, 'invalid_json')
  })
  it('with a name of a model that is longer than any', async () => {
    for (const name of ['model', 'model_provider']) await refused(() => start({ message: 'hi', [name]: 'm'.repeat(301) }), 400, 'bad_request')
    await refused(() => post('/api/session/new', JSON.stringify({ model: 'm'.repeat(10_000) })), 400, 'bad_request')
  })
  it('with a body nested without end', () => refused(() => post('/api/chat/start', `{"session_id":"${session}","message":"hi","key":"deep","attachments":${'['.repeat(200_000)}${']'.repeat(200_000)}}`), 400, 'bad_request'))
  it('with a file that is not there', () => refused(() => start({ message: 'hi', attachments: [{ name: 'a.png' }] }), 409, 'attachment_gone'))
  it('of another profile', () => refused(() => start({ message: 'hi', profile: 'amber' }), 400, 'bad_request'))
  it('with a retry of a turn that does not exist', () => refused(() => start({ retry: 'trn_nothing' }), 409, 'nothing_to_retry'))
  it('with both a message and a retry', () => refused(() => start({ message: 'hi', retry: 'trn_nothing' }), 400, 'message_required'))
})

describe('a folder that is refused', () => {
  it('because it does not exist', () => refused(() => start({ message: 'hi', workspace: join(server.work, 'absent') }), 400, 'workspace_missing'))
  it('because it lies outside', () => refused(() => start({ message: 'hi', workspace: '/etc' }), 400, 'workspace_outside'))
  it('because it climbs out', () => refused(() => start({ message: 'hi', workspace: `${server.work}/../..` }), 400, 'workspace_outside'))
  it('because a link leads out', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'talaria-outside-'))
    symlinkSync(outside, join(server.work, 'link'))
    await refused(() => start({ message: 'hi', workspace: join(server.work, 'link') }), 400, 'workspace_outside')
    rmSync(outside, { recursive: true })
  })
  it('of a chat, because it is gone', async () => {
    const folder = join(server.work, 'gone')
    mkdirSync(folder)
    const made = await call(server, 'POST /api/session/new', { workspace: folder })
    rmSync(folder, { recursive: true })
    await refused(() => start({ session_id: made.body.session.session_id, message: 'hi' }), 400, 'workspace_missing')
  })
  it('for a new chat', () => refused(() => post('/api/session/new', JSON.stringify({ workspace: join(server.work, 'absent') })), 400, 'workspace_missing'))
})

describe('a key', () => {
  it('answers the same receipt for the same request, in the body or in the header, and starts one turn', async () => {
    const chat = await newChat(server)
    const first = await start({ session_id: chat, message: '[[say:once]]', key: 'k-1' })
    await settled(server, (first.problem as unknown as { stream_id: string }).stream_id)
    const before = await server.store.head()
    expect(await start({ session_id: chat, message: '[[say:once]]', key: 'k-1' })).toEqual(first)
    expect(await start({ session_id: chat, message: '[[say:once]]' }, { 'Idempotency-Key': 'k-1' })).toEqual(first)
    expect(await start({ message: '[[say:once]]', session_id: chat, key: 'k-1', nobody_knows: 1 })).toEqual(first)
    expect(await server.store.head()).toBe(before)
    await refused(() => start({ session_id: chat, message: '[[say:twice]]', key: 'k-1' }), 409, 'key_reused')
  })
  it('that differs in header and body', () => refused(() => start({ message: 'hi', key: 'a' }, { 'Idempotency-Key': 'b' }), 400, 'key_mismatch'))
  it('of a refused request is free again', async () => {
    const chat = await newChat(server)
    await refused(() => start({ session_id: chat, message: ' ', key: 'k-2' }), 400, 'message_required')
    expect((await start({ session_id: chat, message: '[[say:now]]', key: 'k-2' })).status).toBe(200)
  })
  it('makes one chat', async () => {
    const made = await post('/api/session/new', JSON.stringify({ key: 'n-1' }))
    const before = await server.store.head()
    const again = await post('/api/session/new', '{}', { 'Idempotency-Key': 'n-1' })
    expect(again).toEqual(made)
    expect(await server.store.head()).toBe(before)
  })
})

it('a second send while a turn runs is refused and names the run', async () => {
  const chat = await newChat(server)
  const run = await say(server, chat, '[[silence]]')
  expect((await refused(() => start({ session_id: chat, message: 'hi' }), 409, 'session_busy')).active_stream_id).toBe(run)
  await call(server, 'GET /api/chat/cancel', { stream_id: run })
  await settled(server, run)
})

it('a word that is no choice is refused, whether something is asked or not', () => refused(() => post('/api/approval/respond', JSON.stringify({ session_id: session, choice: 'perhaps' })), 400, 'invalid_choice'))
it('an answer without a choice is refused', () => refused(() => post('/api/approval/respond', JSON.stringify({ session_id: session })), 400, 'bad_request'))

it('a deleted chat is gone for everything', async () => {
  const chat = await newChat(server)
  expect((await call(server, 'POST /api/session/delete', { session_id: chat })).status).toBe(200)
  await refused(() => start({ session_id: chat, message: 'hi' }), 404, 'session_not_found')
  await refused(() => call(server, 'GET /api/session/changes', { session_id: chat }), 404, 'session_not_found')
  await refused(() => call(server, 'GET /api/session/status', { session_id: chat }), 404, 'session_not_found')
  await refused(() => call(server, 'POST /api/session/delete', { session_id: chat }), 404, 'session_not_found')
})

it('a full disk refuses with a code, keeps what there was, and takes sends again when there is room', async () => {
  const folder = freshFolder('full')
  const full = await startServer({ folder, store: await openTestStore({ folder: join(folder, 'state', 'talaria'), maxBytes: 600_000 }) })
  const chat = await newChat(full)
  const first = await say(full, chat, `[[say:kept]] ${'x'.repeat(1000)}`)
  await settled(full, first)
  const kept = await call(full, 'GET /api/session/changes', { session_id: chat })
  const big = await call(full, 'POST /api/chat/start', { session_id: chat, message: 'y'.repeat(1_000_000), key: 'full' })
  expect({ status: big.status, code: big.problem.code }).toEqual({ status: 507, code: 'store_full' })
  expect((await call(full, 'GET /api/session/changes', { session_id: chat })).body).toEqual(kept.body)
  await settled(full, await say(full, chat, '[[say:fits]]'))
  await full.end(true)

  const roomy = await startServer({ folder })
  expect((await call(roomy, 'POST /api/chat/start', { session_id: chat, message: `[[say:big]]${'y'.repeat(1_000_000)}`, key: 'full' })).status).toBe(200)
  await roomy.end()
})
