import { describe, expect, test } from 'vitest'
import type { SteerFallback } from '../../../server/contract/routes'
import { sendBusy } from '../../../src/app-busy'
import { makeOrders } from '../../../src/app-orders'
import { ProblemError, type Backend } from '../../../src/backend/port'
import type { Way } from '../../../src/composer/way'
import { makeNotices } from '../../../src/ui/notices'

type Answer = object | ProblemError
const no = (code: ProblemError['code'], status: number) => new ProblemError(status, { code, error: code })

/** A server that answers each route as it is told to, in turn; the last answer stays. */
function server(answers: Record<string, Answer[]>) {
  const calls: [string, object][] = []
  const backend = {
    call: (name: string, input: object) => {
      calls.push([name, input])
      const all = answers[name] ?? [{}]
      const next = all.length > 1 ? all.shift()! : all[0]!
      return next instanceof ProblemError ? Promise.reject(next) : Promise.resolve(next)
    },
  } as unknown as Backend
  return { backend, calls, routes: () => calls.map(([name]) => name.replace('POST /api/chat/', '')) }
}

describe('a message into a working chat', () => {
  const send = (answers: Record<string, Answer[]>, way: Exclude<Way, 'send'> | 'busy') => {
    const it = server(answers)
    const ways: Way[] = []
    const sent = sendBusy({ backend: it.backend, session: 'ses_1', text: 'Wait', key: 'key-1', going: (next) => ways.push(next) }, way)
    return { ...it, ways, sent }
  }
  const refused = (fallback: SteerFallback) => ({ 'POST /api/chat/steer': [{ accepted: false, fallback, stream_id: 'run_1' }], 'POST /api/chat/queue': [{ items: [], paused: false, item: 'que_1' }] })

  test('steers with the key of the message', async () => {
    const it = send({ 'POST /api/chat/steer': [{ accepted: true, stream_id: 'run_1', steer_id: 'str_1' }] }, 'steer')
    expect(await it.sent).toEqual({ taken: true })
    expect(it.calls).toEqual([['POST /api/chat/steer', { session_id: 'ses_1', text: 'Wait', key: 'key-1' }]])
  })

  for (const fallback of ['agent_lacks_steer', 'no_cached_agent', 'gateway_steer_queued'] as const)
    test(`case 82: waits for its turn where the agent takes no words (${fallback})`, async () => {
      const it = send(refused(fallback), 'steer')
      expect(await it.sent).toMatchObject({ taken: true, say: expect.stringContaining('waits for its turn') as string })
      expect(it.calls[1]).toEqual(['POST /api/chat/queue', { session_id: 'ses_1', message: 'Wait', key: 'key-1' }])
      expect(it.ways).toEqual(['queue'])
    })

  for (const fallback of ['stream_dead', 'not_running', 'steer_error', 'session_not_found'] as const)
    test(`cases 78, 87: is given back with a reason where the run did not take it, and nothing is stopped (${fallback})`, async () => {
      const it = send(refused(fallback), 'steer')
      expect(await it.sent).toMatchObject({ taken: false, why: expect.stringMatching(/\.$/) as string })
      expect(it.routes()).toEqual(['steer'])
    })

  test('with files it waits for its turn whatever was asked: a run takes none', async () => {
    const it = server({ 'POST /api/chat/queue': [{ items: [], paused: false, item: 'que_1' }] })
    expect(await sendBusy({ backend: it.backend, session: 'ses_1', text: '', key: 'key-1', going: () => undefined, attachments: [{ id: 'att_1' }] }, 'steer')).toMatchObject({ taken: true })
    expect(it.calls).toEqual([['POST /api/chat/queue', { session_id: 'ses_1', message: '', key: 'key-1', attachments: [{ id: 'att_1' }] }]])
  })

  test('case 90: stop and send is one message that waits and one stop for it', async () => {
    const it = send({ 'POST /api/chat/queue': [{ items: [], paused: false, item: 'que_1' }] }, 'interrupt')
    expect(await it.sent).toEqual({ taken: true })
    expect(it.calls).toEqual([['POST /api/chat/queue', { session_id: 'ses_1', message: 'Wait', key: 'key-1' }], ['POST /api/chat/queue/send', { session_id: 'ses_1', item: 'que_1', stop: true }]])
  })

  test('a stop that fails leaves the message waiting and says so; one that had gone by itself is done', async () => {
    const queue = [{ items: [], paused: false, item: 'que_1' }]
    const failed = send({ 'POST /api/chat/queue': queue, 'POST /api/chat/queue/send': [no('relay_failed', 502)] }, 'interrupt')
    expect(await failed.sent).toMatchObject({ taken: true, say: expect.stringContaining('could not be stopped') as string })
    const gone = send({ 'POST /api/chat/queue': queue, 'POST /api/chat/queue/send': [no('queue_item_not_found', 404)] }, 'interrupt')
    expect(await gone.sent).toEqual({ taken: true })
  })

  test('nobody knows: it rejects', async () => {
    await expect(send({ 'POST /api/chat/steer': [no('offline', 0)] }, 'steer').sent).rejects.toThrow()
    await expect(send({ 'POST /api/chat/queue': [no('queue_full', 409)] }, 'queue').sent).rejects.toThrow()
  })
})

describe('a message that was to begin a turn', () => {
  const orders = (answers: Record<string, Answer[]>, session: string | null = 'ses_1') => {
    const it = server(answers)
    const ways: Way[] = []
    const { send } = makeOrders({ backend: () => it.backend, notices: makeNotices(() => () => undefined), session: () => session, live: () => null, picked: () => null, setPicked: () => undefined, pickedEffort: () => null, setPickedEffort: () => undefined, onStarted: () => undefined })
    return { ...it, ways, send: () => send('Go', 'key-1', 'send', (next) => ways.push(next)) }
  }

  test('case 91: waits in a chat that works already, known by the code, under the same key', async () => {
    const it = orders({ 'POST /api/chat/start': [no('session_busy', 409)], 'POST /api/chat/queue': [{ items: [], paused: false, item: 'que_1' }] })
    expect(await it.send()).toMatchObject({ taken: true, say: expect.stringContaining('working already') as string })
    expect(it.calls[1]).toEqual(['POST /api/chat/queue', { session_id: 'ses_1', message: 'Go', key: 'key-1' }])
    expect(it.ways).toEqual(['queue'])
  })

  test('any other refusal is told as it is', async () => {
    const it = orders({ 'POST /api/chat/start': [no('session_profile_mismatch', 409)] })
    await expect(it.send()).rejects.toMatchObject({ code: 'session_profile_mismatch' })
    expect(it.routes()).toEqual(['start'])
  })

  test('says which chat it made', async () => {
    const it = orders({ 'POST /api/session/new': [{ session: { session_id: 'ses_made' } }] }, null)
    expect(await it.send()).toEqual({ taken: true, chat: 'ses_made' })
  })
})
