import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fixedChoice } from '../../server/agents/choice'
import type { ModelsStatus } from '../../server/contract/models'
import type { Row } from '../../server/contract/rows'
import type { Changes } from '../../server/contract/wire'
import { calls, delta, event, type FakeModel, says, startFakeModel, stream } from '../support/fake-model'
import { startServer, type TestServer } from '../support/server'
import { freshFolder } from '../support/store-thread'
import { SECRET } from './embedded-rig'

/** The embedded agent behind real routes, runs and store, with the model of a Hermes Agent configuration. */
describe('a chat of the embedded agent through the server', () => {
  let fake: FakeModel
  let server: TestServer
  let folder: string
  const parts = { parts: { choice: fixedChoice('embedded') } }

  beforeEach(async () => {
    fake = await startFakeModel()
    folder = realpathSync(freshFolder('embedded'))
    mkdirSync(join(folder, 'home'))
    writeFileSync(join(folder, 'home', 'config.yaml'), `model: {default: fake-model, provider: custom, base_url: "${fake.base}", api_key: "\${K}"}\n`)
    writeFileSync(join(folder, 'home', '.env'), `K=${SECRET}\n`)
    server = await startServer({ folder, ...parts })
  })
  afterEach(async () => {
    await server.end()
    await fake.close()
    expect(server.errors).toEqual([])
  })

  const get = async <T>(path: string): Promise<T> => (await (await fetch(server.url + path)).json()) as T
  const post = async <T>(path: string, body: unknown): Promise<T> => (await (await fetch(server.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json()) as T
  const chat = async (): Promise<string> => (await post<{ session: { session_id: string } }>('/api/session/new', {})).session.session_id
  const changes = (session: string): Promise<Changes> => get<Changes>(`/api/session/changes?session_id=${session}`)
  const until = async <T>(look: () => Promise<T | null | undefined | false>): Promise<T> => {
    for (const end = Date.now() + 15_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10))) {
      const found = await look()
      if (found) return found
    }
    throw new Error('the condition did not come true in time')
  }
  /** Sends, and waits until the turn's last run has settled and the chat is free. */
  const send = async (session: string, body: Record<string, unknown>) => {
    const { stream_id, ...rest } = await post<{ stream_id: string; error?: string }>('/api/chat/start', { session_id: session, ...body })
    expect(rest.error).toBeUndefined()
    return await until(async () => (await changes(session)).turns.flatMap((turn) => turn.runs).find((run) => run.id === stream_id && run.state === 'settled'))
  }
  const rowsOf = async (session: string): Promise<Row[]> => (await changes(session)).rows

  it('finds the configured model connected, reads, asks, runs, answers, and goes on after a restart with the same context', async () => {
    const status = await get<ModelsStatus>('/api/onboarding/status')
    expect(status).toMatchObject({ completed: true, default: { provider: 'custom', id: 'fake-model' }, hermes: { state: 'ready' } })
    expect(JSON.stringify(status)).not.toContain(SECRET)

    const session = await chat()
    fake.next(
      stream(delta({ reasoning_content: 'I will ' }), delta({ reasoning_content: 'look.' }), ...calls({ id: 'c1', name: 'shell', args: { command: 'echo made > made.txt && cat made.txt' } })),
      stream(...says('It is ', 'made.')),
    )
    const settled = send(session, { message: 'make it' })
    const { pending } = await until(async () => {
      const found = await get<{ pending: { approval_id: string; command: string } | null }>(`/api/approval/pending?session_id=${session}`)
      return found.pending && { pending: found.pending }
    })
    expect(pending.command).toBe('echo made > made.txt && cat made.txt')
    await post('/api/approval/respond', { session_id: session, approval_id: pending.approval_id, choice: 'once' })
    expect(await settled).toMatchObject({ outcome: 'completed', agent: { kind: 'embedded' }, model: { provider: 'custom', id: 'fake-model' } })
    expect((await rowsOf(session)).map((row) => [row.kind, row.state, row.kind === 'tool' ? row.tool.output : row.text])).toEqual([
      ['user', 'done', 'make it'], ['thought', 'done', 'I will look.'], ['tool', 'done', 'made\n'], ['answer', 'done', 'It is made.'],
    ])
    expect(await server.store.processes()).toEqual([])

    await server.end(true)
    server = await startServer({ folder, ...parts })
    fake.next(stream(...says('Yes.')))
    expect(await send(session, { message: 'sure?' })).toMatchObject({ outcome: 'completed' })
    expect(fake.asked().at(-1)!.messages).toEqual([
      expect.objectContaining({ role: 'system' }),
      { role: 'user', content: 'make it' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'shell', arguments: '{"command":"echo made > made.txt && cat made.txt"}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'Exit code 0.\nmade\n' },
      { role: 'assistant', content: 'It is made.' },
      { role: 'user', content: 'sure?' },
    ])
  })

  it('a model that does not exist fails in the provider’s words; another model answers the same message, which stands once', async () => {
    const session = await chat()
    fake.next({ status: 404, pieces: ['{"error":{"message":"model \\"fake-model\\" not found"}}'] })
    const run = await send(session, { message: 'hello' })
    expect(run).toMatchObject({ outcome: 'failed', problem: { code: 'model_not_found', words: 'model "fake-model" not found', status: 404 } })
    fake.next(stream(...says('Hello.')))
    expect(await send(session, { retry: run.turn, model: 'fake-other', model_provider: 'custom' })).toMatchObject({ outcome: 'completed', model: { id: 'fake-other' } })
    expect((await rowsOf(session)).map((row) => [row.kind, row.text])).toEqual([['user', 'hello'], ['answer', 'Hello.']])
    expect(fake.asked()[1]).toMatchObject({ model: 'fake-other', messages: [{ role: 'system' }, { role: 'user', content: 'hello' }] })
  })

  it('a retry after a turn that used tools leaves nothing of it in what the model receives', async () => {
    const session = await chat()
    fake.next(stream(delta({ content: 'Looking.' }), ...calls({ id: 'c1', name: 'list', args: {} })), { pieces: [event(delta({ content: 'Half of' })), 'RESET'] })
    const run = await send(session, { message: 'what is here?' })
    expect(run).toMatchObject({ outcome: 'failed', problem: { code: 'provider_unreachable' } })
    expect((await rowsOf(session)).map((row) => row.kind)).toEqual(['user', 'answer', 'tool', 'answer'])
    fake.next(stream(...says('Nothing.')))
    expect(await send(session, { retry: run.turn })).toMatchObject({ outcome: 'completed' })
    fake.next(stream(...says('Really.')))
    await send(session, { message: 'really?' })
    expect(fake.asked().at(-1)!.messages).toEqual([expect.anything(), { role: 'user', content: 'what is here?' }, { role: 'assistant', content: 'Nothing.' }, { role: 'user', content: 'really?' }])
  })

  it('what a tool answered in a failed attempt is never taken for the answer of a call with the same id in the next one', async () => {
    const session = await chat()
    const look = stream(...calls({ id: 'call_0', name: 'read', args: { path: 'note.txt' } }))
    mkdirSync(join(server.work, 'default'), { recursive: true })
    writeFileSync(join(server.work, 'default', 'note.txt'), 'stale words\n')
    fake.next(look, { pieces: ['RESET'] })
    const run = await send(session, { message: 'what does it say?' })
    expect(run).toMatchObject({ outcome: 'failed' })
    writeFileSync(join(server.work, 'default', 'note.txt'), 'fresh words\n')
    fake.next(look, stream(...says('It says it.')))
    expect(await send(session, { retry: run.turn })).toMatchObject({ outcome: 'completed' })
    fake.next(stream(...says('Sure.')))
    await send(session, { message: 'sure?' })
    const given = JSON.stringify(fake.asked().at(-1)!.messages)
    expect(given).toContain('1\\tfresh words')
    expect(given).not.toContain('stale')
  })

  it('a refused key fails as one, and no key is in anything that clients can read', async () => {
    const session = await chat()
    fake.next({ status: 401, pieces: [`{"error":{"message":"Incorrect API key provided: ${SECRET}"}}`] })
    expect(await send(session, { message: 'hello' })).toMatchObject({ outcome: 'failed', problem: { code: 'auth_mismatch', words: 'Incorrect API key provided: [key]' } })
    for (const path of [`/api/session?session_id=${session}&messages=1`, `/api/session/changes?session_id=${session}`, '/api/providers', '/api/models', '/health?deep=1'])
      expect(await (await fetch(server.url + path)).text(), path).not.toContain(SECRET)
  })
})
