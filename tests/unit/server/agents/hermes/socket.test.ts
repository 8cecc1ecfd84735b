import { createServer } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { HermesFault } from '../../../../../server/agents/hermes/port'
import type { Heard } from '../../../../../server/agents/hermes/protocol/events'
import { RpcSocket } from '../../../../../server/agents/hermes/socket'
import { Wire } from '../../../../../server/agents/hermes/wire'
import { FakeTimers } from '../../../../support/fake-timers'

async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const end = Date.now() + 10_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 5))) {
    const found = await look()
    if (found) return found
  }
  throw new Error(`It did not come about: ${what}`)
}
const code = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', (error: unknown) => (error instanceof HermesFault ? error.code : String(error)))

describe('a socket to Hermes', () => {
  let clock: FakeTimers
  let http: Server
  let sockets: WebSocketServer
  let open: WebSocket[]
  let asked: IncomingMessage[]
  let refuse: boolean
  let heard: Heard[]
  let answer: (socket: WebSocket, frame: { id: number; method: string; params: Record<string, unknown> }) => void

  beforeEach(async () => {
    clock = new FakeTimers()
    open = []
    asked = []
    heard = []
    refuse = false
    answer = (socket, { id }) => socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: { id } }))
    http = createServer()
    sockets = new WebSocketServer({ noServer: true })
    http.on('upgrade', (request, socket, head) => {
      asked.push(request)
      if (refuse) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      sockets.handleUpgrade(request, socket, head, (made) => {
        open.push(made)
        made.on('message', (data) => answer(made, JSON.parse(String(data as Buffer))))
      })
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  })
  afterEach(() => {
    for (const socket of open) socket.terminate()
    http.close()
    http.closeAllConnections()
  })

  const port = (): number => (http.address() as AddressInfo).port
  const token = 'a secret/with?signs'
  let closed = 0
  const connect = (): Promise<RpcSocket> => RpcSocket.open({ port: port(), token, timers: clock, event: (event) => heard.push(event), closed: () => closed++ })
  const wire = (lost: () => void = () => undefined): Wire => new Wire({ contact: { port: port(), token }, timers: clock, event: (event) => heard.push(event), lost })

  it('names its token in the address alone, and no origin', async () => {
    await connect()
    const url = new URL(asked[0]!.url!, 'http://x')
    expect([url.pathname, url.searchParams.get('token'), asked[0]!.headers.origin, asked[0]!.headers.host]).toEqual(['/api/ws', token, undefined, `127.0.0.1:${port()}`])
  })

  it('that is refused says so without its token', async () => {
    refuse = true
    const fault = await connect().catch((error: unknown) => error as HermesFault)
    expect(fault).toMatchObject({ code: 'lost', message: 'Hermes does not take the connection: Unexpected server response: 403' })
  })

  it('pairs answers with questions in whatever order they come, and counts what is nobody\'s', async () => {
    const waiting: (() => void)[] = []
    answer = (socket, { id, method }) => waiting.push(() => socket.send(JSON.stringify(method === 'bad' ? { id, error: { code: 4009, message: 'busy' } } : method === 'none' ? { id } : { id, result: method })))
    const socket = await connect()
    const calls = ['one', 'bad', 'two', 'none'].map((method) => socket.call(method, {}, 1_000).catch((error: unknown) => [(error as HermesFault).code, (error as HermesFault).number]))
    await until('all were asked', () => waiting.length === 4)
    for (const send of waiting.reverse()) send()
    expect(await Promise.all(calls)).toEqual(['one', ['rpc', 4009], 'two', ['garbled', undefined]])
    const garbage = ['', '{', '[1]', 'null', '{"id":1,"result":{}}', '{"id":"1"}', '{"method":"event","params":[]}', '{"method":"other"}']
    for (const text of garbage) open[0]!.send(text)
    open[0]!.send(Buffer.from('{"method":"event","params":{"type":"error"}}'), { binary: true })
    open[0]!.send('{"method":"event","params":{"type":"gateway.ready"}}')
    await until('the last one came', () => heard.length === 1)
    expect(heard).toEqual([{ session: '', event: null }])
    expect(socket.garbage).toBe(garbage.length + 1)
    expect(socket.open).toBe(true)
  })

  it('gives up on an answer when its time is over, and ignores it when it comes after all', async () => {
    let late = (): void => undefined
    answer = (socket, { id }) => (late = () => socket.send(JSON.stringify({ id, result: 1 })))
    const socket = await connect()
    const call = code(socket.call('slow', {}, 5_000))
    await clock.advance(4_999)
    expect(await Promise.race([call, Promise.resolve('waits')])).toBe('waits')
    await clock.advance(1)
    expect(await call).toBe('slow')
    late()
    await until('it was counted', () => socket.garbage === 1)
  })

  it('that closes fails what was asked, once', async () => {
    answer = (socket) => socket.terminate()
    const socket = await connect()
    const before = closed
    expect(await Promise.all([code(socket.call('a', {}, 1_000)), code(socket.call('b', {}, 1_000))])).toEqual(['lost', 'lost'])
    expect(await code(socket.call('c', {}, 1_000))).toBe('lost')
    await until('that was told', () => closed > before)
    expect(closed).toBe(before + 1)
    expect(clock.pending).toBe(0)
  })

  it('is made again, with growing pauses, until it is ended', async () => {
    let lost = 0
    const made = wire(() => lost++)
    await made.ready(1_000)
    refuse = true
    open[0]!.terminate()
    await until('it was seen', () => lost === 1)
    expect(await code(made.call('x', {}, 1_000))).toBe('lost')
    await until('at once', () => asked.length === 2)
    for (const [index, pause] of [100, 300, 1_000, 3_000, 5_000, 5_000].entries()) {
      await until('the next try waits', () => clock.pending > 0)
      await clock.advance(pause - 1)
      expect(asked).toHaveLength(index + 2)
      await clock.advance(1)
      await until('the next try', () => asked.length === index + 3)
    }
    refuse = false
    await until('the next try waits', () => clock.pending > 0)
    await clock.advance(5_000)
    await made.ready(1_000)
    expect(await code(made.call('x', {}, 1_000))).toBe('done')
    made.end()
    expect(await code(made.ready(1_000))).toBe('lost')
    await until('it is closed', () => open.at(-1)!.readyState === 3)
    expect([asked.length, lost]).toEqual([9, 1])
  })

  it('that is not there in time says why', async () => {
    refuse = true
    const made = wire()
    const fault = made.ready(2_000).catch((error: unknown) => error as HermesFault)
    for (let i = 0; i < 4; i++) {
      await until('it was tried', () => asked.length > i)
      await clock.advance(600)
    }
    expect(await fault).toMatchObject({ code: 'lost', message: expect.stringContaining('403') as string })
    made.end()
  })

  it('is not read while it is paused, also one that was made meanwhile', async () => {
    const made = wire()
    made.pause()
    await made.ready(1_000)
    for (const times of [1, 2]) {
      open[0]!.send('{"method":"event","params":{"type":"message.start","session_id":"a"}}')
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(heard).toHaveLength(times - 1)
      made.resume()
      await until('it is told', () => heard.length === times)
      made.pause()
    }
    made.end()
    await until('it is closed', () => open[0]!.readyState === 3)
  })
})
