import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Problem, ProblemCode } from '../contract/problems'
import { readFraming } from './framing'
import { linger } from './linger'

/** What the body reader and the tests must know of one request. */
export interface Exchange {
  /** The request declares a body. */
  declares: boolean
  /** Its last byte was read. */
  ended: boolean
  /** The client waits for `100 Continue` before it sends the body; given only when somebody wants to read it. */
  awaitsContinue: boolean
}

export interface Gate {
  /** From now on every answer closes its connection. */
  drain(): void
}

export interface GateOptions {
  /** Largest body in bytes. */
  cap: number
  /** Headers of every answer, refusals of the gate included. */
  headers(request: IncomingMessage): Record<string, string>
}

const exchanges = new WeakMap<IncomingMessage, Exchange>()
const closing = new WeakSet<Socket>()
/** Answers whose headers are out and whose end is not. */
const answering = new WeakMap<Socket, number>()

export function exchangeOf(request: IncomingMessage): Exchange | undefined {
  return exchanges.get(request)
}

/**
 * Stands between Node and everything else and keeps the framing table of spec/server.md §1.3: a request whose framing cannot be decoded is
 * refused before any handler runs; an answer given before the body was read says `Connection: close` once, and nothing more of
 * that connection is looked at, not even a request that came in the same segment.
 */
export function guard(server: Server, handle: (request: IncomingMessage, response: ServerResponse) => void, options: GateOptions): Gate {
  let draining = false

  const admit = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): boolean => {
    const socket = request.socket
    if (closing.has(socket)) return false
    const framing = readFraming(request.rawHeaders, options.cap)
    const exchange: Exchange = { declares: framing.state !== 'none', ended: false, awaitsContinue }
    exchanges.set(request, exchange)
    request.once('end', () => (exchange.ended = true))
    for (const [name, value] of Object.entries(options.headers(request))) response.setHeader(name, value)
    watchHeaders(response, () => draining || (exchange.declares && !exchange.ended))
    if (framing.state === 'refused') refuse(response, framing.status, framing.code, framing.error)
    else if (!request.url?.startsWith('/')) refuse(response, 400, 'bad_request', 'The request target must be a path')
    else return true
    return false
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (admit(request, response, false)) handle(request, response)
  })
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (admit(request, response, true)) handle(request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    if (admit(request, response, false)) refuse(response, 417, 'bad_request', 'This expectation cannot be met')
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => answerBroken(error, socket))

  return {
    drain() {
      draining = true
    },
  }
}

/** Decides about the connection at the last moment, when headers are written; implicit headers pass through `writeHead` too. */
function watchHeaders(response: ServerResponse, mustClose: () => boolean): void {
  const { socket } = response.req
  const writeHead = response.writeHead
  response.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    if (mustClose()) {
      response.setHeader('Connection', 'close')
      closing.add(socket)
      socket.destroySoon = () => linger(socket)
    }
    answering.set(socket, (answering.get(socket) ?? 0) + 1)
    response.once('close', () => answering.set(socket, (answering.get(socket) ?? 1) - 1))
    return Reflect.apply(writeHead, response, args) as ServerResponse
  } as ServerResponse['writeHead']
}

/** An undecodable request is never trusted to have ended where it seems to: its connection closes whatever it declares. */
function refuse(response: ServerResponse, status: number, code: ProblemCode, error: string): void {
  const body = problemBytes(code, error)
  exchanges.get(response.req)!.declares = true
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store', 'Content-Length': body.length })
  response.end(body)
}

/** What Node's parser could not read. Answered only where no other answer is on its way on that connection. */
function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (closing.has(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable || (answering.get(socket) ?? 0) > 0) {
    socket.destroy()
    return
  }
  closing.add(socket)
  const [status, reason, words] = broken(error.code)
  const body = problemBytes('bad_request', words)
  socket.write(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body.toString()}`,
  )
  linger(socket)
}

function broken(code: string | undefined): [number, string, string] {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'Request Header Fields Too Large', 'The request headers are too large']
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout', 'The request did not arrive in time']
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return [413, 'Payload Too Large', 'The chunk extensions are too large']
  return [400, 'Bad Request', 'The request could not be read']
}

function problemBytes(code: ProblemCode, error: string): Buffer {
  const problem: Problem = { error, code }
  return Buffer.from(JSON.stringify(problem))
}
