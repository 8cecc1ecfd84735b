import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Draft } from '../../server/contract/events'
import { OriginalClient } from '../support/original-client'
import { Puppet, request } from '../support/puppet'
import { startServer, type TestServer } from '../support/server'
import { eventually } from './api'

// Questions and their answers by the original's API, over an agent in the hands of the test.
let server: TestServer
let puppet: Puppet
let client: OriginalClient
let session: string
let run: string
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
  puppet.onDecide = puppet.onAnswer = async () => ({ state: 'delivered' })
  const before = puppet.turns.length
  session = await client.chat()
  run = await client.start(session, 'Go on')
  await eventually('the turn', () => puppet.turns.length > before)
})
afterEach(() => {
  if (!puppet.turn.over) puppet.turn.end({ outcome: 'completed' })
})

const SCOPES = { ...request('make'), choices: [{ id: 'y1', kind: 'once' as const, label: 'Go ahead' }, { id: 'y2', kind: 'once' as const }, { id: 's', kind: 'session' as const, consequence: 'The same command again' }, { id: 'a', kind: 'always' as const }, { id: 'n', kind: 'deny' as const }, { id: 'never', kind: 'deny_always' as const }] }

/** The agent asks; gives the ids of all that is open, oldest first. */
async function ask(...questions: [string, ReturnType<typeof request>?][]): Promise<string[]> {
  for (const [question, asked] of questions) puppet.turn.emit({ type: 'question.raised', question, request: asked ?? request(question) })
  const { open } = await eventually('the questions', async () => {
    const open = await openApprovals()
    return open.length >= questions.length && { open }
  })
  return open
}
async function openApprovals(): Promise<string[]> {
  const window = await server.store.window(session, { limit: 100 })
  return window!.rows.flatMap((row) => ('approval' in row && row.approval?.state === 'open' ? [row.approval.id] : []))
}
const respond = (body: Record<string, unknown>) => client.post('/api/approval/respond', { session_id: session, ...body })
const pending = async () => (await client.get('/api/approval/pending', { session_id: session })).body

describe('what may be done', () => {
  it('a question is told with exactly what it offers, in the original’s words and with ids', async () => {
    const [id] = await ask(['q', { ...SCOPES, risk: 'high', reason: 'It builds' }])
    const told = (await pending()).pending!
    expect(told).toMatchObject({
      approval_id: id, session_id: session, run_id: run, command: 'make', description: 'It builds', pattern_key: 'shell', pattern_keys: ['shell'], choices: ['once', 'session', 'always', 'deny'], labels: { once: 'Go ahead' },
      allow_permanent: true, risk_level: 'high', deadline: null, pending_count: 1,
    })
    expect(told.offered).toEqual([
      { id: 'y1', kind: 'once', label: 'Go ahead' }, { id: 'y2', kind: 'once' }, { id: 's', kind: 'session', consequence: 'The same command again' }, { id: 'a', kind: 'always' }, { id: 'n', kind: 'deny' }, { id: 'never', kind: 'deny_always' },
    ])
  })

  it.each([['once', 'y1'], ['session', 's'], ['always', 'a'], ['deny', 'n']])('%s is the first choice of its kind', async (choice, sent) => {
    await ask(['q', SCOPES])
    expect((await respond({ choice })).body).toEqual({ ok: true, choice })
    expect(puppet.turn.decisions).toEqual([{ question: 'q', choice: sent }])
  })

  it.each([['approve', 'once'], ['Approved', 'once'], [' ALLOW ', 'once'], ['Once', 'once'], ['denied', 'deny'], ['reject', 'deny']])('the older word %j means %s', async (choice, kind) => {
    await ask(['q', SCOPES])
    expect((await respond({ choice })).body).toEqual({ ok: true, choice: kind })
    expect(puppet.turn.decisions).toEqual([{ question: 'q', choice: kind === 'once' ? 'y1' : 'n' }])
  })

  it('a choice is taken by its id too, the second of a kind and what the original has no word for', async () => {
    await ask(['q', SCOPES], ['r', SCOPES])
    expect((await respond({ choice_id: 'y2' })).body).toEqual({ ok: true, choice: 'y2', choice_id: 'y2' })
    expect((await respond({ choice_id: 'never' })).body).toMatchObject({ ok: true, choice_id: 'never' })
    expect(puppet.turn.decisions).toEqual([{ question: 'q', choice: 'y2' }, { question: 'r', choice: 'never' }])
  })

  it('a kind, an id or a word that was not offered is a 400 and changes nothing', async () => {
    await ask(['q'])
    for (const body of [{ choice: 'session' }, { choice: 'always' }, { choice: 'deny_always' }, { choice_id: 'once' }, { choice: 'sudo' }, { choice: 'constructor' }]) {
      const refused = await respond(body)
      expect([body, refused.status, refused.body.code]).toEqual([body, 400, 'invalid_choice'])
    }
    expect((await respond({})).status).toBe(400)
    expect(puppet.turn.decisions).toEqual([])
    expect((await pending()).pending_count).toBe(1)
  })

  it('case 129: denying one that is not the oldest reaches that one alone; the others stay in their order, whoever looks', async () => {
    const [, second, third] = await ask(['h'], ['t'], ['s2'])
    expect((await respond({ choice: 'deny', approval_id: second })).body).toEqual({ ok: true, choice: 'deny' })
    expect(puppet.turn.decisions).toEqual([{ question: 't', choice: 'no' }])
    for (let look = 0; look < 2; look++) expect(await pending()).toMatchObject({ pending: { command: 'h' }, pending_count: 2 })
    expect((await openApprovals())[1]).toBe(third)
  })

  it('case 132: an answer to a question that is over is not ok while another is open, and clears the card when none is', async () => {
    const [first, second] = await ask(['a'], ['b'])
    expect((await respond({ choice: 'once', approval_id: first })).body).toEqual({ ok: true, choice: 'once' })
    expect((await respond({ choice: 'once', approval_id: first })).body).toEqual({ ok: false, choice: 'once' })
    expect((await pending()).pending!.approval_id).toBe(second)
    expect((await respond({ choice: 'deny' })).body).toEqual({ ok: true, choice: 'deny' })
    for (const approval_id of [first, second, undefined]) expect((await respond({ choice: 'once', approval_id })).body).toEqual({ ok: true, choice: 'once', stale_cleared: true })
    expect(puppet.turn.decisions).toEqual([{ question: 'a', choice: 'yes' }, { question: 'b', choice: 'no' }])
  })

  it('case 133: an answer is bound to the question of its id, never to the oldest; an id that nobody knows reaches nobody', async () => {
    const [, second] = await ask(['a'], ['b'])
    expect((await respond({ choice: 'once', approval_id: 'apr_unknown' })).body).toEqual({ ok: false, choice: 'once' })
    expect(puppet.turn.decisions).toEqual([])
    await respond({ choice: 'once', approval_id: second })
    expect(puppet.turn.decisions).toEqual([{ question: 'b', choice: 'yes' }])
  })

  it('case 134: an answer that does not reach the agent is a 502 and the card stays; a second one meanwhile is a 409', async () => {
    let relay: (delivered: boolean) => void = () => {}
    puppet.onDecide = () => new Promise((resolve) => (relay = (delivered) => resolve(delivered ? { state: 'delivered' } : { state: 'refused', code: 'relay_failed', words: 'The pipe broke' })))
    const [id] = await ask(['q'])
    const first = respond({ choice: 'once', approval_id: id })
    await eventually('the first answer on its way', () => puppet.turn.decisions.length === 1)
    const second = await respond({ choice: 'deny', approval_id: id })
    expect([second.status, second.body.code]).toEqual([409, 'question_gone'])
    relay(false)
    const failed = await first
    expect([failed.status, failed.body.code, failed.body.words]).toEqual([502, 'relay_failed', 'The pipe broke'])
    const again = (await pending()).pending!
    expect(again).toMatchObject({ command: 'q', pending_count: 1 })
    const third = respond({ choice: 'deny', approval_id: again.approval_id })
    await eventually('the next answer on its way', () => puppet.turn.decisions.length === 2)
    relay(true)
    expect((await third).body).toEqual({ ok: true, choice: 'deny' })
    expect((await pending()).pending).toBeNull()
  })

  it('a question that the agent says is gone is a 409, and its card goes', async () => {
    puppet.onDecide = async () => ({ state: 'refused', code: 'question_gone' })
    const [id] = await ask(['q'])
    const gone = await respond({ choice: 'once', approval_id: id })
    expect([gone.status, gone.body.code]).toEqual([409, 'question_gone'])
    expect(await pending()).toEqual({ pending: null, pending_count: 0 })
  })

  it('case 131: of an agent without ids only the oldest has a card; one that is asked next cannot be answered yet', async () => {
    const deadline = Date.now() + 60_000
    for (const question of ['a', 'b']) puppet.turn.emit({ type: 'question.raised', question, nameless: true, request: { ...request(question), deadline } })
    const ids = await eventually('the second question', async () => {
      const window = await server.store.window(session, { limit: 100 })
      const asked = window!.rows.flatMap((row) => ('approval' in row && row.approval ? [row.approval] : []))
      return asked.some((approval) => approval.waits) && asked.map((approval) => approval.id)
    })
    expect(await pending()).toEqual({ pending: null, pending_count: 1 })
    for (const approval_id of [ids.at(-1), undefined]) {
      const answer = await respond({ choice: 'once', approval_id })
      expect([answer.status, answer.body.code]).toEqual([409, 'question_gone'])
    }
    expect(puppet.turn.decisions).toEqual([])
  })

  it('a stream tells what is pending at once and at each change, as the polling does', async () => {
    const stream = await client.open('/api/approval/stream', { session_id: session })
    expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(await stream.named('initial')).toMatchObject({ data: { pending: null, pending_count: 0 } })
    const [first] = await ask(['a'])
    await stream.until((frame) => frame.event === 'approval' && frame.data.pending?.approval_id === first)
    puppet.turn.emit({ type: 'question.raised', question: 'b', request: request('b') })
    await stream.until((frame) => frame.data.pending_count === 2)
    await respond({ choice: 'once' })
    await stream.until((frame) => frame.data.pending?.command === 'b')
    expect(stream.frames.at(-1)!.data).toEqual(await pending())
    puppet.turn.end({ outcome: 'completed' })
    await stream.until((frame) => frame.event === 'approval' && frame.data.pending === null)
    expect(stream.names().filter((name) => name === 'initial')).toHaveLength(1)
    await client.post('/api/session/delete', { session_id: session })
    await stream.ended()
  })

  it('the list says that somebody is asked, and of what kind, until it is answered', async () => {
    const attention = async () => (await client.get('/api/sessions')).body.sessions.find((chat) => chat.session_id === session)!.attention
    expect(await attention()).toBeNull()
    await ask(['a'], ['b'])
    expect(await attention()).toEqual({ kind: 'approval', count: 2, severity: 'warning' })
    expect((await client.get('/api/session/status', { session_id: session })).body.attention).toEqual({ kind: 'approval', count: 2, severity: 'warning' })
    await respond({ choice: 'deny' })
    await respond({ choice: 'deny' })
    puppet.turn.emit({ type: 'clarify.raised', question: 'c', request: { question: 'Which?', choices: [], free: true } })
    await client.pending('clarify', session)
    expect(await attention()).toEqual({ kind: 'clarify', count: 1, severity: 'warning' })
    puppet.turn.end({ outcome: 'completed' })
    await eventually('the end', async () => (await attention()) === null)
  })
})

describe('auto-approve', () => {
  const yolo = async () => (await client.get('/api/session/yolo', { session_id: session })).body.yolo_enabled

  it('case 135: one relay that fails leaves it off; once it is on, each new question is answered once, and none is shown', async () => {
    let broken = true
    puppet.onDecide = async (question) => (broken && question === 'b' ? { state: 'refused', code: 'relay_failed' } : { state: 'delivered' })
    await ask(['a'], ['b'])
    expect(await yolo()).toBe(false)
    const failed = await client.post('/api/session/yolo', { session_id: session, enabled: true })
    expect([failed.status, failed.body.code, await yolo()]).toEqual([502, 'relay_failed', false])
    broken = false
    const decided = puppet.turn.decisions.length
    expect((await client.post('/api/session/yolo', { session_id: session, enabled: true })).body).toEqual({ ok: true, yolo_enabled: true })
    expect(await yolo()).toBe(true)
    expect(puppet.turn.decisions.slice(decided).map(({ choice }) => choice)).toEqual(['yes'])
    puppet.turn.emit({ type: 'question.raised', question: 'c', request: SCOPES })
    await eventually('its answer', () => puppet.turn.decisions.some(({ question }) => question === 'c'))
    expect(puppet.turn.decisions.filter(({ question }) => question === 'c')).toEqual([{ question: 'c', choice: 'y1' }])
    expect(await pending()).toEqual({ pending: null, pending_count: 0 })
    expect((await client.post('/api/session/yolo', { session_id: session, enabled: false })).body).toEqual({ ok: true, yolo_enabled: false })
    await ask(['d'])
    expect((await pending()).pending!.command).toBe('d')
  })

  it('may be turned on with an answer: that one is answered as said, the others with their once', async () => {
    const [first] = await ask(['a', SCOPES], ['b', SCOPES])
    expect((await respond({ choice: 'session', approval_id: first, yolo: true })).body).toEqual({ ok: true, choice: 'session', yolo_enabled: true })
    expect(puppet.turn.decisions).toEqual([{ question: 'a', choice: 's' }, { question: 'b', choice: 'y1' }])
    expect(await yolo()).toBe(true)
  })

  it('is not turned on by an answer to something that is over while another thing is asked', async () => {
    await ask(['a'])
    expect((await respond({ choice: 'once', approval_id: 'apr_old', yolo: true })).body).toEqual({ ok: false, choice: 'once' })
    expect(await yolo()).toBe(false)
    expect((await respond({ yolo: true })).body).toEqual({ ok: true, choice: 'once', yolo_enabled: true })
  })

  it('asks to know what is wanted', async () => {
    for (const enabled of [undefined, null, 'perhaps', 2]) expect([enabled, (await client.post('/api/session/yolo', { session_id: session, enabled })).status]).toEqual([enabled, 400])
    expect((await client.get('/api/session/yolo')).status).toBe(400)
    expect((await client.get('/api/session/yolo', { session_id: 'ses_none' })).status).toBe(404)
  })
})

describe('clarifying questions', () => {
  const clarify = (question: string, choices: string[] = [], more: object = {}) => puppet.turn.emit({ type: 'clarify.raised', question, request: { question, choices, free: true, ...more } })
  const answer = (body: Record<string, unknown>) => client.post('/api/clarify/respond', { session_id: session, ...body })

  it('are told with their choices and their time, and answered by any of the three names', async () => {
    for (const [i, name] of ['response', 'answer', 'choice'].entries()) {
      clarify(`Which ${i}?`, ['red', 'blue'], { deadline: Date.now() + 60_000 })
      const told = await client.pending('clarify', session)
      expect(told).toMatchObject({ session_id: session, run_id: run, kind: 'clarify', question: `Which ${i}?`, choices_offered: ['red', 'blue'], free_text: true, pending_count: 1 })
      const { requested_at: requested, timeout_seconds: seconds, expires_at: expires } = told as unknown as Record<string, number>
      expect(requested! + seconds!).toBeCloseTo(expires!, 2)
      expect((await answer({ [name]: 'blue', clarify_id: told.clarify_id })).body).toEqual({ ok: true, response: 'blue', clarify_id: told.clarify_id })
      expect(puppet.turn.answers.at(-1)).toEqual({ question: `Which ${i}?`, text: 'blue' })
    }
    clarify('For ever?')
    expect(await client.pending('clarify', session)).toMatchObject({ timeout_seconds: null, expires_at: null })
  })

  it('case 136: the same question twice in a row is one entry; an answer to one that is over is a 409 with stale, and the newer one stays', async () => {
    clarify('Which?', ['red', 'blue'])
    const first = await client.pending('clarify', session)
    puppet.turn.emit({ type: 'clarify.raised', question: 'again', request: { question: 'Which?', choices: ['red', 'blue'], free: true } })
    puppet.turn.emit({ type: 'notice', code: 'note' })
    await eventually('what came after', async () => (await server.store.window(session, { limit: 50 }))!.rows.some((row) => row.kind === 'notice'))
    expect((await client.get('/api/clarify/pending', { session_id: session })).body).toMatchObject({ pending: { clarify_id: first.clarify_id }, pending_count: 1 })
    expect((await answer({ response: 'red', clarify_id: first.clarify_id })).status).toBe(200)
    clarify('And now?')
    const newer = await client.pending('clarify', session)
    for (const clarify_id of [first.clarify_id, 'clr_unknown']) {
      const stale = await answer({ response: 'red', clarify_id })
      expect([stale.status, stale.body.code, stale.body.stale]).toEqual([409, 'question_gone', true])
    }
    expect((await client.pending('clarify', session)).clarify_id).toBe(newer.clarify_id)
    expect((await answer({ response: 'x' })).body.clarify_id).toBe(newer.clarify_id)
    const none = await answer({ response: 'x' })
    expect([none.status, none.body.stale]).toEqual([409, true])
  })

  it('case 136: a chat of another profile is a 409 of another kind, which says nothing of the card', async () => {
    const theirs: Draft = { type: 'session.created', title: 'Theirs', titleBy: 'person', profile: 'amber', workspace: server.work, agent: null, model: null, source: 'talaria' }
    await server.store.append({ session: 'ses_theirs', expectSeq: 1, urgency: 'now', events: [{ ...theirs, session: 'ses_theirs', seq: 1, at: 1 }] })
    const mismatch = await client.post('/api/clarify/respond', { session_id: 'ses_theirs', response: 'x', clarify_id: 'clr_x' })
    expect([mismatch.status, mismatch.body.code, mismatch.body.profile]).toEqual([409, 'session_profile_mismatch', 'amber'])
    expect(mismatch.body).not.toHaveProperty('stale')
  })

  it('words of one’s own are refused where only the offered answers are taken', async () => {
    clarify('Which?', ['red', 'blue'], { free: false })
    await client.pending('clarify', session)
    const refused = await answer({ response: 'green' })
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_choice'])
    for (const body of [{}, { response: ' ' }, { choice: null }]) expect([body, (await answer(body)).status]).toEqual([body, 400])
    expect((await answer({ choice: 'red' })).status).toBe(200)
  })

  it('a stream tells them and their end; one that fails to reach the agent is a 502 and stays', async () => {
    const stream = await client.open('/api/clarify/stream', { session_id: session })
    await stream.named('initial')
    clarify('Which?')
    const told = await stream.named('clarify')
    expect(told.data.pending).toMatchObject({ question: 'Which?' })
    puppet.onAnswer = async () => ({ state: 'refused', code: 'relay_failed' })
    expect((await answer({ response: 'x' })).status).toBe(502)
    expect((await client.pending('clarify', session)).question).toBe('Which?')
    puppet.onAnswer = async () => ({ state: 'delivered' })
    expect((await answer({ response: 'x' })).status).toBe(200)
    await stream.until((frame) => frame.event === 'clarify' && frame.data.pending === null)
    stream.cut()
  })
})
