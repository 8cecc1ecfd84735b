import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Agent, AgentSession } from '../../server/agents/port'
import type { Draft } from '../../server/contract/events'
import type { AgentKind } from '../../server/contract/session'
import { OriginalClient } from '../support/original-client'
import { Puppet } from '../support/puppet'
import { startServer, type TestServer } from '../support/server'
import { eventually } from './api'

// Words into a running turn, stop, and what waits, by the API, over an agent in the hands of the test.
let server: TestServer
let puppet: Puppet
let client: OriginalClient
let session: string
beforeAll(async () => {
  puppet = new Puppet()
  server = await startServer({ agents: { scripted: puppet } })
  client = new OriginalClient(server.port)
})
afterAll(async () => {
  expect(server.errors.map(String)).toEqual([])
  await server.end()
})
const byWord = (turn: Puppet['turn']) => turn.end({ outcome: 'cancelled' })
beforeEach(async () => {
  puppet.onStop = byWord
  puppet.onSteer = async () => ({ state: 'delivered' })
  session = await client.chat()
})
afterEach(() => {
  for (const turn of puppet.turns) if (!turn.over) turn.end({ outcome: 'completed' })
})

/** Turns of the chat of this test: what another left in its queue may still run. */
const here = () => puppet.turns.filter((turn) => turn.opening.session === session)
const now = () => here().at(-1)!

async function begin(message = 'Go on'): Promise<string> {
  const before = here().length
  const run = await client.start(session, message)
  await eventually('the turn', () => here().length > before)
  return run
}
const steer = async (text = 'Look here', chat = session) => client.post('/api/chat/steer', { session_id: chat, text })
const stop = (run: string) => client.get('/api/chat/cancel', { stream_id: run })
const queue = async () => (await client.get('/api/chat/queue', { session_id: session })).body as unknown as { items: { id: string; message: string; by: string; send?: true; added_at: number }[]; paused: boolean }
const waiting = async () => (await queue()).items.map(({ message }) => message)
const verb = (name: string, body: Record<string, unknown>) => client.post(`/api/chat/queue${name}`, { session_id: session, ...body })
const add = async (message: string, more: Record<string, unknown> = {}) => (await verb('', { message, ...more })).body.item as string
const steerRows = async () => (await server.store.window(session, { limit: 100 }))!.rows.filter((row) => row.kind === 'steer')
const idle = () => eventually('the end of the turn', async () => (await client.get('/api/session/status', { session_id: session })).body.agent_running === false)
const say = (text: string) => now().emit({ type: 'text', delta: text })
const complete = async () => {
  say('Done.')
  now().end({ outcome: 'completed' })
  await idle()
}

describe('a word into the running turn', () => {
  it('is kept, reaches the agent, and says what became of it', async () => {
    const run = await begin()
    const told = await steer()
    expect([told.status, told.body]).toEqual([200, { accepted: true, stream_id: run, steer_id: expect.stringMatching(/^str_/) }])
    expect(now().steers).toEqual([{ steer: told.body.steer_id, text: 'Look here' }])
    expect(await steerRows()).toMatchObject([{ text: 'Look here', state: 'live', steer: { state: 'accepted' } }])
    now().emit({ type: 'steer.delivered', steer: told.body.steer_id as string, evidence: 'seen' })
    await eventually('that it was delivered', async () => (await steerRows())[0]!.steer.state === 'delivered')
    await complete()
    expect(await queue()).toMatchObject({ items: [], paused: false })
  })

  it('that the run did not take comes back as the next message, and is sent once', async () => {
    const before = here().length
    const run = await begin('first')
    const stream = await client.run(run)
    await steer('second')
    say('Done.')
    now().end({ outcome: 'completed' })
    await eventually('the next turn', () => here().length === before + 2)
    expect(now().input.text).toBe('second')
    await stream.ended()
    // A client of the original queues by itself what that frame tells: it would be sent twice.
    expect(stream.names()).not.toContain('pending_steer_leftover')
    await complete()
    expect(here().length).toBe(before + 2)
    expect((await client.messages(session)).map(({ content }) => content)).toEqual(['first', 'Done.', 'second', 'Done.'])
  })

  it('without a text, or without a chat, is a 400', async () => {
    for (const body of [{ session_id: session, text: ' ' }, { session_id: session }, { text: 'x' }, { session_id: '', text: 'x' }]) expect([body, (await client.post('/api/chat/steer', body)).status]).toEqual([body, 400])
  })

  it('into a chat that nobody knows, or in which nothing runs, is not accepted and says why', async () => {
    for (const unknown of ['ses_unknown', '../x']) expect((await steer('x', unknown)).body).toEqual({ accepted: false, fallback: 'session_not_found', stream_id: null })
    expect((await steer()).body).toEqual({ accepted: false, fallback: 'not_running', stream_id: null })
    await begin()
    await complete()
    expect((await steer()).body).toEqual({ accepted: false, fallback: 'not_running', stream_id: null })
    expect(await steerRows()).toEqual([])
  })

  it.each([
    ['the agent throws', async () => { throw new Error('no') }, 'steer_error'],
    ['it does not reach the agent', async () => ({ state: 'refused' as const, code: 'relay_failed' as const }), 'steer_error'],
    ['the agent takes none', async () => ({ state: 'refused' as const, code: 'unsupported' as const }), 'agent_lacks_steer'],
  ])('is refused when %s, and the words are back with the person', async (_, onSteer, fallback) => {
    puppet.onSteer = onSteer
    const run = await begin()
    expect((await steer()).body).toEqual({ accepted: false, fallback, stream_id: run })
    expect(await steerRows()).toMatchObject([{ state: 'cancelled', steer: { state: 'returned', to: 'draft' } }])
    await complete()
    expect(await waiting()).toEqual([])
  })

  it('with a key is taken once: the same request again answers the same, another one is a 409', async () => {
    await begin()
    const first = await client.post('/api/chat/steer', { session_id: session, text: 'x', key: 'k1' })
    const again = await client.post('/api/chat/steer', { session_id: session, text: 'x', key: 'k1' })
    expect(again.body).toEqual(first.body)
    expect(now().steers).toHaveLength(1)
    const other = await client.post('/api/chat/steer', { session_id: session, text: 'y', key: 'k1' })
    expect([other.status, other.body.code]).toEqual([409, 'key_reused'])
  })

  it('case 118: after a stop it is not accepted, and the agent never hears it', async () => {
    puppet.onStop = () => {}
    const run = await begin()
    expect((await stop(run)).body).toMatchObject({ ok: true, cancelled: true })
    expect((await steer()).body).toEqual({ accepted: false, fallback: 'stream_dead', stream_id: run })
    expect(now().steers).toEqual([])
    expect(await steerRows()).toEqual([])
    byWord(now())
    await idle()
  })

  it('case 118: with a stop at the same time it was accepted first, or is dead and the agent never hears it', async () => {
    for (let round = 0; round < 10; round++) {
      session = await client.chat()
      const run = await begin()
      const turn = now()
      const [stopped, told] = round % 2 ? await Promise.all([stop(run), steer()]) : (await Promise.all([steer(), stop(run)])).reverse()
      expect(stopped!.body.cancelled).toBe(true)
      if (!told!.body.accepted) {
        expect(['stream_dead', 'not_running']).toContain(told!.body.fallback)
        if ((await steerRows()).length === 0) expect(turn.steers).toEqual([])
      }
      await idle()
      expect((await steerRows()).every((row) => row.steer.state === 'returned' && row.steer.to === 'draft')).toBe(true)
      expect(await waiting()).toEqual([])
    }
  })

  it('case 119: accepted before a stop it goes back to the draft, and is never sent by itself', async () => {
    const turns = here().length
    const run = await begin()
    expect((await steer()).body.accepted).toBe(true)
    await stop(run)
    await idle()
    expect(await steerRows()).toMatchObject([{ state: 'cancelled', text: 'Look here', steer: { state: 'returned', to: 'draft' } }])
    expect(await queue()).toMatchObject({ items: [], paused: true })
    expect((await client.get('/api/session/status', { session_id: session })).body.agent_running).toBe(false)
    expect(here().length).toBe(turns + 1)
  })

  it('case 120: it reaches the run of its own chat alone', async () => {
    const [mine, turn] = [await begin(), now()]
    const own = session
    session = await client.chat()
    await begin()
    const other = now()
    expect((await steer('for the first', own)).body).toMatchObject({ accepted: true, stream_id: mine })
    expect([turn.steers.length, other.steers.length]).toEqual([1, 0])
  })
})

describe('agents that take no words', () => {
  const withAgents = async (agents: Partial<Record<AgentKind, Agent>>, test: (client: OriginalClient, server: TestServer) => Promise<void>) => {
    const other = await startServer({ agents })
    try {
      await test(new OriginalClient(other.port), other)
      expect(other.errors.map(String)).toEqual([])
    } finally {
      await other.end()
    }
  }
  const wordless = (): Puppet => {
    const agent = new Puppet()
    const open = agent.open.bind(agent)
    agent.open = async (opening, sink): Promise<AgentSession> => ({ ...(await open(opening, sink)), steer: undefined })
    return agent
  }

  it('case 121: one that cannot says so; a gateway lets the client queue it; one that is not there yet is not known', async () => {
    const agent = wordless()
    await withAgents({ scripted: agent }, async (other) => {
      const chat = await other.chat()
      const run = await other.start(chat, 'x')
      await eventually('the turn', () => agent.turns.length === 1)
      expect((await other.post('/api/chat/steer', { session_id: chat, text: 'y' })).body).toEqual({ accepted: false, fallback: 'agent_lacks_steer', stream_id: run })
    })
    const gateway = Object.assign(new Puppet(), { kind: 'hermes-gateway' })
    gateway.onProbe = async () => ({ state: 'ready', agent: { kind: 'hermes-gateway', name: 'Gateway' }, capabilities: [], model: { provider: 'p', id: 'm' } })
    await withAgents({ 'hermes-gateway': gateway }, async (other) => {
      const chat = await other.chat()
      const run = await other.start(chat, 'x')
      await eventually('the turn', () => gateway.turns.length === 1)
      expect((await other.post('/api/chat/steer', { session_id: chat, text: 'y' })).body).toEqual({ accepted: false, fallback: 'gateway_steer_queued', stream_id: run })
      expect(gateway.turns[0]!.steers).toEqual([])
    })
    const late = new Puppet()
    let open = () => {}
    late.onOpen = () => new Promise<void>((resolve) => (open = resolve))
    await withAgents({ scripted: late }, async (other) => {
      const chat = await other.chat()
      const run = await other.start(chat, 'x')
      expect((await other.post('/api/chat/steer', { session_id: chat, text: 'y' })).body).toEqual({ accepted: false, fallback: 'no_cached_agent', stream_id: run })
      await eventually('the opening', () => late.openings.length === 1)
      open()
    })
  })

  it('case 121: a chat of a kind of agent that this server does not know starts nothing and takes no word', async () => {
    const drafts: Draft[] = [{ type: 'session.created', title: 'Odd', titleBy: 'person', profile: 'default', workspace: server.work, agent: { kind: 'other' as AgentKind, name: 'Other' }, model: null, source: 'talaria' }]
    await server.store.append({ session: 'ses_odd', expectSeq: 1, urgency: 'now', events: drafts.map((draft, i) => ({ ...draft, session: 'ses_odd', seq: i + 1, at: 1 })) })
    const refused = await client.post('/api/chat/start', { session_id: 'ses_odd', message: 'x' })
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect((await steer('x', 'ses_odd')).body).toEqual({ accepted: false, fallback: 'not_running', stream_id: null })
  })
})

it('case 128: of two starts at once one runs, the other is a 409 that names it', async () => {
  for (let round = 0; round < 10; round++) {
    session = await client.chat()
    const [a, b] = await Promise.all(['a', 'b'].map((message) => client.post('/api/chat/start', { session_id: session, message })))
    expect([a!.status, b!.status].sort()).toEqual([200, 409])
    const [won, lost] = a!.status === 200 ? [a!, b!] : [b!, a!]
    expect(lost.body).toMatchObject({ code: 'session_busy', active_stream_id: won.body.stream_id })
    await eventually('its turn', () => here().some((turn) => turn.input.run === won.body.stream_id))
    here().find((turn) => turn.input.run === won.body.stream_id)!.end({ outcome: 'cancelled' })
  }
})

describe('what waits', () => {
  it('stands in its order, with its time, and is changed, moved, joined and removed', async () => {
    await begin()
    expect(await queue()).toEqual({ items: [], paused: false })
    const [a, b] = [await add('a'), await add('b')]
    const c = await add('c', { before: a })
    expect((await queue()).items).toEqual([c, a, b].map((id, i) => ({ id, message: 'cab'[i], by: 'person', added_at: expect.any(Number) })))
    expect((await queue()).items[0]!.added_at).toBeCloseTo(Date.now() / 1000, -2)
    expect((await verb('/change', { item: a, message: 'A' })).body).toMatchObject({ items: [{ id: c }, { id: a, message: 'A' }, { id: b }], paused: false })
    await verb('/move', { item: b, before: c })
    expect(await waiting()).toEqual(['b', 'c', 'A'])
    await verb('/move', { item: b })
    expect(await waiting()).toEqual(['c', 'A', 'b'])
    expect((await verb('/combine', { items: [b, c] })).body.items).toMatchObject([{ id: c, message: 'c\n\nb' }, { id: a }])
    await verb('/remove', { item: a })
    expect(await waiting()).toEqual(['c\n\nb'])
    expect((await verb('/remove', { items: [c] })).body).toEqual({ items: [], paused: false })
    expect((await client.get('/api/session/status', { session_id: session })).body.queued).toBe(0)
    const queued = await add('d')
    expect((await client.get('/api/session/status', { session_id: session })).body.queued).toBe(1)
    expect((await client.get('/api/sessions')).body.sessions.find((chat) => chat.session_id === session)!.queued).toBe(1)
    await verb('/remove', { items: [queued] })
  })

  it('stands in the answers of changes: whole in a window, and after a cursor only when it changed', async () => {
    await begin()
    const changes = async (query: Record<string, string> = {}) => (await client.get('/api/session/changes', { session_id: session, ...query })).body as unknown as { queue?: { items: { text: string }[] }; cursor: string }
    const before = await changes()
    await add('a')
    const after = await changes({ after: before.cursor })
    expect(after.queue!.items.map(({ text }) => text)).toEqual(['a'])
    expect((await changes()).queue!.items).toHaveLength(1)
    say('x')
    const later = await eventually('growth', async () => {
      const found = (await client.get('/api/session/changes', { session_id: session, after: after.cursor })).body as unknown as { rows: unknown[]; queue?: unknown }
      return found.rows.length > 0 && found
    })
    expect(later).not.toHaveProperty('queue')
  })

  it('is sent in its order once the run has completed, each once', async () => {
    const before = here().length
    await begin('0')
    for (const text of ['1', '2']) await add(text)
    for (const n of [1, 2]) {
      say('Done.')
      now().end({ outcome: 'completed' })
      await eventually(`turn ${n}`, () => here().length === before + n + 1)
      expect(now().input.text).toBe(String(n))
    }
    await complete()
    expect(here().length).toBe(before + 3)
    expect((await client.messages(session)).filter(({ role }) => role === 'user').map(({ content, _source }) => [content, _source])).toEqual([['0', undefined], ['1', 'queue'], ['2', 'queue']])
  })

  it('waits for the person after a stop, and goes on when one of it is sent', async () => {
    const before = here().length
    const run = await begin('0')
    const [a, b] = [await add('a'), await add('b')]
    await stop(run)
    await idle()
    expect(await queue()).toMatchObject({ items: [{ id: a }, { id: b }], paused: true })
    expect(here().length).toBe(before + 1)
    expect((await verb('/send', { item: b })).status).toBe(200)
    await eventually('b', () => here().length === before + 2)
    expect(now().input.text).toBe('b')
    say('Done.')
    now().end({ outcome: 'completed' })
    await eventually('a', () => here().length === before + 3)
    expect(now().input.text).toBe('a')
    await complete()
  })

  it('stops and sends in one step, in that order, once', async () => {
    const before = here().length
    const run = await begin('0')
    const stream = await client.run(run)
    await add('a')
    const b = await add('b')
    expect((await verb('/send', { item: b, stop: true })).status).toBe(200)
    await eventually('b', () => here().length === before + 2)
    expect(now().input.text).toBe('b')
    await stream.ended()
    expect(stream.names().at(-1)).toBe('cancel')
    expect(await waiting()).toEqual(['a'])
  })

  it('goes at once where nothing runs and nothing pauses', async () => {
    const before = here().length
    await add('a')
    await eventually('its turn', () => here().length === before + 1)
    expect(now().input.text).toBe('a')
    await complete()
  })

  it('what is not there, is empty or is too much is refused', async () => {
    await begin()
    const a = await add('a')
    for (const [name, body] of [['/change', { item: 'que_x', message: 'x' }], ['/move', { item: 'que_x' }], ['/move', { item: a, before: 'que_x' }], ['/combine', { items: [a, 'que_x'] }], ['/remove', { item: 'que_x' }], ['/send', { item: 'que_x' }]] as const) {
      const refused = await verb(name, body)
      expect([name, refused.status, refused.body.code]).toEqual([name, 404, 'queue_item_not_found'])
    }
    for (const [name, body] of [['', {}], ['', { message: ' ' }], ['/change', { item: a }], ['/change', { item: a, message: '' }], ['/remove', {}], ['/remove', { items: [] }], ['/combine', {}], ['/combine', { items: [a] }], ['/move', {}], ['/send', {}], ['', { message: 'x', attachments: [{}] }], ['', { message: 'x', attachments: [7] }]] as const)
      expect([name, body, (await verb(name, body)).status]).toEqual([name, body, 400])
    for (let i = 1; i < 50; i++) await add(String(i))
    const full = await verb('', { message: 'too much' })
    expect([full.status, full.body.code]).toEqual([409, 'queue_full'])
    await verb('/remove', { items: (await queue()).items.map(({ id }) => id) })
    expect((await client.get('/api/chat/queue', { session_id: 'ses_x' })).status).toBe(404)
  })

  it('with a key is added once, by body or header', async () => {
    await begin()
    const first = await verb('', { message: 'a', key: 'k2' })
    const keyed = new OriginalClient(server.port, { 'Idempotency-Key': 'k2' })
    const again = await keyed.post('/api/chat/queue', { session_id: session, message: 'a' })
    expect([again.status, again.body.item]).toEqual([200, first.body.item])
    expect(await waiting()).toEqual(['a'])
    const other = await verb('', { message: 'b', key: 'k2' })
    expect([other.status, other.body.code]).toEqual([409, 'key_reused'])
    await verb('/remove', { item: first.body.item })
  })

  it('survives the server, and is sent by the next one once', async () => {
    const one = new Puppet()
    const first = await startServer({ agents: { scripted: one } })
    const other = new OriginalClient(first.port)
    const chat = await other.chat()
    await other.start(chat, '0')
    await eventually('the turn', () => one.turns.length === 1)
    await other.post('/api/chat/queue', { session_id: chat, message: 'a' })
    one.onStop = (turn) => turn.end({ outcome: 'cancelled' })
    await first.end(true)
    const two = new Puppet()
    const second = await startServer({ agents: { scripted: two }, folder: first.folder })
    const later = new OriginalClient(second.port)
    const waits = (await later.get('/api/chat/queue', { session_id: chat })).body as unknown as { items: { id: string }[]; paused: boolean }
    expect(waits).toMatchObject({ items: [{ message: 'a' }], paused: true })
    await later.post('/api/chat/queue/send', { session_id: chat, item: waits.items[0]!.id })
    await eventually('its turn', () => two.turns.length === 1)
    expect(two.turn.input.text).toBe('a')
    two.turn.emit({ type: 'text', delta: 'Done.' })
    two.turn.end({ outcome: 'completed' })
    await eventually('the end', async () => (await later.get('/api/session/status', { session_id: chat })).body.agent_running === false)
    expect(two.turns).toHaveLength(1)
    await second.end()
  })
})

it('a mark that a chat was read holds on every device and never goes back', async () => {
  const unread = async () => (await client.get('/api/session/status', { session_id: session })).body.unread
  const listed = async () => (await client.get('/api/sessions')).body.sessions.find((chat) => chat.session_id === session)!.unread
  await begin()
  expect(await unread()).toBe(false)
  await complete()
  expect([await unread(), await listed()]).toEqual([true, true])
  const { seq } = (await client.get('/api/session/changes', { session_id: session })).body as unknown as { seq: number }
  expect((await client.post('/api/session/read', { session_id: session, seq: 1 })).body).toEqual({ ok: true })
  expect(await unread()).toBe(true)
  await client.post('/api/session/read', { session_id: session, seq })
  expect([await unread(), await listed()]).toEqual([false, false])
  await client.post('/api/session/read', { session_id: session, seq: 1 })
  expect(await unread()).toBe(false)
  // A mark ahead of the chat would hide what comes.
  await client.post('/api/session/read', { session_id: session, seq: 1_000_000 })
  await begin()
  await complete()
  expect(await unread()).toBe(true)
  for (const [body, status] of [[{ session_id: 'ses_x', seq: 1 }, 404], [{ session_id: session }, 400], [{ session_id: session, seq: -1 }, 400], [{ session_id: session, seq: '1' }, 400]] as const)
    expect([body, (await client.post('/api/session/read', body)).status]).toEqual([body, status])
})
