import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { readJson } from '../../server/http/body'
import { OriginalClient } from '../support/original-client'
import type { EventStream } from '../support/original-client'
import { Puppet } from '../support/puppet'
import { startServer, type TestServer } from '../support/server'
import { eventually } from './api'

const SECRET = 'correct-horse-battery-7731'
let server: TestServer
let puppet: Puppet
let client: OriginalClient
let session: string
/** Everything that any client was told, by any way. */
const told: string[] = []
const streams: EventStream[] = []
beforeAll(async () => {
  puppet = new Puppet()
  server = await startServer({ agents: { scripted: puppet } })
  client = new OriginalClient(server.port)
  streams.push(await client.open('/api/sessions/events'), await client.open('/api/events'))
})
beforeEach(async () => {
  puppet.onGive = async () => ({ state: 'delivered' })
  session = await client.chat()
  const before = puppet.turns.length
  const run = await client.start(session, 'Go on')
  await eventually('the turn', () => puppet.turns.length > before)
  streams.push(await client.run(run), await client.open('/api/events', { session_id: session }), await client.open('/api/session/stream', { session_id: session }))
})
afterAll(async () => {
  if (!puppet.turn.over) puppet.turn.end({ outcome: 'completed' })
  await eventually('the end', async () => (await client.get('/api/session/status', { session_id: session })).body.agent_running === false)
  told.push((await client.get('/api/session', { session_id: session })).text, (await client.get('/api/session/changes', { session_id: session })).text, (await client.get('/health', { deep: '1' })).text)
  told.push(...streams.map((stream) => JSON.stringify(stream.frames)), ...server.errors.map((error) => (error instanceof Error ? `${error.message} ${error.stack}` : String(error))))
  // What was looked through had it in it, if it was anywhere.
  expect(told.join('\n')).toContain('"secret.answered"')
  expect(told.join('\n')).not.toContain(SECRET)
  await server.end(true)
  for (const file of filesIn(server.folder)) expect([file, readFileSync(file).includes(SECRET)]).toEqual([file, false])
})

function filesIn(folder: string): string[] {
  return readdirSync(folder).map((name) => join(folder, name)).flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]))
}
async function asked(kind: 'sudo' | 'secret' = 'secret'): Promise<string> {
  puppet.turn.emit({ type: 'secret.raised', question: `s${puppet.turns.length}`, request: { kind, prompt: 'The token of the registry', ...(kind === 'secret' ? { env: 'TOKEN' } : {}) } })
  const pending = await client.pending('secret', session)
  expect(pending).toMatchObject({ session_id: session, kind, prompt: 'The token of the registry', env_name: kind === 'secret' ? 'TOKEN' : null, timeout_seconds: null, expires_at: null, pending_count: 1 })
  return pending.secret_id
}
async function respond(body: Record<string, unknown>, from = client) {
  const answer = await from.post('/api/secret/respond', { session_id: session, ...body })
  told.push(answer.text, JSON.stringify(answer.headers))
  return answer
}

it('reaches the agent as it was typed, and is found nowhere afterwards', async () => {
  const id = await asked()
  expect((await respond({ secret_id: id, value: SECRET })).body).toEqual({ ok: true, given: true })
  expect(puppet.turn.given).toEqual([{ question: `s${puppet.turns.length}`, value: SECRET }])
  puppet.turn.given = []
  expect((await client.get('/api/secret/pending', { session_id: session })).body).toEqual({ pending: null, pending_count: 0 })
})

it('may be refused', async () => {
  const id = await asked('sudo')
  expect((await respond({ secret_id: id, cancel: true })).body).toEqual({ ok: true, given: false })
  expect(puppet.turn.given).toMatchObject([{ value: null }])
})

it('leaves no receipt: with a key the same request again is an answer to something that is over', async () => {
  const id = await asked()
  const keyed = new OriginalClient(server.port, { 'Idempotency-Key': 'k-secret' })
  expect((await respond({ secret_id: id, value: SECRET, key: 'k-secret' }, keyed)).status).toBe(200)
  puppet.turn.given = []
  const again = await respond({ secret_id: id, value: SECRET, key: 'k-secret' }, keyed)
  expect([again.status, again.body.code]).toEqual([409, 'question_gone'])
  expect(puppet.turn.given).toEqual([])
})

it('stands in no word of a refusal', async () => {
  const id = await asked()
  for (const body of [{ secret_id: id }, { secret_id: id, value: '' }, { secret_id: id, value: { nested: SECRET } }, { secret_id: id, value: [SECRET] }, { value: SECRET }, { secret_id: id, value: SECRET, cancel: SECRET }])
    expect([JSON.stringify(body), (await respond(body)).status]).toEqual([JSON.stringify(body), 400])
  const unknown = await respond({ secret_id: 'sec_unknown', value: SECRET })
  expect([unknown.status, unknown.body.code]).toEqual([404, 'question_not_found'])
  const other = await client.post('/api/secret/respond', { session_id: 'ses_unknown', secret_id: id, value: SECRET })
  told.push(other.text)
  expect(other.status).toBe(404)
  for (const body of [`{"session_id":"${session}","secret_id":"${id}","value":"${SECRET}"`, `["${SECRET}"]`, `"${SECRET}"`]) {
    const broken = await fetch(`${server.url}/api/secret/respond`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
    told.push(await broken.text())
    expect([body, broken.status]).toEqual([body, 400])
  }
  expect(puppet.turn.given).toEqual([])
})

it.each([
  ['says it in its refusal', async (_: string, value: string | null) => ({ state: 'refused' as const, code: 'relay_failed' as const, words: `cannot use ${value}` })],
  ['throws it', async (_: string, value: string | null) => { throw new Error(`bad secret ${value}`) }],
])('is told to nobody by an agent that %s: a 502, and it is asked again', async (_, onGive) => {
  const id = await asked()
  puppet.onGive = onGive
  const failed = await respond({ secret_id: id, value: SECRET })
  expect([failed.status, failed.body.code]).toEqual([502, 'relay_failed'])
  const again = await client.pending('secret', session)
  expect(again.secret_id).not.toBe(id)
  puppet.turn.given = []
})

it('whose request meets something nobody foresaw is told by the kind of error alone', async () => {
  const id = await asked()
  const give = server.composition.runs.give
  server.composition.runs.give = (_, { value }) => Promise.reject(new TypeError(`no ${value}`))
  const failed = await respond({ secret_id: id, value: SECRET })
  server.composition.runs.give = give
  expect([failed.status, failed.body.code]).toEqual([500, 'internal'])
  expect(server.errors.splice(0).map(String)).toEqual(['Error: A secret could not be handed on (TypeError)'])
})

it('leaves no byte in the buffers it came in', async () => {
  const body = Buffer.from(JSON.stringify({ value: SECRET }))
  const pieces = [Buffer.from(body.subarray(0, 15)), Buffer.from(body.subarray(15))]
  const request = Readable.from(pieces, { objectMode: true }) as unknown as IncomingMessage
  expect(await readJson(request, {} as ServerResponse, { wipe: true })).toEqual({ value: SECRET })
  for (const piece of pieces) expect(piece.every((byte) => byte === 0)).toBe(true)
})
