import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Draft } from '../../server/contract/events'
import type { RouteName } from '../../server/contract/routes'
import { methodOf, pathOf, routeOf, routes } from '../../server/contract/routes'
import { details } from '../../server/contract/routes/details'
import { inputs } from '../../server/contract/routes/inputs'
import type { Problem } from '../../server/contract/problems'
import { startServer, type TestServer } from '../support/server'
import { call, newChat } from './api'
import { parseAnswers, request, wire } from './raw'

const SCRIPT = "document.documentElement.dataset.theme='dark'"
let server: TestServer
let client: string
beforeAll(async () => {
  client = mkdtempSync(join(tmpdir(), 'talaria-client-'))
  mkdirSync(join(client, 'assets'))
  const files: Record<string, string> = {
    'index.html': `<!doctype html><script>${SCRIPT}</script><script type="module" src="/assets/main-a1b2c3d4.js"></script>`,
    'sw.js': '/* worker */',
    'manifest.webmanifest': '{}',
    'assets/main-a1b2c3d4.js': `export const text = '${'x'.repeat(2000)}'`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(client, name), text)
  writeFileSync(join(client, 'assets/main-a1b2c3d4.js.gz'), gzipSync(files['assets/main-a1b2c3d4.js']!))
  server = await startServer({ clientFolder: client, parts: { allowedHosts: new Set(['talaria.example']), allowedOrigins: new Set(['https://chat.example']) } })
})
afterAll(async () => {
  expect(server.errors.map(String)).toEqual([])
  await server.end()
  rmSync(client, { recursive: true })
})

/** One request with exactly these header lines, and its answer. */
async function raw(method: string, path: string, host: string, lines: string[] = []) {
  const line = await wire(server.port)
  line.write(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${lines.map((each) => `${each}\r\n`).join('')}\r\n`)
  await line.closed()
  const answer = parseAnswers(line.text())[0]!
  line.end()
  return { ...answer, problem: () => JSON.parse(answer.body) as Problem, header: (name: string) => answer.headers.find(([each]) => each === name)?.[1] }
}

describe('the Host of a request', () => {
  it.each(['localhost', 'localhost:1', '127.0.0.1', '127.9.9.9:8787', '[::1]', '[::1]:8787', 'LOCALHOST', 'talaria.example', 'talaria.example:443'])('%s is served', async (host) => {
    expect((await raw('GET', '/health', host)).status).toBe(200)
  })
  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', '0.0.0.0', '[::]', 'evil.example#localhost', 'localhost@evil.example', 'localhost:99999', '', 'a b'])('%j is misdirected, on a GET of the page and of the API', async (host) => {
    for (const path of ['/health', '/', '/api/sessions', '/nothing']) {
      const answer = await raw('GET', path, host)
      expect([path, answer.status]).toEqual([path, 421])
      expect(answer.problem().code).toBe('misdirected_host')
    }
  })
  it('is needed by HTTP/1.0, too; and the connection of a misdirected request without a body lives on', async () => {
    const old = await wire(server.port)
    old.write('GET /health HTTP/1.0\r\n\r\n')
    await old.closed()
    expect(parseAnswers(old.text())[0]).toMatchObject({ status: 421 })
    const line = await wire(server.port)
    line.write('GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n')
    await line.until(() => line.answers().length === 1)
    line.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await line.until(() => line.answers().length === 2)
    expect(line.answers().map((answer) => answer.status)).toEqual([421, 200])
    line.end()
  })
  it('is not to blame for a path that cannot be read', async () => {
    const answer = await raw('GET', '/a\\b', 'localhost')
    expect([answer.status, answer.problem().code]).toEqual([400, 'bad_request'])
  })
})

describe('who may act', () => {
  const acting = (Object.keys(routes) as RouteName[]).filter((name) => routeOf(name).act)
  it('every POST of the table acts, but for the reports of browsers; so does the GET that stops', () => {
    expect((Object.keys(routes) as RouteName[]).filter((name) => methodOf(name) === 'POST' && !routeOf(name).act)).toEqual(['POST /api/csp-report'])
    expect(acting).toContain('GET /api/chat/cancel')
  })
  it.each(acting)('%s is refused from another origin', async (name) => {
    const foreign = [['Origin: http://evil.example'], ['Origin: null'], ['Origin: http://localhost:1'], ['Referer: http://evil.example/page'], ['Sec-Fetch-Site: cross-site'], ['Sec-Fetch-Site: same-site']]
    for (const lines of foreign) {
      const answer = await raw(methodOf(name), pathOf(name), `localhost:${server.port}`, lines)
      expect([lines, answer.status]).toEqual([lines, 403])
      expect(answer.problem().code).toBe('cross_origin')
    }
  })
  it('the own origin, a person’s own address bar and a client that is no browser may', async () => {
    for (const lines of [[], [`Origin: http://localhost:${server.port}`, 'Sec-Fetch-Site: same-origin'], ['Sec-Fetch-Site: none'], [`Referer: http://localhost:${server.port}/session/x`]])
      expect((await raw('GET', '/api/chat/cancel?stream_id=run_x', `localhost:${server.port}`, lines)).status).toBe(200)
  })
  it('behind a proxy on 443 the default port counts', async () => {
    expect((await raw('GET', '/api/chat/cancel?stream_id=run_x', 'talaria.example', ['Origin: https://talaria.example'])).status).toBe(200)
  })
  it('a page of an allowed origin may, whatever Host its proxy sends, unless its browser says that it is foreign', async () => {
    const stop = (lines: string[]) => raw('GET', '/api/chat/cancel?stream_id=run_x', `localhost:${server.port}`, lines).then((answer) => answer.status)
    expect(await stop(['Origin: https://chat.example', 'Sec-Fetch-Site: same-origin'])).toBe(200)
    expect(await stop(['Referer: https://chat.example/session/x'])).toBe(200)
    expect(await stop(['Origin: https://chat.example', 'Sec-Fetch-Site: cross-site'])).toBe(403)
    expect(await stop(['Origin: http://chat.example'])).toBe(403)
    expect(await stop(['Origin: https://chat.example.evil.example'])).toBe(403)
  })
  it('reading is not acting', async () => {
    expect((await raw('GET', '/api/sessions', 'localhost', ['Sec-Fetch-Site: cross-site', 'Origin: http://evil.example'])).status).toBe(200)
  })
  it('no answer ever allows another origin', async () => {
    for (const method of ['GET', 'OPTIONS']) {
      const answer = await raw(method, '/api/sessions', 'localhost', ['Origin: http://evil.example', 'Access-Control-Request-Method: POST'])
      expect(answer.status).toBe(200)
      expect(answer.headers.some(([name]) => name.startsWith('access-control-'))).toBe(false)
    }
  })
})

describe('a chat of another profile', () => {
  const body = (name: RouteName, ids: { session: string; run: string }): Record<string, unknown> => {
    const shape = (inputs[name] as { shape?: Record<string, unknown> }).shape ?? {}
    return { ...('session_id' in shape ? { session_id: ids.session } : {}), ...('stream_id' in shape ? { stream_id: ids.run } : {}), title: 'x', message: 'x', choice: 'once', text: 'x', id: 'att_x', item: 'que_x', items: ['que_x'], enabled: true, response: 'x', secret_id: 'sec_x', value: 'x', seq: 1 }
  }
  const guarded = (Object.keys(routes) as RouteName[]).filter((name) => {
    const shape = (inputs[name] as { shape?: Record<string, unknown> }).shape ?? {}
    return 'session_id' in shape || 'stream_id' in shape
  })
  /** A chat with a settled run, written into the store as another profile's server would. */
  const foreign = async (profile: string) => {
    const [session, run, turn, row] = [`ses_${profile || 'none'}`, `run_${profile || 'none'}`, `trn_${profile || 'none'}`, `row_${profile || 'none'}`]
    const agent = { kind: 'scripted' as const, name: 'Scripted agent' }
    const drafts: Draft[] = [
      { type: 'session.created', title: 'Theirs', titleBy: 'person', profile, workspace: server.work, agent, model: null, source: 'talaria' },
      { type: 'turn.admitted', turn, row, n: 1, pos: '10', text: 'theirs', source: 'person' },
      { type: 'run.started', run, turn, generation: 1, attempt: 1, cause: 'sent', agent, model: null },
      { type: 'run.settled', run, turn, outcome: 'completed', timings: { total: 1 } },
    ]
    await server.store.append({ session, expectSeq: 1, generation: 1, urgency: 'now', events: drafts.map((draft, i) => ({ ...draft, session, seq: i + 1, at: Date.now() })) })
    return { session, run }
  }
  it('case 143: answers 409 with its owner on every route that names it, 404 when its profile is none that exists, and is never changed', async () => {
    const amber = await foreign('amber')
    const others = [await foreign('ghost'), await foreign('')]
    const before = await server.store.head()
    expect(guarded).toHaveLength(33)
    for (const name of guarded) {
      const theirs = await call(server, name, body(name, amber) as never)
      expect({ name, status: theirs.status, problem: theirs.problem }).toEqual({
        name, status: 409, problem: { error: 'Session belongs to a different profile', code: 'session_profile_mismatch', session_id: amber.session, profile: 'amber' },
      })
      for (const other of others) {
        const unknown = await call(server, name, body(name, other) as never)
        expect({ name, status: unknown.status, code: unknown.problem.code }).toEqual({ name, status: 404, code: 'session_not_found' })
      }
    }
    expect(await server.store.head()).toBe(before)
    expect((await call(server, 'GET /api/sessions', {})).body.sessions.map((each) => each.session_id)).not.toContain(amber.session)
  })
})

describe('answers', () => {
  it('carry the store, no caching and the security headers, also when they refuse', async () => {
    for (const [path, status] of [['/api/sessions', 200], ['/api/session/status?session_id=x', 404], ['/health', 200]] as const) {
      const answer = await raw('GET', path, 'localhost')
      expect(answer.status).toBe(status)
      expect(answer.header('x-talaria-store')).toBe(server.store.id)
      expect(answer.header('cache-control')).toBe('no-store')
      expect(answer.header('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.header('x-content-type-options')).toBe('nosniff')
      expect(answer.header('x-frame-options')).toBe('DENY')
      expect(answer.header('referrer-policy')).toBe('same-origin')
      expect(answer.header('content-security-policy')).toContain("require-trusted-types-for 'script'")
    }
  })
  it('an unknown path is 404, a known one with another method 405 with the methods it has', async () => {
    expect((await raw('GET', '/api/nothing', 'localhost')).problem()).toEqual({ error: 'not found', code: 'not_found' })
    const answer = await raw('DELETE', '/api/session/new', 'localhost')
    expect(answer.status).toBe(405)
    expect(answer.header('allow')).toBe('POST')
    const inPath = await raw('POST', '/api/sessions/ses_x/events', 'localhost')
    expect([inPath.status, inPath.header('allow')]).toEqual([405, 'GET'])
    expect((await raw('HEAD', '/api/events', 'localhost')).status).toBe(405)
    expect((await raw('HEAD', '/health', 'localhost')).status).toBe(200)
  })
  it('over 1 KB are compressed for those who take gzip, and only for those', async () => {
    const answer = async (accept: string) => {
      const line = await wire(server.port)
      line.write(request('GET', '/api/openapi.json', ['Connection: close', `Accept-Encoding: ${accept}`]))
      await line.closed()
      return parseAnswers(line.text())[0]!
    }
    const packed = await answer('br, gzip')
    expect(packed.headers).toContainEqual(['content-encoding', 'gzip'])
    const plain = await answer('gzip;q=0, identity')
    expect(plain.headers.some(([name]) => name === 'content-encoding')).toBe(false)
    expect(gunzipSync(Buffer.from(packed.body, 'latin1')).toString()).toBe(Buffer.from(plain.body, 'latin1').toString())
    const small = await raw('GET', '/api/nothing', 'localhost', ['Accept-Encoding: gzip'])
    expect(small.header('content-encoding')).toBeUndefined()
  })
  it('an error that nobody foresaw is a 500 without a word about our insides, and is reported', async () => {
    const window = server.store.window
    server.store.window = () => Promise.reject(new Error(`no such table in ${server.folder}`))
    const chat = await newChat(server)
    const answer = await call(server, 'GET /api/session/changes', { session_id: chat })
    server.store.window = window
    expect(answer.status).toBe(500)
    expect(answer.problem).toEqual({ error: 'Internal server error', code: 'internal' })
    expect(server.errors.splice(0).map(String)).toEqual([`Error: no such table in ${server.folder}`])
  })
})

describe('the page', () => {
  const get = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers })
  it('comes for its own addresses, and for nothing else', async () => {
    for (const path of ['/', '/index.html', '/session/ses_1', '/settings', '/settings/appearance']) {
      const answer = await get(path)
      expect([path, answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([path, 200, 'text/html; charset=utf-8', 'no-cache'])
    }
    for (const path of ['/nothing', '/session', '/session/a/b', '/assets/gone-a1b2c3d4.js', '/../package.json', '/%2e%2e/package.json', '/assets/', '/index.html.gz']) {
      const answer = await get(path)
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 404, 'application/json; charset=utf-8'])
    }
  })
  it('a hashed file never changes, the worker script is asked for each time', async () => {
    expect((await get('/assets/main-a1b2c3d4.js')).headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect((await get('/sw.js')).headers.get('cache-control')).toBe('no-cache')
    expect((await get('/manifest.webmanifest')).headers.get('content-type')).toBe('application/manifest+json; charset=utf-8')
  })
  it('an unchanged file is a 304', async () => {
    const first = await get('/')
    const again = await get('/', { 'If-None-Match': `W/${first.headers.get('etag')!}` })
    expect(again.status).toBe(304)
    expect(await again.text()).toBe('')
  })
  it('what was compressed at the build is sent so', async () => {
    const packed = await get('/assets/main-a1b2c3d4.js', { 'Accept-Encoding': 'gzip' })
    expect(packed.headers.get('content-encoding')).toBe('gzip')
    expect(await packed.text()).toContain('export const text')
    expect((await get('/assets/main-a1b2c3d4.js', { 'Accept-Encoding': 'identity' })).headers.get('content-encoding')).toBeNull()
  })
  it('may run its own scripts and the one inline script that was built into it', async () => {
    const policy = (await get('/')).headers.get('content-security-policy')!
    const hash = createHash('sha256').update(SCRIPT).digest('base64')
    expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`)
    for (const part of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]) expect(policy).toContain(part)
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
  })
  it('reports about the policy are taken from anywhere, kept, and answered with nothing', async () => {
    const answer = await fetch(`${server.url}/api/csp-report`, { method: 'POST', headers: { Origin: 'null', 'Content-Type': 'application/csp-report' }, body: '{"csp-report":{}}' })
    expect(answer.status).toBe(204)
    expect(server.composition.reports()).toEqual(['{"csp-report":{}}'])
    expect(server.errors.splice(0).map(String)).toEqual(['content policy report: {"csp-report":{}}'])
  })
})

describe('the OpenAPI document', () => {
  it('describes every route of the table and no other, with its input and its problems', async () => {
    const document = (await call(server, 'GET /api/openapi.json', {})).body as { openapi: string; paths: Record<string, Record<string, Record<string, unknown>>>; components: { schemas: Record<string, unknown> } }
    expect(document.openapi).toBe('3.1.0')
    const described = Object.entries(document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
    expect(described.sort()).toEqual(Object.keys(routes).sort())
    const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((each) => each.operationId))
    expect(new Set(ids).size).toBe(ids.length)
    const start = document.paths['/api/chat/start']!.post!
    expect(start).toMatchObject({ 'x-acts': true, requestBody: { content: { 'application/json': { schema: { type: 'object', required: ['session_id'] } } } } })
    expect(JSON.stringify(start.responses)).toContain('key_reused')
    expect(document.paths['/api/sessions/{session_id}/events']!.get!.parameters).toContainEqual({ name: 'session_id', in: 'path', required: true, schema: expect.objectContaining({ type: 'string' }) })
    expect(document.paths['/api/events']!.get!.parameters).toContainEqual({ name: 'after', in: 'query', required: false, schema: expect.objectContaining({ type: 'string' }) })
    for (const [, methods] of Object.entries(document.paths)) for (const operation of Object.values(methods)) expect(Object.keys(operation.responses as object)).toContain('200')
    // Every reference leads somewhere.
    for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) expect(document.components.schemas).toHaveProperty(name!)
    expect(Object.keys(details).sort()).toEqual(Object.keys(routes).sort())
  })
})

it('health says what runs here', async () => {
  const { body } = await call(server, 'GET /health', { deep: '1' })
  expect(body).toMatchObject({ status: 'ok', store: server.store.id, version: 'test', active_runs: 0, agents: [{ kind: 'scripted', state: 'ready' }, { kind: 'embedded', state: 'unavailable', code: 'no_model' }], checks: { store: { ok: true } } })
  expect(body.sessions).toBe((await call(server, 'GET /api/sessions', {})).body.webui_session_count)
  expect(body.uptime_seconds).toBeGreaterThanOrEqual(0)
})
