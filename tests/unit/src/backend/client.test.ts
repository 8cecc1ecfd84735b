// @vitest-environment node
import { expect, test } from 'vitest'
import { makeBackend, type ClientParts } from '../../../../src/backend/client'
import { isUnreachable, ProblemError } from '../../../../src/backend/port'
import { STORE_HEADER } from '../../../../server/contract/wire'

function client(answer: (request: Request) => Response | Promise<Response>, more: Partial<ClientParts> = {}) {
  const requests: Request[] = []
  const doubts: number[] = []
  const backend = makeBackend({
    base: 'http://localhost:8787',
    fetch: async (request) => {
      requests.push(request)
      return answer(request)
    },
    localShim: () => null,
    doubt: () => doubts.push(1),
    ...more,
  })
  return { backend, requests, doubts }
}

const json = (body: unknown, init: ResponseInit = {}) => Response.json(body, init)
const failure = async (work: Promise<unknown>): Promise<ProblemError> => work.then(() => Promise.reject(new Error('it did not fail')), (error: ProblemError) => error)

test('the input of a GET is its query, of a POST its JSON body', async () => {
  const { backend, requests } = client(() => json({ ok: true }))
  await backend.call('GET /api/session/changes', { session_id: 'ses/a b', after: '7', from: '', limit: 60 })
  expect(requests[0]!.url).toBe('http://localhost:8787/api/session/changes?session_id=ses%2Fa+b&after=7&from=&limit=60')
  await backend.call('POST /api/chat/start', { session_id: 'a', message: '雪', key: 'k' })
  expect(requests[1]!.method).toBe('POST')
  expect(requests[1]!.headers.get('Content-Type')).toBe('application/json')
  expect(await requests[1]!.json()).toEqual({ session_id: 'a', message: '雪', key: 'k' })
})

test('a problem is thrown as it is, with its status and the store that said so', async () => {
  const { backend, doubts } = client(() => json({ error: 'No such chat', code: 'session_not_found', session_id: 'a' }, { status: 404, headers: { [STORE_HEADER]: 'sto_1' } }))
  const error = await failure(backend.call('GET /api/session/status', { session_id: 'a' }))
  expect(error).toBeInstanceOf(ProblemError)
  expect(error).toMatchObject({ status: 404, code: 'session_not_found', store: 'sto_1', problem: { session_id: 'a' } })
  expect(doubts).toEqual([])
})

for (const [what, answer] of [
  ['nothing', () => Promise.reject(new TypeError('fetch failed'))],
  ['a proxy', () => new Response('<h1>Bad gateway</h1>', { status: 502 })],
  ['a login page', () => new Response('<form>', { status: 200, headers: { 'Content-Type': 'text/html' } })],
  ['a code that is none of ours', () => json({ error: 'nope', code: 'teapot' }, { status: 404 })],
  ['half an answer', () => new Response('{"rows": [', { status: 200 })],
] as [string, () => Response | Promise<Response>][])
  test(`where ${what} answers, the code is offline`, async () => {
    const { backend, doubts } = client(answer)
    expect(isUnreachable(await failure(backend.call('GET /api/models', {})))).toBe(true)
    expect(doubts.length).toBe(1)
  })

test('a caller who gives up gets the reason of its signal, and the connection is not doubted', async () => {
  const { backend, doubts } = client((request) => new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason as Error))))
  const controller = new AbortController()
  const work = backend.call('GET /api/models', {}, { signal: controller.signal })
  const reason = new Error('not wanted any more')
  controller.abort(reason)
  expect(await failure(work)).toBe(reason)
  expect(doubts).toEqual([])
})

test('where a copy answered is told beside the answer', async () => {
  const kept: unknown[] = []
  const { backend, doubts } = client(() => json({ groups: [] }, { headers: { 'X-Served-From': 'offline', 'X-Copy-At': '1700000000000' } }), { keep: (...given) => kept.push(given) })
  expect(await backend.ask('GET /api/models', {})).toMatchObject({ output: { groups: [] }, servedFrom: 'offline', copyAt: 1_700_000_000_000 })
  expect(doubts.length).toBe(1)
  expect(kept).toEqual([])
})

test('a good answer of the network to a route that a copy may answer is handed to the keeper', async () => {
  const kept: string[] = []
  const { backend } = client(() => json({ groups: [] }), { keep: (name) => kept.push(name) })
  expect(await backend.ask('GET /api/models', {})).toMatchObject({ servedFrom: 'network', copyAt: null })
  await backend.call('GET /api/session/status', { session_id: 'a' })
  expect(kept).toEqual(['GET /api/models'])
})

test('the shim of the page is asked only for what a copy may answer, and never for what must be fresh', async () => {
  const shimmed: string[] = []
  const { backend, requests } = client(() => json({ groups: [] }), {
    localShim: () => async (request) => {
      shimmed.push(new URL(request.url).pathname)
      return json({ groups: [] })
    },
  })
  await backend.call('GET /api/models', {})
  await backend.call('GET /api/models', {}, { fresh: true })
  await backend.call('GET /api/session/status', { session_id: 'a' })
  await backend.call('POST /api/session/rename', { session_id: 'a', title: 'b' })
  expect(shimmed).toEqual(['/api/models'])
  expect(requests.map((request) => request.cache)).toEqual(['no-store', 'no-store', 'no-store'])
})

test('an event stream is given as bytes, and anything else in its place is a failure', async () => {
  const stream = client(() => new Response('data: x\n\n', { headers: { 'Content-Type': 'text/event-stream; charset=utf-8', [STORE_HEADER]: 'sto_1' } }))
  const { bytes, store } = await stream.backend.events({}, new AbortController().signal)
  expect(store).toBe('sto_1')
  expect(new TextDecoder().decode((await bytes.getReader().read()).value)).toBe('data: x\n\n')
  const page = client(() => new Response('<html>', { headers: { 'Content-Type': 'text/html' } }))
  expect(isUnreachable(await failure(page.backend.events({}, new AbortController().signal)))).toBe(true)
})
