import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Draft } from '../../server/contract/events'
import { OriginalClient } from '../support/original-client'
import type { EventStream, Frame } from '../support/original-client'
import { Puppet } from '../support/puppet'
import { startServer, type TestServer } from '../support/server'
import { freshFolder, openTestStore } from '../support/store-thread'
import { eventually } from './api'

// The original's streams over real connections: resuming, gaps, the smaller streams beside the chat's.
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
beforeEach(async () => {
  session = await client.chat()
})

const here = () => puppet.turns.filter((turn) => turn.opening.session === session)
async function begin(message = 'Go on'): Promise<string> {
  const before = here().length
  const run = await client.start(session, message)
  await eventually('the turn', () => here().length > before)
  return run
}
const turn = () => here().at(-1)!
/** A run with words, a tool and words; settled. */
async function settledRun(): Promise<string> {
  const run = await begin()
  turn().emit({ type: 'reasoning', delta: 'Hm.' })
  turn().emit({ type: 'text', delta: 'First.' })
  turn().emit({ type: 'tool.started', call: 'c1', name: 'read', verb: 'read', target: 'a.md' })
  turn().emit({ type: 'tool.closed', call: 'c1', state: 'done', result: 'seven' })
  turn().emit({ type: 'text', delta: 'Second.' })
  turn().end({ outcome: 'completed' })
  await idle()
  return run
}
const idle = () => eventually('the end of the turn', async () => (await client.get('/api/session/status', { session_id: session })).body.agent_running === false)
async function all(run: string, query: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Frame[]> {
  const stream = await client.run(run, query, headers)
  await stream.ended()
  return stream.frames
}
const ids = (frames: Frame[]) => frames.map(({ id }) => id)

describe('coming back to a run', () => {
  it('case 112: the header alone resumes; a query that cannot be used blocks it; a foreign or too high cursor tells everything; none is from the start', async () => {
    const run = await settledRun()
    const whole = await all(run)
    const [fifth, number] = [whole[4]!.id!, whole[4]!.id!.split(':')[1]!]
    expect(ids(await all(run, {}, { 'Last-Event-ID': fifth }))).toEqual(ids(whole.slice(5)))
    expect(ids(await all(run, { after_seq: number }))).toEqual(ids(whole.slice(5)))
    expect(ids(await all(run, { after_event_id: fifth, after_seq: 'abc' }, { 'Last-Event-ID': whole[1]!.id! }))).toEqual(ids(whole.slice(5)))
    for (const [query, header] of [[{ after_seq: 'abc' }, fifth], [{ after_event_id: `other:${number}` }, fifth], [{}, `other:${number}`], [{}, `${run}:999999`], [{ after_seq: '9999999' }, fifth], [{ replay: '1' }, fifth]] as [Record<string, string>, string][])
      expect([query, header, ids(await all(run, query, { 'Last-Event-ID': header }))]).toEqual([query, header, ids(whole)])
  })

  it('case 110: the frames of a run have its id and rising numbers; a cursor gives all behind it, the first of them first', async () => {
    const run = await settledRun()
    const whole = await all(run)
    const numbers = whole.map(({ id }) => id!.split(':')).map(([of, number]) => (expect(of).toBe(run), Number(number)))
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    for (const [i, { id }] of whole.entries()) expect(ids(await all(run, { after_event_id: id! }))).toEqual(ids(whole.slice(i + 1)))
  })

  it('case 111: the last word of a stream says how its run ended, and the status says the same', async () => {
    const ends: [how: (run: string) => unknown, names: string[], outcome: string][] = [
      [() => turn().end({ outcome: 'completed' }), ['done', 'stream_end'], 'completed'],
      [(run) => client.get('/api/chat/cancel', { stream_id: run }), ['cancel'], 'cancelled'],
      [() => turn().end({ outcome: 'interrupted', problem: { code: 'agent_died', words: 'gone' } }), ['apperror'], 'interrupted'],
      [() => turn().end({ outcome: 'failed', problem: { code: 'rate_limit', words: '429' } }), ['apperror'], 'failed'],
    ]
    for (const [how, names, outcome] of ends) {
      const run = await begin()
      turn().emit({ type: 'text', delta: 'Half.' })
      await how(run)
      await idle()
      const told = (await all(run)).map(({ event }) => event)
      expect([outcome, told.slice(-names.length)]).toEqual([outcome, names])
      expect(told.filter((name) => ['done', 'cancel', 'apperror', 'stream_end'].includes(name))).toEqual(names)
      expect((await client.get('/api/chat/stream/status', { stream_id: run })).body).toMatchObject({ active: false, state: 'settled', outcome })
    }
  })

  it('case 113: what is not kept any more is one recovery signal and no tail; behind it the tail is told', async () => {
    const run = await settledRun()
    const whole = await all(run)
    await prune()
    for (const cut of [0, 2]) {
      const told = await all(run, {}, { 'Last-Event-ID': whole[cut]!.id! })
      expect(told).toMatchObject([{ event: 'apperror', data: { type: 'interrupted', recovery_control: true, session_id: session, stream_id: run } }])
    }
    expect(ids(await all(run, {}, { 'Last-Event-ID': whole.at(-2)!.id! }))).toEqual([whole.at(-1)!.id])
    // Whoever has nothing yet gets the settled chat, whole.
    const fresh = await all(run)
    expect(fresh.map(({ event }) => event)).toEqual(['done', 'stream_end'])
    expect(fresh[0]!.data.session.messages.filter(({ role }) => role === 'assistant').map(({ content }) => content)).toEqual(['First.', 'Second.'])
  })

  it('case 114: cut at every place of a live run, and told on from there, each frame comes once', async () => {
    const run = await begin()
    let told: Frame[] = []
    const tell = async (emit: () => void, event: string) => {
      const stream = await client.run(run, {}, told.length > 0 ? { 'Last-Event-ID': told.at(-1)!.id! } : {})
      emit()
      await stream.named(event)
      stream.cut()
      told = [...told, ...stream.frames]
    }
    await tell(() => turn().emit({ type: 'text', delta: 'First.' }), 'token')
    await tell(() => turn().emit({ type: 'tool.started', call: 'c1', name: 'read', verb: 'read', target: 'a.md' }), 'tool')
    await tell(() => turn().emit({ type: 'tool.closed', call: 'c1', state: 'done' }), 'tool_complete')
    await tell(() => turn().emit({ type: 'text', delta: 'Second.' }), 'token')
    await tell(() => turn().end({ outcome: 'completed' }), 'stream_end')
    expect(ids(told)).toEqual(ids(await all(run)))
    expect(new Set(ids(told)).size).toBe(told.length)
  })

  it('case 115: the next run of a chat begins its numbers anew, and nothing of it is taken for told', async () => {
    const first = await settledRun()
    const whole = await all(first)
    const run = await settledRun()
    const next = await all(run)
    expect(next.map(({ event }) => event)).toEqual(whole.map(({ event }) => event))
    expect(ids(await all(run, {}, { 'Last-Event-ID': whole.at(-1)!.id! }))).toEqual(ids(next))
  })

  it('case 144: between done and stream_end it gets stream_end alone, of a chat that is settled; behind it nothing', async () => {
    const run = await settledRun()
    const whole = await all(run)
    expect(whole.slice(-2).map(({ event }) => event)).toEqual(['done', 'stream_end'])
    const rest = await all(run, {}, { 'Last-Event-ID': whole.at(-2)!.id! })
    expect(rest.map(({ event }) => event)).toEqual(['stream_end'])
    expect((await client.get('/api/session', { session_id: session })).body.session).toMatchObject({ active_stream_id: null, messages: whole.at(-2)!.data.session.messages })
    expect(await all(run, {}, { 'Last-Event-ID': whole.at(-1)!.id! })).toEqual([])
  })

  it('case 116: a run whose server ended under it is told as interrupted once, above everything before, and nothing after', async () => {
    const one = new Puppet()
    one.onStop = () => {}
    const first = await startServer({ agents: { scripted: one }, parts: { limits: { drain: 50 } } })
    let other = new OriginalClient(first.port)
    const chat = await other.chat()
    const run = await other.start(chat, 'x')
    await eventually('the turn', () => one.turns.length === 1)
    one.turn.emit({ type: 'text', delta: 'Half' })
    const stream = await other.run(run)
    const last = await stream.named('token')
    await first.end(true)
    const second = await startServer({ agents: { scripted: new Puppet() }, folder: first.folder })
    other = new OriginalClient(second.port)
    const rest = await other.run(run, {}, { 'Last-Event-ID': last.id! })
    await rest.ended()
    expect(rest.names()).toEqual(['apperror'])
    expect(rest.frames[0]!.data).toMatchObject({ type: 'interrupted', session_id: chat, session: { active_stream_id: null } })
    expect(rest.frames[0]!.data.session.messages.slice(1)).toMatchObject([{ content: 'Half', _partial: true }, { _error: true, type: 'interrupted' }])
    expect(Number(rest.frames[0]!.id!.split(':')[1])).toBeGreaterThan(Number(last.id!.split(':')[1]))
    const after = await other.run(run, {}, { 'Last-Event-ID': rest.frames[0]!.id! })
    await after.ended()
    expect(after.frames).toEqual([])
    await second.end()
  })

  it('a run that its agent went on with after a restart is told by a stream of its own, in the words that were kept', async () => {
    const folder = realpathSync(freshFolder('reattach'))
    const store = await openTestStore({ folder: join(folder, 'state', 'talaria') })
    const agent = { kind: 'scripted' as const, name: 'Puppet' }
    const ids = { turn: 'trn_a', run: 'run_a' }
    const drafts: Draft[] = [
      { type: 'session.created', title: 'A', titleBy: 'person', profile: 'default', workspace: join(folder, 'work'), agent, model: null, source: 'talaria' },
      { type: 'turn.admitted', turn: 'trn_a', row: 'row_u', n: 1, pos: '10', text: 'Go on', source: 'person' },
      { type: 'run.started', ...ids, generation: 1, attempt: 1, cause: 'sent', agent, model: null },
      { type: 'run.bound', ...ids, foreign: 'theirs' },
      { type: 'row.opened', ...ids, row: 'row_a', n: 2, pos: '11', kind: 'answer', text: 'Half' },
    ]
    await store.append({ session: 'ses_a', expectSeq: 1, generation: 1, urgency: 'now', events: drafts.map((draft, i) => ({ ...draft, session: 'ses_a', seq: i + 1, at: Date.now() })) })
    await store.close()
    const survivor = new Puppet()
    survivor.onReattach = async (opening, binding, sink) => survivor.runOn(opening, binding, sink, { message: 'Half' })
    const next = await startServer({ agents: { scripted: survivor }, folder })
    const other = new OriginalClient(next.port)
    const chat = await other.open('/api/session/stream', { session_id: 'ses_a' })
    const began = await chat.named('server_turn_started')
    expect(began.data).toMatchObject({ source: 'reattached' })
    const stream = await other.run(began.data.stream_id)
    survivor.turn.emit({ type: 'text', delta: ' and whole.' })
    survivor.turn.end({ outcome: 'completed' })
    await stream.ended()
    expect(stream.text('token')).toBe(' and whole.')
    expect(stream.names().slice(-2)).toEqual(['done', 'stream_end'])
    expect(stream.frames.findLast(({ event }) => event === 'done')!.data.session.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Half and whole.' })
    const old = await other.run('run_a')
    await old.ended()
    expect([old.text('token'), old.names().at(-1)]).toEqual(['Half', 'apperror'])
    const again = await other.run(began.data.stream_id)
    await again.ended()
    expect(again.names()).toEqual(stream.names())
    chat.cut()
    expect(next.errors.map(String)).toEqual([])
    await next.end()
  })

  const prune = async () => expect(await server.store.prune({ settledBefore: Date.now() + 1, limit: 1000 })).toBeGreaterThan(0)
})

describe('the stream of one chat', () => {
  const subscribe = (query: Record<string, string> = {}) => client.open('/api/session/stream', { session_id: session, ...query })

  it('case 142: tells a reader that has fewer messages than there are, and only when both numbers are known', async () => {
    await settledRun()
    const { message_count: count } = (await client.get('/api/session/status', { session_id: session })).body as unknown as { message_count: number }
    expect(count).toBeGreaterThan(1)
    for (const [known, behind] of [[String(count - 1), true], [String(count), false], [String(count + 1), false], ['', false], ['none', false], ['-1', false], [undefined, false]] as const) {
      const stream = await subscribe(known === undefined ? {} : { known_count: known })
      await stream.named('initial')
      // What comes at once comes with the first frame; a second reader that was told proves that the first has been.
      const proof = await subscribe({ known_count: '0' })
      await proof.named('session-updated')
      expect([known, stream.names()]).toEqual([known, behind ? ['initial', 'session-updated'] : ['initial']])
      if (behind) expect(stream.frames[1]!.data).toEqual({ session_id: session, message_count: count, known_count: count - 1, source: 'subscribe' })
      stream.cut()
      proof.cut()
    }
  })

  it('case 142: a turn from the queue is told when it begins and to who comes later, never while it is being stopped', async () => {
    await begin()
    const live = await subscribe()
    await live.named('initial')
    await client.post('/api/chat/queue', { session_id: session, message: 'next' })
    turn().emit({ type: 'text', delta: 'Done.' })
    turn().end({ outcome: 'completed' })
    const began = await live.named('server_turn_started')
    expect(began.data).toEqual({ session_id: session, stream_id: expect.stringMatching(/^run_/), pending_started_at: expect.any(Number), source: 'queue' })
    const late = await subscribe()
    expect((await late.named('server_turn_started')).data).toEqual({ ...began.data, recovered: true })
    await eventually('its turn', () => here().length === 2)
    puppet.onStop = () => {}
    await client.get('/api/chat/cancel', { stream_id: began.data.stream_id })
    const stopping = await subscribe({ known_count: '0' })
    await stopping.named('session-updated')
    expect(stopping.names()).toEqual(['initial', 'session-updated'])
    puppet.onStop = (each) => each.end({ outcome: 'cancelled' })
    turn().end({ outcome: 'cancelled' })
    await idle()
    for (const stream of [live, late, stopping]) stream.cut()
  })

  it('a turn that the agent began by itself is told, and its stream can be read', async () => {
    puppet.capabilities = [...puppet.capabilities, 'background']
    await settledRun()
    const stream = await subscribe()
    await stream.named('initial')
    puppet.sessions.findLast(({ opening }) => opening.session === session)!.emit({ type: 'turn.began', text: 'The build is done', source: 'agent' })
    const began = await stream.named('server_turn_started')
    expect(began.data.source).toBe('agent')
    const emit = puppet.sessions.findLast(({ opening }) => opening.session === session)!.emit
    emit({ type: 'text', delta: 'All green.' })
    emit({ type: 'turn.ended', end: { outcome: 'completed' } })
    const told = await client.run(began.data.stream_id)
    await told.ended()
    expect(told.text('token')).toBe('All green.')
    stream.cut()
  })

  it('says it lives, and ends with its chat', async () => {
    const stream = await subscribe()
    await stream.named('initial')
    await client.post('/api/session/delete', { session_id: session })
    await stream.ended()
    expect((await client.get('/api/session/stream', { session_id: 'ses_x' })).status).toBe(404)
    expect((await client.get('/api/session/stream')).status).toBe(400)
  })
})

describe('the stream over all runs of a chat', () => {
  const open = (headers: Record<string, string> = {}) => client.open(`/api/sessions/${session}/events`, {}, headers)

  it('tells the live run from its start, the next one behind it, and stays', async () => {
    const first = await begin()
    turn().emit({ type: 'text', delta: 'First.' })
    await (await client.run(first)).named('token')
    const stream = await open()
    turn().end({ outcome: 'completed' })
    await stream.named('stream_end')
    await idle()
    const second = await settledRun()
    await stream.until(({ event, id }) => event === 'stream_end' && id!.startsWith(second))
    expect(ids(stream.frames)).toEqual([...ids(await all(first)), ...ids(await all(second))])
    expect(stream.frames.some(({ event }) => event === 'session_snapshot')).toBe(false)
    stream.cut()
  })

  it('what happens once its headers are there is told, however late the chat is looked at', async () => {
    const first = await begin()
    turn().emit({ type: 'text', delta: 'First.' })
    await (await client.run(first)).named('token')
    const { load } = server.store
    let look = (): void => undefined
    const late = new Promise<void>((resolve) => (look = resolve))
    let looks = 0
    // The first look is the request's own; what comes after its headers waits.
    server.store.load = async (id) => {
      if (++looks > 1) await late
      return load(id)
    }
    const stream = await open().finally(() => (server.store.load = load))
    turn().end({ outcome: 'completed' })
    await idle()
    look()
    await stream.named('stream_end')
    expect(ids(stream.frames)).toEqual(ids(await all(first)))
    stream.cut()
  })

  it('goes on behind a cursor of any run, over the runs after it', async () => {
    const [first, second] = [await settledRun(), await settledRun()]
    const whole = [...(await all(first)), ...(await all(second))]
    const place = (await all(first)).findIndex(({ event }) => event === 'tool')
    const stream = await open({ 'Last-Event-ID': whole[place]!.id! })
    await stream.until(({ id }) => id === whole.at(-1)!.id)
    expect(ids(stream.frames)).toEqual(ids(whole.slice(place + 1)))
    stream.cut()
  })

  it('tells the whole chat where a cursor cannot be honoured: unknown, of another chat, malformed, too high, pruned', async () => {
    const run = await settledRun()
    const known = await all(run)
    const other = session
    session = await client.chat()
    const strange = (await all(await settledRun()))[0]!.id!
    session = other
    const cursors = ['', 'nonsense', 'run_x:17', `${run}:0`, `${run}:99999`, strange]
    await server.store.prune({ settledBefore: Date.now() + 1, limit: 1000 })
    for (const cursor of [...cursors, known[0]!.id!]) {
      const stream = await open({ 'Last-Event-ID': cursor })
      const told = await stream.named('session_snapshot')
      expect([cursor, told.data.session.messages]).toEqual([cursor, await client.messages(session)])
      expect(stream.names()).toEqual(['session_snapshot'])
      stream.cut()
    }
  })

  it('after a snapshot in the middle of a run it goes on with what comes', async () => {
    const run = await begin()
    turn().emit({ type: 'text', delta: 'First.' })
    await (await client.run(run)).named('token')
    const stream = await open({ 'Last-Event-ID': 'run_x:17' })
    await stream.named('session_snapshot')
    turn().emit({ type: 'tool.started', call: 'c1', name: 'read', verb: 'read', target: 'a.md' })
    turn().emit({ type: 'tool.closed', call: 'c1', state: 'done' })
    turn().emit({ type: 'text', delta: 'Second.' })
    turn().end({ outcome: 'completed' })
    await stream.named('stream_end')
    expect(stream.text('token')).toBe('Second.')
    expect(stream.names().filter((name) => name === 'tool' || name === 'tool_complete')).toEqual(['tool', 'tool_complete'])
    await client.post('/api/session/delete', { session_id: session })
    await stream.ended()
    expect((await open()).status).toBe(404)
  })
})

describe('the stream of the list', () => {
  const reasons = (stream: EventStream) => stream.frames.map(({ data }) => data.reason)
  it('says why it changed: made, renamed, asked, answered, cleared, deleted', async () => {
    const stream = await client.open('/api/sessions/events')
    const step = async (reason: string, act: () => unknown) => {
      const from = stream.frames.length
      await act()
      const frame = await stream.until(({ data }) => data.reason === reason, from)
      expect(frame).toMatchObject({ event: 'sessions_changed', data: { type: 'sessions_changed', version: expect.any(Number), profile: 'default', session_id: session } })
    }
    await step('session_new', async () => (session = await client.chat()))
    await step('session_rename', () => client.post('/api/session/rename', { session_id: session, title: 'B' }))
    await step('session_changed', begin)
    const ask = (question: string) => turn().emit({ type: 'clarify.raised', question, request: { question, choices: [], free: true } })
    await step('attention_pending', () => ask('a'))
    await step('attention_resolved', () => client.post('/api/clarify/respond', { session_id: session, response: 'x' }))
    await step('attention_pending', () => ask('b'))
    await step('attention_cleared', () => turn().end({ outcome: 'completed' }))
    await idle()
    await step('session_delete', () => client.post('/api/session/delete', { session_id: session }))
    stream.cut()
    expect(reasons(stream)).not.toContain(undefined)
  })
})
