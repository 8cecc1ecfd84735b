import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '../contract/problems'
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
  /** Other words for a body above the cap, where a route has its own. */
  tooLarge?(request: IncomingMessage): string | null
  /** Headers of every answer, refusals of the gate included. */
  headers(request: IncomingMessage): Record<string, string>
  /** Throws a `Refusal` for a request that nothing behind the gate may see. */
  check?(request: IncomingMessage): void
}

/** Requests of one connection that may wait for the answer before them; no honest client sends so many at once. */
const WAITING_MAX = 100

const exchanges = new WeakMap<IncomingMessage, Exchange>()
const connections = new WeakMap<Socket, Connection>()

/** What is known of one connection. */
interface Connection {
  /** An answer that closes it has been decided: nothing more that arrives on it is looked at. */
  closing: boolean
  /** A request whose answer is not decided yet. Later ones wait, because that answer may close the connection under them. */
  undecided: boolean
  waiting: (() => void)[]
  /** Answers whose headers are out and whose end is not. */
  answering: number
}

function connectionOf(socket: Socket): Connection {
  let connection = connections.get(socket)
  if (!connection) connections.set(socket, (connection = { closing: false, undecided: false, waiting: [], answering: 0 }))
  return connection
}

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
    const framing = readFraming(request.rawHeaders, options.cap)
    const exchange: Exchange = { declares: framing.state !== 'none', ended: false, awaitsContinue }
    exchanges.set(request, exchange)
    request.once('end', () => (exchange.ended = true))
    for (const [name, value] of Object.entries(options.headers(request))) response.setHeader(name, value)
    watchHeaders(response, () => draining || (exchange.declares && !exchange.ended))
    if (framing.state === 'refused') refuse(response, framing.status, framing.code, (framing.status === 413 && options.tooLarge?.(request)) || framing.error)
    else if (!request.url?.startsWith('/')) refuse(response, 400, 'bad_request', 'The request target must be a path')
    else return isLetIn(request, response)
    return false
  }

  const isLetIn = (request: IncomingMessage, response: ServerResponse): boolean => {
    try {
      options.check?.(request)
      return true
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      answer(response, error.status, error.problem.code, error.problem.error)
      return false
    }
  }

  /** One request of a connection at a time, until its answer is decided. */
  const inTurn = (request: IncomingMessage, begin: () => void) => {
    const connection = connectionOf(request.socket)
    if (connection.closing) return
    if (connection.undecided && connection.waiting.length >= WAITING_MAX) request.socket.destroy()
    else if (connection.undecided) connection.waiting.push(() => inTurn(request, begin))
    else {
      connection.undecided = true
      begin()
    }
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => inTurn(request, () => admit(request, response, false) && handle(request, response)))
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => inTurn(request, () => admit(request, response, true) && handle(request, response)))
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    inTurn(request, () => admit(request, response, false) && refuse(response, 417, 'bad_request', 'This expectation cannot be met')),
  )
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
  const connection = connectionOf(socket)
  const writeHead = response.writeHead
  let decided = false
  response.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    if (mustClose()) {
      response.setHeader('Connection', 'close')
      connection.closing = true
      socket.destroySoon = () => linger(socket)
    }
    if (!decided) connection.answering++
    const written = Reflect.apply(writeHead, response, args) as ServerResponse
    decide()
    return written
  } as ServerResponse['writeHead']
  response.once('close', () => {
    if (decided) connection.answering--
    decide()
  })
  const decide = () => {
    if (decided) return
    decided = true
    connection.undecided = false
    const next = connection.waiting.splice(0)
    if (!connection.closing) for (const begin of next) begin()
  }
}

/** An undecodable request is never trusted to have ended where it seems to: its connection closes whatever it declares. */
function refuse(response: ServerResponse, status: number, code: ProblemCode, error: string): void {
  exchanges.get(response.req)!.declares = true
  answer(response, status, code, error)
}

function answer(response: ServerResponse, status: number, code: ProblemCode, error: string): void {
  const body = problemBytes(code, error)
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store', 'Content-Length': body.length })
  response.end(body)
}

/** What Node's parser could not read. Answered only where no other answer is on its way on that connection. */
function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  const connection = connectionOf(socket)
  if (connection.closing) return
  if (error.code === 'ECONNRESET' || !socket.writable || connection.answering > 0) {
    socket.destroy()
    return
  }
  connection.closing = true
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
