import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Problem } from '../../server/contract/problems'
import type { UploadedFile } from '../../server/contract/routes'
import { startServer, type TestServer } from '../support/server'
import { call, eventually, newChat, say, settled } from './api'
import { connectionHeaders, request, wire } from './raw'
import type { Answer } from './raw'

// Uploads by raw sockets (spec/server.md §1.3 "upload", §11, §19 B): the case numbers are the specification's.
let server: TestServer
let session: string
beforeAll(async () => {
  server = await startServer()
  session = await newChat(server)
})
afterAll(async () => {
  expect(server.errors).toEqual([])
  await server.end()
})

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(64, 7)])
const folder = (...rest: string[]) => join(server.folder, 'state', 'talaria', 'attachments', ...rest)
const onDisk = (chat: string): string[] => (existsSync(folder('chats', chat, 'files')) ? readdirSync(folder('chats', chat, 'files')).sort() : [])
const unfinished = (): string[] => (existsSync(folder('parts')) ? readdirSync(folder('parts')) : [])

type Part = { field: string; file?: string; body: string | Buffer; type?: string }
function form(parts: Part[], boundary = 'edge'): Buffer {
  return Buffer.concat([
    ...parts.flatMap(({ field, file, body, type }) => [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${field}"${file === undefined ? '' : `; filename="${file}"`}\r\n${type ? `Content-Type: ${type}\r\n` : ''}\r\n`), Buffer.from(body), Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ])
}
const of = (chat: string, ...files: Omit<Part, 'field'>[]) => form([{ field: 'session_id', body: chat }, ...files.map((file) => ({ field: 'file', ...file }))])
const head = (lines: string[]) => request('POST', '/api/upload', lines)
const framed = (body: Buffer, boundary = 'edge') => Buffer.concat([Buffer.from(head([`Content-Type: multipart/form-data; boundary=${boundary}`, `Content-Length: ${body.length}`])), body])

/** Sends bytes and a request behind them; the first answer, and whether the second request was answered. */
async function exchange(bytes: Buffer | string): Promise<{ answer: Answer; followed: boolean; problem: Problem }> {
  const line = await wire(server.port)
  line.write(Buffer.from(bytes as Buffer))
  await line.until(() => line.answers().length > 0)
  line.write(request('GET', '/health'))
  const closed = line.closed().then(() => false)
  const followed = await Promise.race([closed, line.until(() => line.answers().length > 1).then(() => true, () => false)])
  const [answer] = line.answers()
  line.end()
  const body = Buffer.from(answer!.body, 'latin1').toString('utf8')
  return { answer: { ...answer!, body }, followed, problem: (body === '' ? {} : JSON.parse(body)) as Problem }
}

async function uploaded(chat: string, name: string, body: string | Buffer, type?: string): Promise<UploadedFile> {
  const { answer } = await exchange(framed(of(chat, { file: name, body, ...(type ? { type } : {}) })))
  expect(answer.status, answer.body).toBe(200)
  return JSON.parse(answer.body) as UploadedFile
}

describe('framing', () => {
  it.each([['chunked (case 45)', ['Transfer-Encoding: chunked'], '0\r\n\r\n'], ['identity (case 46)', ['Transfer-Encoding: identity'], 'x'], ['an empty one (case 47)', ['Transfer-Encoding: '], 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n']] as const)('a transfer encoding: %s is 411, closed, and nothing behind it is answered', async (_, lines, body) => {
    const { answer, followed } = await exchange(head(['Content-Type: multipart/form-data; boundary=edge', ...lines]) + body)
    expect([answer.status, connectionHeaders(answer), followed]).toEqual([411, ['close'], false])
  })
  it.each([['an empty length (case 48)', ['Content-Length: ']], ['0_0 (case 49)', ['Content-Length: 0_0']], ['two that differ (case 50)', ['Content-Length: 0', 'Content-Length: 42']]])('%s is 400 and closed', async (_, lines) => {
    const { answer, followed } = await exchange(head(lines))
    expect([answer.status, connectionHeaders(answer), followed]).toEqual([400, ['close'], false])
  })
  it('no boundary and no body keeps the connection (case 51)', async () => {
    const { answer, followed } = await exchange(head([]))
    expect([answer.status, connectionHeaders(answer), followed]).toEqual([400, ['keep-alive'], true])
  })
  it('no boundary and bytes closes it (case 52)', async () => {
    const { answer, followed } = await exchange(`${head(['Content-Length: 12'])}123456789012`)
    expect([answer.status, connectionHeaders(answer), followed]).toEqual([400, ['close'], false])
  })
  it('a length one byte over the cap is 413 before the bytes come (case 53)', async () => {
    const { answer, followed, problem } = await exchange(head(['Content-Type: multipart/form-data; boundary=edge', `Content-Length: ${20 * 1024 * 1024 + 1}`]))
    expect([answer.status, problem, connectionHeaders(answer), followed]).toEqual([413, { error: 'File too large (max 20MB)', code: 'body_too_large' }, ['close'], false])
  })
  it('of another origin nothing is read', async () => {
    const { answer } = await exchange(Buffer.concat([Buffer.from(head(['Origin: https://elsewhere.example', 'Content-Type: multipart/form-data; boundary=edge', 'Content-Length: 5000'])), Buffer.alloc(10)]))
    expect(answer.status).toBe(403)
  })
})

describe('a form', () => {
  it.each([
    ['without a file (case 54)', () => of(session), 400, 'No file field in request'],
    ['with a file of no name (case 55)', () => of(session, { file: '', body: 'x' }), 400, 'No filename in upload'],
    ['without a chat', () => form([{ field: 'file', file: 'a.txt', body: 'x' }]), 400, 'session_id is required'],
  ] as const)('%s is refused, was read, and keeps the connection', async (_, body, status, error) => {
    const { answer, followed, problem } = await exchange(framed(body()))
    expect([answer.status, problem.error, connectionHeaders(answer), followed]).toEqual([status, error, ['keep-alive'], true])
    expect(unfinished()).toEqual([])
  })
  it('for an unknown chat is refused (case 56), in whatever order its fields come', async () => {
    const file = { field: 'file', file: 'a.txt', body: 'x' }
    for (const id of ['ses_nothing', '../../etc', '']) {
      for (const parts of [[{ field: 'session_id', body: id }, file], [file, { field: 'session_id', body: id }]]) {
        const { answer, problem } = await exchange(framed(form(parts)))
        expect([answer.status, problem.code]).toEqual([404, 'session_not_found'])
      }
    }
    expect(unfinished()).toEqual([])
  })
  it('for an unknown chat is refused before its file has come, and closed', async () => {
    const bytes = framed(of('ses_nothing', { file: 'a.bin', body: Buffer.alloc(500_000, 1) }))
    const { answer, followed } = await exchange(bytes.subarray(0, 1000))
    expect([answer.status, connectionHeaders(answer), followed, unfinished()]).toEqual([404, ['close'], false, []])
  })
  it('of another boundary than its header says, or that breaks off within, leaves nothing', async () => {
    const chat = await newChat(server)
    const whole = of(chat, { file: 'a.txt', body: 'some text' })
    const cases: Buffer[] = [framed(form([{ field: 'session_id', body: chat }, { field: 'file', file: 'a.txt', body: 'x' }], 'other')), framed(whole.subarray(0, whole.length - 8)), framed(Buffer.from('no form at all'))]
    for (const bytes of cases) {
      const { answer, problem } = await exchange(bytes)
      expect([answer.status, problem.code]).toEqual([400, 'bad_request'])
    }
    expect([onDisk(chat), unfinished()]).toEqual([[], []])
  })
  it('whose headers of a part are huge, or of too many parts, is refused', async () => {
    const huge = Buffer.from(`--edge\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nX-More: ${'x'.repeat(20_000)}\r\n\r\nx\r\n--edge--\r\n`)
    const many = form(Array.from({ length: 80 }, (_, i) => ({ field: `f${i}`, body: '' })))
    const files = form(Array.from({ length: 21 }, (_, i) => ({ field: 'file', file: `f${i}`, body: '' })))
    for (const body of [huge, many, files]) expect((await exchange(framed(body))).answer.status).toBe(400)
    expect(unfinished()).toEqual([])
  })
  it('may come byte by byte', async () => {
    const chat = await newChat(server)
    const line = await wire(server.port)
    const bytes = framed(of(chat, { file: 'slow.bin', body: 'a\r\n--edgy\r\n--edge\r-\n\r\n' }))
    for (const byte of bytes) {
      line.write(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await line.until(() => line.answers().length > 0)
    expect(line.answers()[0]!.status).toBe(200)
    expect(readFileSync(folder('chats', chat, 'files', 'slow.bin'), 'latin1')).toBe('a\r\n--edgy\r\n--edge\r-\n\r\n')
    line.end()
  })
})

describe('an upload that is cut', () => {
  it('because its chat is deleted in the middle of it is refused, and leaves nothing', async () => {
    const chat = await newChat(server)
    const bytes = framed(of(chat, { file: 'late.bin', body: Buffer.alloc(200_000, 1) }))
    const line = await wire(server.port)
    line.write(bytes.subarray(0, 150_000))
    await eventually('the file begins to arrive', () => unfinished().length > 0)
    await call(server, 'POST /api/session/delete', { session_id: chat })
    line.write(bytes.subarray(150_000))
    await line.until(() => line.answers().length > 0)
    expect(line.answers()[0]!.status).toBe(404)
    expect([existsSync(folder('chats', chat)), unfinished()]).toEqual([false, []])
    line.end()
  })
  it('in its headers, in a file, and before its end leaves nothing on the disk', async () => {
    const chat = await newChat(server)
    const bytes = framed(of(chat, { file: 'cut.bin', body: Buffer.alloc(300_000, 1) }))
    for (const at of [bytes.indexOf('cut.bin'), 150_000, bytes.length - 3]) {
      const line = await wire(server.port)
      line.write(bytes.subarray(0, at))
      if (at > 100_000) await eventually('the file begins to arrive', () => unfinished().length > 0)
      line.end()
      await eventually('what came is removed', () => unfinished().length === 0)
    }
    expect(onDisk(chat)).toEqual([])
  })
})

describe('a file', () => {
  it('is stored under a name that is safe, in its chat’s folder (case 57)', async () => {
    const chat = await newChat(server)
    const names: [string, string][] = [['../../a b?.txt', 'a_b_.txt'], ['C:\\boot\\x.ini', 'x.ini'], ['..', 'file'], ['/', 'file'], ['.env', '.env'], ['naïve 日本.md', 'naïve_日本.md'], ['a\u202egnp.exe', 'a_gnp.exe'], [`${'x'.repeat(400)}.png`, `${'x'.repeat(196)}.png`], ['a%22%0D%0A.txt', 'a___.txt']]
    for (const [claimed, stored] of names) {
      const file = await uploaded(chat, claimed, 'x')
      expect(file.filename).toMatch(new RegExp(`^${stored.replace(/[.]/g, '\\.').replace(/(\\\.\w+)?$/, '(-\\d+)?$1')}$`))
      expect(file.path).toBe(folder('chats', chat, 'files', file.filename))
      expect(statSync(file.path).size).toBe(1)
    }
    expect(onDisk(chat)).toHaveLength(names.length)
  })
  it('of the same name three times has three names (case 58)', async () => {
    const chat = await newChat(server)
    const names = [await uploaded(chat, 'n.txt', '1'), await uploaded(chat, 'n.txt', '2'), await uploaded(chat, 'n.txt', '3')].map(({ filename }) => filename)
    expect(names).toEqual(['n.txt', 'n-1.txt', 'n-2.txt'])
    expect(names.map((name) => readFileSync(folder('chats', chat, 'files', name), 'utf8'))).toEqual(['1', '2', '3'])
  })
  it('beside another in one form (case 59)', async () => {
    const chat = await newChat(server)
    const { answer } = await exchange(framed(of(chat, { file: 'a.txt', body: 'A' }, { file: 'b.txt', body: 'B' })))
    expect(JSON.parse(answer.body)).toMatchObject({ count: 2, files: [{ filename: 'a.txt', size: 1 }, { filename: 'b.txt', size: 1 }] })
    expect(onDisk(chat)).toEqual(['a.txt', 'b.txt'])
  })
  it('is what its bytes say, whatever name and type claim', async () => {
    const chat = await newChat(server)
    const types: [string, string | Buffer, string, boolean][] = [
      ['real.png', PNG, 'image/png', true], ['fake.png', '<script>alert(1)</script>', 'text/plain', false], ['x.svg', '<svg onload="x"/>', 'text/plain', false], ['photo.txt', Buffer.from('\xff\xd8\xff\xe0', 'latin1'), 'image/jpeg', true],
      ['a.webp', Buffer.from('RIFF\0\0\0\0WEBP', 'latin1'), 'image/webp', true], ['a.gif', 'GIF89a..', 'image/gif', true], ['a.md', '# ü', 'text/markdown', false], ['a.csv', 'a,b', 'text/csv', false], ['a.json', '{}', 'application/json', false],
      ['a.pdf', '%PDF-1.7', 'application/pdf', false], ['a.zip', 'PK\x03\x04', 'application/zip', false], ['a.bin', Buffer.from([0, 1, 2]), 'application/octet-stream', false], ['half.txt', Buffer.from([0x61, 0xc3]), 'application/octet-stream', false], ['none.txt', '', 'text/plain', false],
    ]
    for (const [name, body, mime, is_image] of types) expect(await uploaded(chat, name, body, 'image/png')).toMatchObject({ filename: name, mime, is_image, size: Buffer.byteLength(body as Buffer), digest: createHash('sha256').update(body).digest('hex') })
  })
  it('of nearly the whole cap passes through to the disk', async () => {
    const chat = await newChat(server)
    const body = Buffer.alloc(20 * 1024 * 1024 - 1024, 5)
    const { size, digest } = await uploaded(chat, 'big.bin', body)
    expect([size, digest]).toEqual([body.length, createHash('sha256').update(body).digest('hex')])
  })
  it('is nobody else’s: a chat of another profile refuses it', async () => {
    const chat = await newChat(server)
    const body = of(chat, { file: 'a.txt', body: 'x' })
    const { answer } = await exchange(Buffer.concat([Buffer.from(head(['Cookie: hermes_profile=amber', 'Content-Type: multipart/form-data; boundary=edge', `Content-Length: ${body.length}`])), body]))
    expect([answer.status, onDisk(chat)]).toEqual([409, []])
  })
})

describe('its bytes', () => {
  const get = (chat: string, id: string, headers: Record<string, string> = {}) => fetch(`${server.url}/api/attachment?session_id=${chat}&id=${id}`, { headers })

  it('are shown in place for a raster picture only, caged in either case', async () => {
    const chat = await newChat(server)
    const picture = await uploaded(chat, 'real.png', PNG)
    const page = await uploaded(chat, 'a %22page%22 ü.html', '<script>alert(1)</script>')
    const shown = await get(chat, picture.id)
    expect(Buffer.from(await shown.arrayBuffer()).equals(PNG)).toBe(true)
    const saved = await get(chat, page.id)
    expect([shown, saved].map(({ headers }) => [headers.get('content-type'), headers.get('content-disposition')])).toEqual([
      ['image/png', `inline; filename="real.png"; filename*=UTF-8''real.png`], ['application/octet-stream', `attachment; filename="a__page___.html"; filename*=UTF-8''a__page__%C3%BC.html`],
    ])
    for (const { headers } of [shown, saved]) expect([headers.get('content-security-policy'), headers.get('x-content-type-options'), headers.get('cache-control')]).toEqual(["default-src 'none'; sandbox", 'nosniff', 'private, no-cache'])
    expect((await get(chat, picture.id, { 'If-None-Match': shown.headers.get('etag')! })).status).toBe(304)
  })
  it('are those of one chat: not of another, not of an id that is a path', async () => {
    const [chat, other] = [await newChat(server), await newChat(server)]
    const { id } = await uploaded(chat, 'a.txt', 'x')
    for (const [whose, what] of [[other, id], [chat, 'att_nothing'], [chat, '../../kept/x'], [chat, `../new/${id}`]]) expect((await get(whose!, encodeURIComponent(what!))).status).toBe(404)
    const look = (what: string) => fetch(`${server.url}/api/attachment?session_id=${chat}&id=${what}`, { method: 'HEAD' }).then(({ status, headers }) => [status, headers.get('content-length')])
    expect([await look(id), (await look('att_nothing'))[0]]).toEqual([[200, '1'], 404])
  })
  it('go with the chat', async () => {
    const chat = await newChat(server)
    const { id } = await uploaded(chat, 'a.txt', 'x')
    await call(server, 'POST /api/session/delete', { session_id: chat })
    expect((await get(chat, id)).status).toBe(404)
    expect(existsSync(folder('chats', chat))).toBe(false)
  })
})

describe('a message with files', () => {
  it('names them by id, path, name or the original’s dict, each once; the transcript, the original’s messages and the agent have them', async () => {
    const chat = await newChat(server)
    const [a, b] = [await uploaded(chat, 'a.png', PNG), await uploaded(chat, 'b.txt', 'hello')]
    const started = await call(server, 'POST /api/chat/start', { session_id: chat, message: '[[say:ok]]', attachments: [{ id: a.id }, b.path, { name: 'a.png' }, { path: b.path, name: 'b.txt' }] })
    expect(started.status, JSON.stringify(started.problem)).toBe(200)
    await settled(server, started.body.stream_id)
    const { rows } = (await call(server, 'GET /api/session/changes', { session_id: chat })).body
    expect(rows.find(({ kind }) => kind === 'user')).toMatchObject({ text: '[[say:ok]]', attachments: [{ id: a.id, name: 'a.png', size: PNG.length, mime: 'image/png', digest: a.digest }, { id: b.id, name: 'b.txt', mime: 'text/plain' }] })
    expect(rows.filter(({ kind }) => kind === 'answer').map(({ text }) => text).join()).toContain('a.png (image/png, 72 bytes), b.txt (text/plain, 5 bytes)')
    expect((await call(server, 'GET /api/session', { session_id: chat })).body.session.messages[0]).toMatchObject({ role: 'user', content: '[[say:ok]]', attachments: ['a.png', 'b.txt'] })
  })
  it('that is edited keeps its files, unless the edit names others or none', async () => {
    const chat = await newChat(server)
    const [a, b] = [await uploaded(chat, 'a.txt', 'x'), await uploaded(chat, 'b.txt', 'y')]
    const first = await call(server, 'POST /api/chat/start', { session_id: chat, message: '[[say:1]]', attachments: [{ id: a.id }] })
    await settled(server, first.body.stream_id)
    const question = async () => (await call(server, 'GET /api/session/changes', { session_id: chat })).body.rows.find((row) => row.kind === 'user')!
    for (const [attachments, names] of [[undefined, ['a.txt']], [[{ id: b.id }], ['b.txt']], [[], undefined]] as const) {
      const edited = await call(server, 'POST /api/chat/start', { session_id: chat, message: '[[say:2]]', replace_from: (await question()).id, ...(attachments ? { attachments: [...attachments] } : {}) })
      expect(edited.status, JSON.stringify(edited.problem)).toBe(200)
      await settled(server, edited.body.stream_id)
      expect(await question()).toMatchObject({ text: '[[say:2]]' })
      expect((await question() as { attachments?: { name: string }[] }).attachments?.map(({ name }) => name)).toEqual(names)
    }
  })
  it('may have no words, and is then called by its files', async () => {
    const chat = await newChat(server)
    const { id } = await uploaded(chat, 'a.txt', 'x')
    const started = await call(server, 'POST /api/chat/start', { session_id: chat, message: '', attachments: [{ id }] })
    expect([started.status, started.body.title]).toEqual([200, 'a.txt'])
    await call(server, 'GET /api/chat/cancel', { stream_id: started.body.stream_id })
    await settled(server, started.body.stream_id)
  })
  it('is refused for a file that is not there, of another chat, or one that nothing names; the same request with its key is answered the same again', async () => {
    const [chat, other] = [await newChat(server), await newChat(server)]
    const { id, path } = await uploaded(other, 'a.txt', 'x')
    for (const given of [{ id }, path, 'a.txt', { id: '../x' }, 'nothing.txt']) expect((await call(server, 'POST /api/chat/start', { session_id: chat, message: 'x', attachments: [given] })).problem.code).toBe('attachment_gone')
    expect((await call(server, 'POST /api/chat/start', { session_id: chat, message: 'x', attachments: [{}] })).problem.code).toBe('bad_request')
    for (const route of ['POST /api/chat/start', 'POST /api/chat/queue'] as const) expect((await call(server, route, { session_id: 'ses_nothing', message: 'x', attachments: [{ id }] })).problem.code).toBe('session_not_found')
    expect((await call(server, 'POST /api/chat/queue/change', { session_id: 'ses_nothing', item: 'que_x', message: 'x', attachments: [{ id }] })).problem.code).toBe('session_not_found')
    const once = { session_id: other, message: '[[say:ok]]', key: 'k', attachments: [{ id }] }
    const first = await call(server, 'POST /api/chat/start', once)
    await settled(server, first.body.stream_id)
    expect((await call(server, 'POST /api/chat/start', once)).body).toEqual(first.body)
    expect((await call(server, 'POST /api/chat/start', { ...once, attachments: [] })).problem.code).toBe('key_reused')
  })
  it('waits with them: changed, joined, and sent as one', async () => {
    const chat = await newChat(server)
    const [a, b] = [await uploaded(chat, 'a.txt', 'x'), await uploaded(chat, 'b.txt', 'y')]
    const run = await say(server, chat, '[[ask:ls]]')
    const one = await call(server, 'POST /api/chat/queue', { session_id: chat, message: 'one', attachments: [{ id: a.id }] })
    expect(one.body.items).toMatchObject([{ message: 'one', attachments: [{ id: a.id, name: 'a.txt' }] }])
    await call(server, 'POST /api/chat/queue/change', { session_id: chat, item: one.body.item!, message: 'first' })
    const two = await call(server, 'POST /api/chat/queue', { session_id: chat, message: '', attachments: ['b.txt'] })
    const items = [one.body.item!, two.body.item!]
    const joined = await call(server, 'POST /api/chat/queue/combine', { session_id: chat, items })
    expect(joined.body.items).toMatchObject([{ message: 'first', attachments: [{ id: a.id }, { id: b.id }] }])
    expect((await call(server, 'POST /api/chat/queue/change', { session_id: chat, item: items[0]!, message: 'first', attachments: [{ id: b.id }] })).body.items).toMatchObject([{ attachments: [{ id: b.id }] }])
    expect((await call(server, 'POST /api/chat/queue/change', { session_id: chat, item: items[0]!, message: '', attachments: [] })).problem.code).toBe('message_required')
    await call(server, 'POST /api/chat/queue/send', { session_id: chat, item: items[0]!, stop: true, run })
    const sent = await eventually('it is sent', async () => (await call(server, 'GET /api/session/changes', { session_id: chat })).body.rows.find((row) => row.kind === 'user' && row.text === 'first'))
    expect(sent).toMatchObject({ attachments: [{ id: b.id, name: 'b.txt' }] })
  })
})
