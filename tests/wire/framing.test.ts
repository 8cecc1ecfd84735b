import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { declaredLength } from '../../server/http/framing'
import { startServer, type TestServer } from '../support/server'
import { connectionHeaders, request, wire, type Wire } from './raw'

// Cases of spec/server.md §19 A, by number, with the bad-Origin refusal as the reject site: an acting GET and a POST that come
// from a foreign page. Each is followed by a request on the same connection, in the same segment unless said otherwise.
let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  expect(server.errors).toEqual([])
  await server.end()
})

const BODY = '{"stale": true}'
const FOREIGN = 'Origin: http://evil.example'
const FOLLOW = request('GET', '/health')
const rejectedGet = (lines: string[] = [], body = '') => request('GET', '/api/chat/cancel?stream_id=run_x', [FOREIGN, ...lines], body)
const rejectedPost = (lines: string[] = [], body = '') => request('POST', '/api/session/new', [FOREIGN, ...lines], body)

async function send(bytes: string): Promise<Wire> {
  const line = await wire(server.port)
  line.write(bytes)
  return line
}

/** The refusal keeps the connection, and the follow-up is answered on it. */
async function kept(bytes: string, status = 403) {
  const line = await send(bytes + FOLLOW)
  await line.until(() => line.answers().length === 2)
  const [first, second] = line.answers()
  expect(first!.status).toBe(status)
  expect(connectionHeaders(first!)).not.toContain('close')
  expect(second!.status).toBe(200)
  line.end()
}

/** One answer that says once that it closes; then the connection ends and nothing else was answered. */
async function closed(bytes: string, statuses: number[]) {
  const line = await send(bytes)
  expect(await line.closed()).toBe(true)
  const answers = line.answers()
  expect(answers).toHaveLength(1)
  expect(statuses).toContain(answers[0]!.status)
  expect(connectionHeaders(answers[0]!)).toEqual(['close'])
  expect(line.text().match(/HTTP\/1\.1 /g)).toHaveLength(1)
  expect(JSON.parse(answers[0]!.body)).toMatchObject({ error: expect.any(String), code: expect.any(String) })
  return answers[0]!
}

async function closes(bytes: string, statuses: number[]): Promise<void> {
  await closed(bytes, statuses)
}

/** How many chats there are once everything sent so far has been done: one more is made, and commits follow each other. */
async function sessions(): Promise<number> {
  made++
  expect((await fetch(`${server.url}/api/session/new`, { method: 'POST', body: '{}' })).status).toBe(200)
  return (await server.store.list({ profile: 'default', limit: 500 })).entries.length - made
}
let made = 0

/** A request that would make a chat, hidden in what a lenient reader takes for the next request. */
const HIDDEN = request('POST', '/api/session/new', ['Content-Length: 0'])

describe('a refusal without a body keeps the connection', () => {
  it('1: no framing header', () => kept(rejectedGet()))
  it('2: Content-Length: 0', () => kept(rejectedGet(['Content-Length: 0'])))
  it('3: Content-Length: 00, and with spaces', async () => {
    await kept(rejectedGet(['Content-Length: 00']))
    await kept(rejectedGet(['Content-Length:    0']))
  })
  it('28: a POST without a body', () => kept(rejectedPost()))
  it('a DELETE without a body, whatever the method', () => kept(request('DELETE', '/api/session/new'), 405))
})

describe('a refusal with a body, or with framing that cannot prove that there is none, closes it', () => {
  it('4: a GET with a body', () => closes(rejectedGet(['Content-Length: 15'], BODY) + FOLLOW, [403]))
  it('5: an empty Content-Length', () => closes(rejectedGet(['Content-Length:'], BODY) + FOLLOW, [400]))
  it('6: +0', () => closes(rejectedGet(['Content-Length: +0'], BODY) + FOLLOW, [400]))
  it.each(['-0', '0_0', '+00', '0_0_0'])('7: %s', (value) => closes(rejectedGet([`Content-Length: ${value}`], BODY) + FOLLOW, [400]))
  it.each(['\u00a00', '0\u00a0', '\u00850'])('8: a length padded with %j', (value) => closes(rejectedGet([`Content-Length: ${value}`], BODY) + FOLLOW, [400]))
  it.each(['banana', '0x5', '1e1', '\u00b2'])('9: %s', (value) => closes(rejectedGet([`Content-Length: ${value}`], BODY) + FOLLOW, [400]))
  it('10: a length of 4301 nines', () => closes(rejectedGet([`Content-Length: ${'9'.repeat(4301)}`], BODY) + FOLLOW, [400, 413]))
  it('11: two lengths that disagree', () => closes(rejectedGet(['Content-Length: 0', 'Content-Length: 15'], BODY) + FOLLOW, [400]))
  it('15: two lengths that agree are refused by the parser (a deviation that is kept)', () => closes(rejectedGet(['Content-Length: 0', 'Content-Length: 0']) + FOLLOW, [400]))
  it('16: a chunked body', () => closes(rejectedPost(['Transfer-Encoding: chunked'], `f\r\n${BODY}\r\n0\r\n\r\n`) + FOLLOW, [403]))
  it('28: a POST with a body', () => closes(rejectedPost(['Content-Length: 15'], BODY) + FOLLOW, [403]))
})

describe('a transfer coding that is not exactly chunked never reaches a handler', () => {
  it.each([
    ['17', ['Transfer-Encoding: identity']],
    ['18', ['Transfer-Encoding: IDENTITY']],
    ['18', ['Transfer-Encoding: identity', 'Transfer-Encoding: identity']],
    ['18', ['Transfer-Encoding: identity,identity']],
    ['19', ['Transfer-Encoding:']],
    ['20', ['Transfer-Encoding:   \t ', 'Content-Length: 0']],
    ['21', ['Transfer-Encoding: gzip']],
    ['21', ['Transfer-Encoding: ,']],
    ['21', ['Transfer-Encoding: xchunked']],
    ['21', ['Transfer-Encoding: \u00a0identity']],
    ['22', ['Transfer-Encoding: gzip, chunked']],
    ['22', ['Transfer-Encoding: identity, chunked']],
    ['22', ['Transfer-Encoding: identity', 'Transfer-Encoding: chunked']],
    ['23', ['Transfer-Encoding: chunked', 'Content-Length: 0']],
  ])('%s: %j', async (number, lines) => {
    const before = await sessions()
    // Same origin: without the gate this very request, and the one hidden behind it, would each make a chat.
    await closed(request('POST', '/api/session/new', lines, HIDDEN), number === '23' ? [400, 411] : [411, 400])
    expect(await sessions()).toBe(before)
  })
})

describe('what a length declares', () => {
  it('12: agreeing zeros are no body, a disagreement is one', () => {
    expect(declaredLength(['0', '0'])).toEqual({ state: 'none' })
    expect(declaredLength(['0, 0'])).toEqual({ state: 'none' })
    expect(declaredLength(['0, 15']).state).not.toBe('none')
    expect(declaredLength(['15', '15'])).toEqual({ state: 'body', length: 15 })
  })
  it('13: a blank member is unreadable', () => {
    for (const values of [[' '], [''], ['', '15'], ['0,']]) expect(declaredLength(values).state).toBe('unreadable')
  })
  it('14: digits of other scripts are unreadable', () => {
    for (const value of ['\u0660', '\uff10', '\u00b2']) expect(declaredLength([value]).state).toBe('unreadable')
  })
})

describe('one connection after a refusal', () => {
  it('37: a request in the same segment behind an answer that closes is not run', async () => {
    const before = await sessions()
    await closed(rejectedPost(['Content-Length: 15'], BODY) + HIDDEN, [403])
    expect(await sessions()).toBe(before)
  })
  it('37: nor one behind an answer that is decided later', async () => {
    const before = await sessions()
    const line = await send(request('GET', '/health', ['Content-Length: 15'], BODY) + HIDDEN)
    expect(await line.closed()).toBe(true)
    expect(line.answers().map((answer) => answer.status)).toEqual([200])
    expect(await sessions()).toBe(before)
  })
  it('38: two Host headers', () => closes(request('GET', '/health', ['Host: localhost']), [400]))
  it('39: Expect: 100-continue is refused without a 100', async () => {
    const answer = await closed(rejectedPost(['Expect: 100-continue', 'Content-Length: 15']), [403])
    expect(answer.status).toBe(403)
  })
  it('Expect: 100-continue is met when the body is wanted', async () => {
    const line = await send(request('POST', '/api/session/rename', ['Expect: 100-continue', 'Content-Length: 2']))
    await line.until(() => line.answers().length === 1)
    expect(line.answers()[0]!.status).toBe(100)
    line.write('{}')
    await line.until(() => line.answers().length === 2)
    expect(line.answers()[1]!.status).toBe(400)
    line.end()
  })
  it('an expectation that nobody knows is a 417', () => closes(request('GET', '/health', ['Expect: sunshine']), [417]))
  it('40: a body that is announced and never sent', async () => {
    const line = await send(rejectedPost(['Content-Length: 15']))
    expect(await line.closed(1000)).toBe(true)
    expect(line.answers().map((answer) => answer.status)).toEqual([403])
  })
  it('42: a length of 2^63', () => closes(rejectedPost(['Content-Length: 9223372036854775808'], BODY) + FOLLOW, [400, 413]))
  it('43: a header block of 20 KiB', () => closes(request('GET', '/health', [`X-Long: ${'a'.repeat(20 * 1024)}`]), [431]))
  it('a chunk size that is none, in a body that is read', () => closes(request('POST', '/api/session/new', ['Transfer-Encoding: chunked'], 'zz\r\n'), [400]))
  it('an absolute request target', () => closes(`GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n`, [400]))
})

describe('bodies above the cap', () => {
  it('44: 21 MiB by its length, before it is read', async () => {
    const answer = await closed(request('POST', '/api/session/new', [`Content-Length: ${21 * 1024 * 1024}`]), [413])
    expect(JSON.parse(answer.body).error).toMatch(/^Request body too large \(22020096 bytes, max 20971520\)$/)
  })
  it('41: a body that grows above the cap while it is read; a new connection works and the old one ends', async () => {
    const line = await send(request('POST', '/api/session/new', ['Transfer-Encoding: chunked']))
    const piece = Buffer.alloc(1024 * 1024, 'a')
    for (let i = 0; i < 21 && !line.socket.destroyed; i++) {
      line.write(`${piece.length.toString(16)}\r\n`)
      line.write(piece)
      line.write('\r\n')
    }
    await line.until(() => line.answers().length === 1, 20_000)
    expect(line.answers()[0]!.status).toBe(413)
    expect(connectionHeaders(line.answers()[0]!)).toEqual(['close'])
    const other = await send(FOLLOW)
    await other.until(() => other.answers().length === 1)
    other.end()
    expect(await line.closed(7000)).toBe(true)
  })
  it('a csp report above its own smaller cap is 204, and closes', async () => {
    const line = await send(request('POST', '/api/csp-report', ['Content-Length: 100000'], 'x'.repeat(100_000)) + FOLLOW)
    expect(await line.closed()).toBe(true)
    expect(line.answers().map((answer) => answer.status)).toEqual([204])
  })
})

describe('a connection is kept where nothing speaks against it', () => {
  it('a body that is read, twice', async () => {
    const body = JSON.stringify({ session_id: 'nothing', title: 'x' })
    const post = request('POST', '/api/session/rename', [`Content-Length: ${body.length}`], body)
    const line = await send(post + post + FOLLOW)
    await line.until(() => line.answers().length === 3)
    expect(line.answers().map((answer) => answer.status)).toEqual([404, 404, 200])
    line.end()
  })
  it('35: a stream has at most one Connection header', async () => {
    const line = await send(request('GET', '/api/events'))
    await line.until(() => line.text().includes('event: synced'))
    expect(line.text().match(/^connection:/gim)?.length ?? 0).toBeLessThanOrEqual(1)
    line.end()
    const withBody = await send(request('GET', '/api/events', ['Content-Length: 15'], BODY))
    await withBody.until(() => withBody.text().includes('event: synced'))
    expect(withBody.text().match(/^connection:.*$/gim)).toEqual(['Connection: close'])
    withBody.end()
  })
})
