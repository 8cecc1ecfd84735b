import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { baseAddress, serverOf } from '../../../../server/models/address'
import { checkPlace, settleAddress } from '../../../../server/models/check'
import { makeCaller } from '../../../../server/models/http'
import { listModels } from '../../../../server/models/list'
import { cleanWords, messageOf } from '../../../../server/models/words'

type Answers = Record<string, (response: ServerResponse, key: string | undefined) => void>

describe('checking an address', () => {
  const caller = makeCaller()
  let server: Server
  let origin: string
  let answers: Answers
  let seen: string[]

  beforeEach(async () => {
    answers = {}
    seen = []
    server = createServer((request, response) => {
      const route = `${request.method} ${request.url}`
      seen.push(route)
      request.resume()
      const answer = answers[route]
      if (answer) answer(response, request.headers.authorization)
      else response.writeHead(404, { 'content-type': 'text/html' }).end('<html><body><h1>Not Found</h1></body></html>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const json = (status: number, body: unknown) => (response: ServerResponse) => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const check = (path = '/v1', key: string | null = null) => checkPlace(caller.call, { kind: 'openai', base_url: `${origin}${path}`, key })

  it('an address that lacks /v1 is found with it', async () => {
    answers['GET /api/v1/models'] = json(200, { data: [{ id: 'm' }] })
    expect(await check('/api')).toMatchObject({ ok: true, base_url: `${origin}/api/v1`, models: [{ id: 'm' }] })
  })

  it('an address that is kept without a check is settled, too', async () => {
    answers['GET /api/v1/models'] = json(200, { data: [{ id: 'm' }] })
    const settle = (path: string) => settleAddress(caller.call, { kind: 'openai', base_url: `${origin}${path}`, key: null }, 2_000)
    expect(await settle('/api')).toBe(`${origin}/api/v1`)
    expect(await settle('/other')).toBe(`${origin}/other`)
    expect(await settle('/x/v2')).toBe(`${origin}/x/v2`)
    answers['GET /api/models'] = json(401, { error: 'who?' })
    expect(await settle('/api')).toBe(`${origin}/api`)
  })

  it('a server without a list that serves chat is one', async () => {
    answers['POST /v1/chat/completions'] = json(422, { detail: [{ msg: 'field required' }] })
    expect(await check()).toMatchObject({ ok: true, listed: false, models: [] })
  })

  it('a web server is none', async () => {
    expect(await check()).toMatchObject({ ok: false, error: { kind: 'not_a_model_server', status: 404, words: 'Not Found' } })
    answers['GET /v1/models'] = (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html><title>Router</title></html>')
    expect(await check()).toMatchObject({ ok: false, error: { kind: 'not_a_model_server', words: 'Router' } })
  })

  it('a refused key is told in the server’s words, without the key', async () => {
    answers['GET /v1/models'] = (response, key) => json(401, { error: { message: `bad key ${key?.slice(7)}` } })(response)
    expect(await check('/v1', 'my-own-key-12345')).toEqual({ ok: false, error: { kind: 'auth', status: 401, words: 'bad key [key]' } })
  })

  it('a server that lists without looking at the key, but not its chat, is asked about chat only where there is no list', async () => {
    answers['GET /v1/models'] = json(200, { data: [] })
    expect(await check()).toEqual({ ok: true, kind: 'openai', base_url: `${origin}/v1`, listed: true, models: [] })
    expect(seen).toEqual(['GET /v1/models'])
  })

  it('a redirect is not followed', async () => {
    answers['GET /v1/models'] = (response) => void response.writeHead(302, { location: `${origin}/elsewhere` }).end()
    expect(await check('/v1', 'my-own-key-12345')).toMatchObject({ ok: false, error: { kind: 'http', status: 302, words: expect.stringContaining('/elsewhere') } })
    expect(seen).not.toContain('GET /elsewhere')
  })

  it('a server that says nothing ends by the deadline', async () => {
    answers['GET /v1/models'] = () => undefined
    expect(await listModels(caller.call, { kind: 'openai', base_url: `${origin}/v1`, key: null }, 150)).toMatchObject({ ok: false, error: { kind: 'timeout' } })
  })

  it('lists of other servers are understood', async () => {
    const list = async (body: unknown) => {
      answers['GET /v1/models'] = json(200, body)
      return await listModels(caller.call, { kind: 'openai', base_url: `${origin}/v1`, key: null }, 5_000)
    }
    expect(await list({ models: [{ name: 'llama3:8b' }, { model: 'x' }] })).toEqual({ ok: true, models: [{ id: 'llama3:8b', label: 'llama3:8b' }, { id: 'x', label: 'x' }] })
    expect(await list([{ id: 'a', display_name: 'Model A', max_model_len: 4096 }, 'b', null, { id: 7 }])).toEqual({ ok: true, models: [{ id: 'a', label: 'Model A', context_size: 4096 }, { id: 'b', label: 'b' }] })
    expect(await list({ data: [{ id: 'nomic-embed-text:latest' }, { id: 'whisper-1' }, { id: 'tts-1' }, { id: 'text-embedding-3-small' }, { id: 'embedded-coder' }] })).toEqual({ ok: true, models: [{ id: 'embedded-coder', label: 'embedded-coder' }] })
    expect(await list({ data: 'nothing' })).toMatchObject({ ok: false, error: { kind: 'not_a_model_server' } })
  })
})

describe('addresses', () => {
  it.each([
    ['http://localhost:11434', 'http://localhost:11434/v1'],
    ['https://api.example.com/', 'https://api.example.com/v1'],
    [' https://api.example.com/v1/ ', 'https://api.example.com/v1'],
    ['https://api.example.com/v1/chat/completions', 'https://api.example.com/v1'],
    ['https://api.example.com/x/v4/models?key=1#y', 'https://api.example.com/x/v4'],
    ['HTTP://[::1]:8000/v1', 'http://[::1]:8000/v1'],
    ['localhost:8000', null], ['ftp://x', null], ['', null], ['http://', null], ['http://a:b@c/v1', null], ['javascript:alert(1)', null],
  ])('%j is %j', (text, expected) => expect(baseAddress(text)).toBe(expected))

  it('names of this machine are one server', () => {
    expect(new Set(['http://localhost:80/v1', 'http://127.0.0.1/v1', 'http://[::1]/x', 'http://127.8.9.1'].map(serverOf)).size).toBe(1)
    expect(serverOf('https://a.example/v1')).not.toBe(serverOf('http://a.example/v1'))
  })
})

describe('words of providers', () => {
  it('are found in many forms of bodies', () => {
    expect(messageOf({ error: { message: 'a' } })).toBe('a')
    expect(messageOf({ error: 'b' })).toBe('b')
    expect(messageOf([{ error: { message: 'c' } }])).toBe('c')
    expect(messageOf({ detail: [{ msg: 'd' }, { msg: 'e' }] })).toBe('d; e')
    expect(messageOf({ type: 'overloaded_error' })).toBe('overloaded_error')
    expect(messageOf({})).toBeNull()
    expect(messageOf(null)).toBeNull()
  })
  it('are cut without breaking a character, and hold no control characters', () => {
    const words = cleanWords(`${'x'.repeat(1198)}\u{1F680}\u0000\u001b[31m`)
    expect(words.length).toBeLessThanOrEqual(1200)
    expect(words).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/)
    expect(cleanWords('a\u0000b\u001b[0m')).toBe('a b [0m')
  })
})
