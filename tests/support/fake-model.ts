import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** One request as the fake server saw it. */
export interface SeenRequest { method: string; path: string; headers: IncomingMessage['headers']; body: Record<string, unknown>; /** Settles when the connection of this request has closed. */ closed: Promise<void> }

/** What is sent, in order: text or bytes as a write of its own; something to wait for; the end of the world in three forms. */
export type Piece = string | Uint8Array | (() => Promise<unknown>) | 'RESET' | 'CLOSE' | 'HANG'

export interface Reply { status?: number; headers?: Record<string, string>; /** Ends by itself after the last piece. */ pieces: Piece[] }

export interface FakeModel {
  port: number
  /** `http://127.0.0.1:<port>/v1` */
  base: string
  requests: SeenRequest[]
  /** Bodies of the calls of a model, in order. */
  asked(): Record<string, unknown>[]
  /** What answers calls that nothing is queued for. */
  answer: (request: SeenRequest) => Reply | null
  /** Answers the next call of a model; queued in order. */
  next(...replies: Reply[]): void
  /** Body of `GET /models`. */
  models: unknown
  close(): Promise<void>
}

/**
 * A model server whose every byte a test decides: a real HTTP server on loopback that speaks whatever it is told, oddities of real endpoints included
 * (spec/reports.md, PRV).
 */
export async function startFakeModel(): Promise<FakeModel> {
  const queue: Reply[] = []
  const sockets = new Set<Socket>()
  const server: Server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const fake: FakeModel = {
    port, base: `http://127.0.0.1:${port}/v1`, requests: [], models: { object: 'list', data: [{ id: 'fake-model', context_length: 32_000 }, { id: 'fake-other' }] },
    asked: () => fake.requests.filter((r) => r.method === 'POST').map((r) => r.body),
    answer: () => null,
    next: (...replies) => void queue.push(...replies),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const piece of request) text += String(piece)
    const seen: SeenRequest = {
      method: request.method ?? '', path: request.url ?? '', headers: request.headers, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      closed: new Promise((resolve) => response.on('close', resolve)),
    }
    fake.requests.push(seen)
    if (seen.method === 'GET') return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(fake.models))
    const reply = queue.shift() ?? fake.answer(seen)
    if (!reply) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"nothing is queued"}}')
    await send(reply, response)
  }
  return fake
}

async function send(reply: Reply, response: ServerResponse): Promise<void> {
  response.writeHead(reply.status ?? 200, { 'content-type': 'text/event-stream', ...reply.headers })
  response.flushHeaders()
  for (const piece of reply.pieces) {
    if (response.destroyed) return
    if (piece === 'HANG') return
    if (piece === 'RESET') return void (await settled(), response.socket?.resetAndDestroy())
    if (piece === 'CLOSE') return void (await settled(), response.destroy())
    if (typeof piece === 'string' || piece instanceof Uint8Array) {
      if (!response.write(piece)) await drained(response)
    } else await piece()
  }
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

/** What was written has left for the network. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}

/** A stream of events with these chunks, ended properly. */
export function stream(...chunks: unknown[]): Reply {
  return { pieces: [...chunks.map(event), 'data: [DONE]\n\n'] }
}

export function event(chunk: unknown): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}

export function delta(content: Record<string, unknown> | null, finish: string | null = null): unknown {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'fake-model', choices: [{ index: 0, delta: content, finish_reason: finish }] }
}

export function says(...texts: string[]): unknown[] {
  return [delta({ role: 'assistant', content: '' }), ...texts.map((content) => delta({ content })), delta({}, 'stop')]
}

export function calls(...list: { id?: string; name: string; args: unknown }[]): unknown[] {
  return [
    ...list.map(({ id, name, args }, index) => delta({ tool_calls: [{ index, id: id ?? `call_${name}_${index}`, type: 'function', function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) } }] })),
    delta({}, 'tool_calls'),
  ]
}
