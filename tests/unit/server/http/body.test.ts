import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Refusal } from '../../../../server/contract/problems'
import { readBody } from '../../../../server/http/body'
import { guard } from '../../../../server/http/gate'

// A real server with small limits: 1000 bytes, and 100 ms for the next piece.
let server: Server
let port: number
beforeAll(async () => {
  server = createServer()
  guard(
    server,
    (request, response) =>
      void readBody(request, response, { cap: 1000, idleMs: 100 }).then(
        (bytes) => response.end(`read ${bytes.length}`),
        (error: unknown) => {
          response.statusCode = error instanceof Refusal ? error.status : 500
          response.end(error instanceof Refusal ? error.problem.code : String(error))
        },
      ),
    { cap: 10_000, headers: () => ({}) },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as { port: number }).port
})
afterAll(() => server.close())

/** Sends the pieces, one write each, and gives everything that came back until the connection closed. */
async function exchange(...pieces: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (bytes) => (text += String(bytes)))
  socket.on('error', () => {})
  for (const piece of pieces) {
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}
const head = (lines: string) => `POST / HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n`

it('a body in many pieces is read whole', async () => {
  expect(await exchange(head('Content-Length: 5\r\nConnection: close'), 'a', 'b', 'c', 'd', 'e')).toMatch(/200 OK[\s\S]*read 5$/)
  expect(await exchange(head('Transfer-Encoding: chunked\r\nConnection: close'), '2\r', '\nab\r\n', '3\r\ncde\r\n0\r\n\r\n')).toMatch(/200 OK[\s\S]*read 5/)
})
it('a request that comes byte by byte is read', async () => {
  expect(await exchange(...head('Content-Length: 2\r\nConnection: close'), 'o', 'k')).toMatch(/200 OK[\s\S]*read 2$/)
})
it('no body is an empty one', async () => {
  expect(await exchange(head('Connection: close'))).toMatch(/read 0$/)
})
it('a body that stops coming is given up, and the connection closed', async () => {
  expect(await exchange(head('Content-Length: 5'), 'ab')).toMatch(/^HTTP\/1\.1 400[\s\S]*Connection: close[\s\S]*bad_request$/)
})
it('a body above the cap is refused while it comes, and what follows on the connection is not looked at', async () => {
  const text = await exchange(head('Content-Length: 5000'), 'x'.repeat(5000) + head('Content-Length: 0'))
  expect(text).toMatch(/^HTTP\/1\.1 413[\s\S]*Connection: close[\s\S]*body_too_large/)
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
})
it('a body that breaks off in its framing is a 400, and the connection closes', async () => {
  const text = await exchange(head('Transfer-Encoding: chunked'), '2\r\nab\r\nzz\r\n')
  expect(text).toMatch(/^HTTP\/1\.1 400[\s\S]*Connection: close/)
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
})
