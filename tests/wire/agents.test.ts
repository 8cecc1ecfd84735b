import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { fixedChoice, makeChoice } from '../../server/agents/choice'
import type { Agent } from '../../server/agents/port'
import { makeScripted } from '../../server/agents/scripted'
import { systemTimers } from '../../server/runs/timers'
import type { AgentKind } from '../../server/contract/session'
import { DELEGATE, StandIn } from '../support/stand-in'
import { startServer, type TestServer } from '../support/server'
import { call, eventually, newChat, say, settled } from './api'
import { openSse } from './sse'

// Which agent answers in a chat, how the agents stand, and what a chat asks of its model, over HTTP alone.
let server: TestServer
let hermes: StandIn
afterEach(async () => {
  expect(server.errors.map(String)).toEqual([])
  await server.end()
})

/** A server with a stand-in for Hermes Agent, the script, and the real setting between them. */
async function start(options: { folder?: string; without?: AgentKind; missing?: StandIn['missing'] } = {}): Promise<void> {
  hermes = new StandIn()
  hermes.missing = options.missing ?? null
  const timers = systemTimers()
  const all: Partial<Record<AgentKind, Agent>> = { hermes, scripted: makeScripted({ timers, scale: 0 }), embedded: { ...makeScripted({ timers, scale: 0 }), kind: 'embedded' } }
  if (options.without) delete all[options.without]
  const made = await startServer({ agents: all, parts: { choice: { of: (profile) => choice().of(profile), choose: (profile, kind) => choice().choose(profile, kind) } }, ...(options.folder === undefined ? {} : { folder: options.folder }) })
  server = made
  let kept: ReturnType<typeof makeChoice> | undefined
  const choice = () => (kept ??= makeChoice({ folder: stateOf(made), agents: all, timers }))
}

const stateOf = (one: TestServer): string => join(one.folder, 'state', 'talaria')
const headOf = async (session: string) => (await call(server, 'GET /api/session/changes', { session_id: session })).body.session
const agentOf = async (session: string): Promise<string | undefined> => (await headOf(session)).agent?.kind
const lastRunOf = async (session: string) => (await call(server, 'GET /api/session/changes', { session_id: session })).body.turns.at(-1)!.runs.at(-1)!

/** Says something and waits for the end. */
async function talk(session: string, message = '[[say:Hello]]'): Promise<void> {
  await settled(server, await say(server, session, message))
}

describe('the agent of new chats', () => {
  it('is Hermes Agent where a usable one is found, and it is named with its version when it answers', async () => {
    await start()
    expect((await call(server, 'GET /api/agents', {})).body).toMatchObject({ chosen: 'hermes', chosen_by: 'default', agents: [{ kind: 'hermes', chosen: true }, { chosen: false }, { chosen: false }] })
    const session = await newChat(server)
    expect((await headOf(session)).agent).toBeNull()
    await talk(session)
    expect((await headOf(session)).agent).toEqual({ kind: 'hermes', name: 'Hermes Agent', version: '0.19.1' })
  })

  it('is the built-in one where none is found', async () => {
    await start({ missing: { fault: 'not_installed' } })
    expect((await call(server, 'GET /api/agents', {})).body).toMatchObject({ chosen: 'embedded', chosen_by: 'default' })
    const session = await newChat(server)
    await talk(session)
    expect(hermes.openings).toEqual([])
  })

  it('is what a person chose, also after a restart, in a file that only this account reads; null gives it back to the default', async () => {
    await start()
    expect((await call(server, 'POST /api/agents/choose', { kind: 'embedded' })).body).toMatchObject({ chosen: 'embedded', chosen_by: 'person' })
    const file = join(stateOf(server), 'agents.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ version: 1, profiles: { default: 'embedded' } })
    const { folder } = server
    await server.end(true)
    await start({ folder })
    expect((await call(server, 'GET /api/agents', {})).body).toMatchObject({ chosen: 'embedded', chosen_by: 'person' })
    expect((await call(server, 'POST /api/agents/choose', { kind: null })).body).toMatchObject({ chosen: 'hermes', chosen_by: 'default' })
  })

  it('is the default where the file cannot be read, and a new choice makes it whole', async () => {
    await start()
    writeFileSync(join(stateOf(server), 'agents.json'), '{"version": 1, "profi')
    expect((await call(server, 'GET /api/agents', {})).body).toMatchObject({ chosen: 'hermes', chosen_by: 'default' })
    expect((await call(server, 'POST /api/agents/choose', { kind: 'scripted' })).body.chosen).toBe('scripted')
    expect(JSON.parse(readFileSync(join(stateOf(server), 'agents.json'), 'utf8'))).toMatchObject({ profiles: { default: 'scripted' } })
  })

  it('cannot be one that this server does not have, nor any other where the start has said which', async () => {
    await start()
    expect(await call(server, 'POST /api/agents/choose', { kind: 'acp' })).toMatchObject({ status: 409, problem: { code: 'agent_unavailable' } })
    await server.end()
    server = await startServer({ parts: { choice: fixedChoice('scripted') } })
    expect(await call(server, 'POST /api/agents/choose', { kind: 'embedded' })).toMatchObject({ status: 400, problem: { code: 'bad_request' } })
  })

  it('does not move a chat that has begun, only one that has not', async () => {
    await start()
    const [begun, fresh] = [await newChat(server), await newChat(server)]
    await talk(begun)
    await call(server, 'POST /api/agents/choose', { kind: 'scripted' })
    await talk(begun)
    await talk(fresh)
    expect([await agentOf(begun), await agentOf(fresh)]).toEqual(['hermes', 'scripted'])
    expect(hermes.inputs).toHaveLength(2)
  })

  it('is beaten by the one that a chat names', async () => {
    await start()
    const made = await call(server, 'POST /api/session/new', { agent: 'scripted' })
    await talk(made.body.session.session_id)
    expect(await agentOf(made.body.session.session_id)).toBe('scripted')
    await call(server, 'POST /api/agents/choose', { kind: 'scripted' })
    const own = await call(server, 'POST /api/session/new', { agent: 'hermes' })
    await talk(own.body.session.session_id)
    expect(await agentOf(own.body.session.session_id)).toBe('hermes')
  })
})

describe('a chat whose agent is not there', () => {
  it('is refused with its own code where this server has none of its kind, and keeps what it holds', async () => {
    await start()
    const session = await newChat(server)
    await talk(session)
    const { folder } = server
    await server.end(true)
    await start({ folder, without: 'hermes' })
    expect(await call(server, 'POST /api/chat/start', { session_id: session, message: 'Again' })).toMatchObject({ status: 409, problem: { code: 'agent_unavailable', error: expect.stringMatching(/hermes/), hint: expect.stringMatching(/new chat/) } })
    expect((await call(server, 'GET /api/session/changes', { session_id: session })).body.turns).toHaveLength(1)
    expect(await call(server, 'POST /api/session/new', { agent: 'hermes' })).toMatchObject({ status: 409, problem: { code: 'agent_unavailable' } })
  })

  it('settles as failed with words and a next step where its program is gone', async () => {
    await start()
    const session = await newChat(server)
    await talk(session)
    hermes.missing = { fault: 'not_installed', words: 'hermes is not on this machine any more.', hint: 'Install it: pip install hermes-agent' }
    await talk(session)
    expect(await lastRunOf(session)).toMatchObject({
      outcome: 'failed', agent: { kind: 'hermes', name: 'Hermes Agent' }, problem: { code: 'agent_unavailable', words: 'hermes is not on this machine any more.', hint: 'Install it: pip install hermes-agent' },
    })
    hermes.missing = null
    await talk(session)
    expect(await lastRunOf(session)).toMatchObject({ outcome: 'completed' })
  })
})

describe('how the agents stand', () => {
  it('is told with version, program and capabilities, and the same in health', async () => {
    await start()
    const before = (await call(server, 'GET /api/agents', {})).body.agents[0]!
    expect(before).toMatchObject({ name: 'Hermes Agent', version: '0.19.1', profile: 'default', state: 'idle', path: '/opt/hermes/bin/hermes', restarts: 0 })
    expect(before.capabilities).toContain('effort')
    await talk(await newChat(server))
    const after = (await call(server, 'GET /api/agents', {})).body.agents[0]!
    expect(after).toMatchObject({ state: 'ready', pid: 4711 })
    expect(after.started_at).toBeLessThanOrEqual(Date.now() / 1000)
    expect((await call(server, 'GET /health', {})).body.agents).toMatchObject([{ kind: 'hermes', name: 'Hermes Agent', state: 'ready', version: '0.19.1' }, { kind: 'scripted', state: 'ready' }, { kind: 'embedded' }])
  })

  it.each([
    ['starting', { state: 'starting' }],
    ['degraded', { state: 'degraded', words: 'It was started again for the third time.' }],
    ['failed', { state: 'failed', words: 'Address already in use' }],
  ] as const)('a program that is %s is told as that', async (state, program) => {
    await start()
    hermes.program = { ...hermes.program, ...program }
    const info = (await call(server, 'GET /api/agents', {})).body.agents[0]!
    expect(info).toMatchObject({ state, ...('words' in program ? { words: program.words } : {}) })
  })

  it('one that is missing says why, and what to do', async () => {
    await start({ missing: { fault: 'too_old', words: 'hermes 0.12.0', hint: 'pip install --upgrade hermes-agent' } })
    expect((await call(server, 'GET /api/agents', {})).body.agents[0]).toMatchObject({ name: 'Hermes Agent', state: 'unavailable', fault: 'too_old', words: 'hermes 0.12.0', hint: 'pip install --upgrade hermes-agent', capabilities: [] })
    expect((await call(server, 'GET /health', {})).body.agents[0]).toMatchObject({ state: 'unavailable', name: 'Hermes Agent', code: 'too_old' })
  })

  it('one that throws or is silent breaks nothing', async () => {
    await start()
    hermes.probe = () => Promise.reject(new Error('out of memory'))
    expect((await call(server, 'GET /api/agents', {})).body).toMatchObject({ chosen: 'embedded', agents: [{ state: 'unavailable', fault: 'no_answer', words: 'out of memory' }, {}, {}] })
  })

  it('its program is started again on request, which an agent without a program refuses', async () => {
    await start()
    expect((await call(server, 'POST /api/agents/restart', { kind: 'hermes' })).body.agents[0]).toMatchObject({ state: 'ready' })
    expect(hermes.restarted).toBe(1)
    expect(await call(server, 'POST /api/agents/restart', { kind: 'scripted' })).toMatchObject({ status: 400, problem: { code: 'bad_request' } })
    hermes.onRestart = () => Promise.reject(new Error('port in use'))
    expect(await call(server, 'POST /api/agents/restart', { kind: 'hermes' })).toMatchObject({ status: 409, problem: { code: 'agent_unavailable', words: 'port in use' } })
  })

  it('its log is told as text, at most the last 64 kB', async () => {
    await start()
    hermes.program.log = `first${'x'.repeat(70_000)}last`
    const { log } = (await call(server, 'GET /api/agents/log', { kind: 'hermes' })).body
    expect(log).toHaveLength(65_536)
    expect(log.endsWith('last')).toBe(true)
    expect((await call(server, 'GET /api/agents/log', { kind: 'scripted' })).body).toEqual({ kind: 'scripted', log: '' })
  })
})

describe('model and effort of a chat', () => {
  it('are offered from the list of its agent, ours from our connections', async () => {
    await start()
    const own = (await call(server, 'GET /api/models', {})).body
    expect(own).toMatchObject({ agent: { kind: 'hermes' }, active_provider: 'openrouter', default_model: 'hermes-4-70b', groups: [{ provider_id: 'openrouter', source: 'agent', models: [{ id: 'hermes-4-70b', efforts: ['none', 'low', 'medium', 'high'] }, { id: 'small' }] }] })
    expect((await call(server, 'GET /api/models', { agent: 'embedded' })).body).toMatchObject({ agent: { kind: 'embedded' }, groups: [{ provider_id: 'scripted' }] })
    hermes.models = () => Promise.reject(new Error('not now'))
    expect((await call(server, 'GET /api/models', {})).body).toMatchObject({ agent: { kind: 'hermes', unlisted: true }, groups: [] })
  })

  it('are kept with the chat and go to the agent with each turn until they are taken back', async () => {
    await start()
    const session = await newChat(server)
    await talk(session)
    await call(server, 'POST /api/session/update', { session_id: session, effort: 'high' })
    expect((await headOf(session)).effort).toBe('high')
    await talk(session)
    const started = await call(server, 'POST /api/chat/start', { session_id: session, message: '[[say:Less]]', effort: 'low' })
    await settled(server, started.body.stream_id)
    expect((await headOf(session)).effort).toBe('low')
    await call(server, 'POST /api/session/update', { session_id: session, effort: null })
    await talk(session)
    expect(hermes.inputs.map((input) => input.effort)).toEqual([undefined, 'high', 'low', undefined])
    expect(hermes.openings.map((opening) => opening.effort)).toEqual([undefined, 'high', 'low', undefined])
    expect(await headOf(session)).not.toHaveProperty('effort')
  })

  it('bind a new chat that names them to the agent whose they are', async () => {
    await start()
    const made = await call(server, 'POST /api/session/new', { model: 'small', model_provider: 'openrouter' })
    const hard = await call(server, 'POST /api/session/new', { effort: 'high' })
    await call(server, 'POST /api/agents/choose', { kind: 'scripted' })
    for (const one of [made, hard]) await talk(one.body.session.session_id)
    expect(await headOf(made.body.session.session_id)).toMatchObject({ agent: { kind: 'hermes' }, model: { provider: 'openrouter', id: 'small' } })
    expect(await headOf(hard.body.session.session_id)).toMatchObject({ agent: { kind: 'hermes' }, effort: 'high' })
  })

  it('are refused where the agent does not offer them, before anything is written', async () => {
    await start()
    const session = await newChat(server)
    const before = await server.store.head()
    const refused = [
      ...(await Promise.all(['extreme', 'x'.repeat(41)].map((effort) => call(server, 'POST /api/session/update', { session_id: session, effort })))),
      await call(server, 'POST /api/chat/start', { session_id: session, message: 'Hello', effort: 'extreme' }),
      await call(server, 'POST /api/chat/start', { session_id: session, message: 'Hello', model: 'small', model_provider: 'openrouter', effort: 'high' }),
      await call(server, 'POST /api/session/update', { session_id: session, model: 'gpt', model_provider: 'elsewhere' }),
    ]
    expect(refused.map(({ status, problem }) => [status, problem.code])).toEqual([...Array<unknown>(4).fill([400, 'bad_request']), [400, 'model_unknown']])
    expect(await server.store.head()).toBe(before)
  })

  it('another model that cannot be told how hard to think takes the effort back', async () => {
    await start()
    const session = await newChat(server)
    await call(server, 'POST /api/session/update', { session_id: session, effort: 'high' })
    await call(server, 'POST /api/session/update', { session_id: session, model: 'small', model_provider: 'openrouter' })
    const head = await headOf(session)
    expect(head).toMatchObject({ model: { id: 'small' } })
    expect(head).not.toHaveProperty('effort')
  })

  it('the first screen is not needed where an agent with models of its own answers', async () => {
    await start()
    expect((await call(server, 'GET /api/onboarding/status', {})).body).toMatchObject({ completed: true, default: null, agent: { kind: 'hermes', ready: true, version: '0.19.1', model: { id: 'hermes-4-70b' } } })
    await call(server, 'POST /api/agents/choose', { kind: 'embedded' })
    expect((await call(server, 'GET /api/onboarding/status', {})).body).toMatchObject({ completed: false, agent: { kind: 'embedded' } })
  })
})

it('a chat that begins while the first look for Hermes Agent is still under way waits for it', async () => {
  await start()
  let found = (): void => undefined
  const look = new Promise<void>((resolve) => (found = resolve))
  let asked = false
  const probe = hermes.probe.bind(hermes)
  hermes.probe = async () => {
    asked = true
    await look
    return probe()
  }
  const made = newChat(server)
  await eventually('it was looked for', () => asked)
  found()
  const session = await made
  await talk(session)
  expect(await agentOf(session)).toBe('hermes')
})

it('steps of sub-agents stand under the call that sent them, in the chat and in its stream', async () => {
  await start()
  const session = await newChat(server)
  const stream = await openSse(`${server.url}/api/events?session_id=${session}`)
  await talk(session, DELEGATE)
  const { rows } = (await call(server, 'GET /api/session/changes', { session_id: session })).body
  const row = (name: string, target?: string) => rows.find((each) => each.kind === 'tool' && each.tool.name === name && (target === undefined || each.tool.target === target))!
  const [sent, one, step] = [row('delegate_task'), row('subagent', 'Read the tests'), row('read_file')]
  expect([sent.parent, one.parent, step.parent]).toEqual([undefined, sent.id, one.id])
  await eventually('the stream has told it', () => JSON.stringify(stream.events).includes(`"parent":"${one.id}"`))
  stream.cut()
})
