import type { WebSocket as Socket } from 'ws'
import type { Timers } from '../port'
import { HermesFault } from './port'
import { parseEvent } from './protocol/events'
import type { Heard } from './protocol/events'

/** Hermes closes a socket that sends more at once (spec/hermes-rpc.md §1.2); we take no more either. Bytes. */
export const MOST_FRAME = 16 * 1024 * 1024

/** ms for the handshake on loopback; seen: 20 ms, and seconds while an agent is built. */
const HANDSHAKE = 10_000

export interface SocketParts {
  port: number
  token: string
  timers: Timers
  /** Events, as they arrive. */
  event(heard: Heard): void
  /** Once, when it has closed, however it did. */
  closed(): void
}

interface Pending { resolve(result: unknown): void; reject(fault: HermesFault): void; cancel(): void; method: string }

/** One WebSocket to Hermes: calls with deadlines, events, and nothing that is kept. What cannot be read is counted and ignored. */
export class RpcSocket {
  #count = 0
  #pending = new Map<number, Pending>()
  #open = true
  /** Frames that were nobody's: no JSON, no event, or an answer to nothing that was asked. */
  garbage = 0
  /** Monotonic ms of the last frame of any kind. */
  heard: number

  private constructor(private readonly socket: Socket, private readonly parts: SocketParts) {
    this.heard = parts.timers.monotonic()
    socket.on('message', (data, binary) => this.#take(binary ? null : textOf(data)))
    socket.on('error', () => undefined)
    socket.on('close', () => this.#lost())
  }

  /** Rejects with `lost` when the handshake fails. `ws` is loaded with the first one: most starts of the server need none. */
  static async open(parts: SocketParts): Promise<RpcSocket> {
    const { WebSocket } = await import('ws')
    const url = `ws://127.0.0.1:${parts.port}/api/ws?token=${encodeURIComponent(parts.token)}`
    return await new Promise((resolve, reject) => {
      const socket = new WebSocket(url, { maxPayload: MOST_FRAME, perMessageDeflate: false, handshakeTimeout: HANDSHAKE, followRedirects: false, skipUTF8Validation: false })
      let made: RpcSocket | null = null
      socket.once('error', (error: Error) => {
        if (!made) reject(new HermesFault('lost', `Hermes does not take the connection: ${error.message}`))
      })
      // Before it is open there is nothing to miss: listeners are on it before its first frame is read.
      socket.once('open', () => resolve((made = new RpcSocket(socket, parts))))
    })
  }

  get open(): boolean {
    return this.#open
  }

  /** Rejects with `slow` after `within` ms, `lost` when the socket closes before the answer, `rpc` with the program's own words and number. */
  call(method: string, params: object, within: number): Promise<unknown> {
    if (!this.#open) return Promise.reject(new HermesFault('lost', 'The connection to Hermes is lost.'))
    const id = ++this.#count
    const text = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    if (Buffer.byteLength(text) > MOST_FRAME) return Promise.reject(new HermesFault('garbled', 'This is more than Hermes takes at once (16 MiB).'))
    return new Promise((resolve, reject) => {
      const cancel = this.parts.timers.after(within, () => {
        this.#pending.delete(id)
        reject(new HermesFault('slow', `Hermes has not answered ${method} for ${Math.round(within / 1000)} seconds.`))
      })
      this.#pending.set(id, { resolve, reject, cancel, method })
      this.socket.send(text)
    })
  }

  pause(): void {
    if (this.#open) this.socket.pause()
  }

  resume(): void {
    if (this.#open) this.socket.resume()
  }

  close(): void {
    this.socket.resume()
    this.socket.close(1000)
    // Its own wait for the other side is 30 s; a hung program never answers.
    this.parts.timers.after(1_000, () => this.socket.terminate())
  }

  #take(text: string | null): void {
    this.heard = this.parts.timers.monotonic()
    const frame = text === null ? null : parsed(text)
    if (frame?.method === 'event') {
      const heard = parseEvent(frame)
      return heard ? this.parts.event(heard) : void this.garbage++
    }
    const pending = typeof frame?.id === 'number' ? this.#pending.get(frame.id) : undefined
    if (!frame || !pending) return void this.garbage++
    this.#pending.delete(frame.id as number)
    pending.cancel()
    if (isObject(frame.error)) {
      const { code, message } = frame.error
      pending.reject(new HermesFault('rpc', typeof message === 'string' ? message : `Hermes refused ${pending.method}.`, typeof code === 'number' ? code : undefined))
    } else if ('result' in frame) pending.resolve(frame.result)
    else pending.reject(new HermesFault('garbled', `Hermes answered ${pending.method} with nothing.`))
  }

  #lost(): void {
    this.#open = false
    for (const { reject, cancel } of this.#pending.values()) {
      cancel()
      reject(new HermesFault('lost', 'The connection to Hermes is lost.'))
    }
    this.#pending.clear()
    this.parts.closed()
  }
}

function textOf(data: unknown): string {
  return Array.isArray(data) ? Buffer.concat(data as Buffer[]).toString('utf8') : Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data as ArrayBuffer).toString('utf8')
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
