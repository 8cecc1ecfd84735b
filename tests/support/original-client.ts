import { request } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'

/**
 * A client that knows only the original's API (spec/features.md §2–3): paths, payloads, codes and event names. It imports nothing of the product; its HTTP is Node's, its
 * reader of event streams follows the specification of EventSource.
 */

/** What it reads of a message. */
export interface OriginalMessage { role: string; content: string; [name: string]: unknown }
export interface OriginalChat { session_id: string; messages: OriginalMessage[]; active_stream_id: string | null; title: string; message_count: number; [name: string]: unknown }
/** A question that is pending: an approval or a clarifying one. */
export interface OriginalPending { approval_id: string; clarify_id: string; secret_id: string; choices: string[]; [name: string]: unknown }

/** What it reads of answers and of the data of events; each has some of it. */
export interface Told {
  session: OriginalChat
  sessions: OriginalChat[]
  session_id: string
  stream_id: string
  active_stream_id: string
  code: string
  error: string
  text: string
  pending: OriginalPending | null
  pending_count: number
  [name: string]: unknown
}

export interface Answer { status: number; headers: IncomingHttpHeaders; body: Told; text: string }

export interface Frame { id: string | null; event: string; data: Told }

type Query = Record<string, string | number>

export class OriginalClient {
  constructor(private readonly port: number, private readonly headers: Record<string, string> = {}) {}

  get(path: string, query: Query = {}): Promise<Answer> {
    return this.#ask('GET', path + search(query))
  }

  post(path: string, body: Record<string, unknown>): Promise<Answer> {
    return this.#ask('POST', path, JSON.stringify(body))
  }

  /** A new chat; its id. */
  async chat(): Promise<string> {
    return (await this.post('/api/session/new', {})).body.session.session_id
  }

  /** Starts a turn; the id of its stream. */
  async start(session: string, message: string): Promise<string> {
    const started = await this.post('/api/chat/start', { session_id: session, message })
    if (started.status !== 200) throw new Error(`start: ${started.status} ${started.text}`)
    return started.body.stream_id
  }

  /** What the chat's messages are now. */
  async messages(session: string): Promise<OriginalMessage[]> {
    return (await this.get('/api/session', { session_id: session })).body.session.messages
  }

  /** Asks `pending` again and again, as the shipped page does, until something is pending. */
  async pending(kind: 'approval' | 'clarify' | 'secret', session: string): Promise<OriginalPending> {
    for (const deadline = Date.now() + 10_000; Date.now() < deadline; await pause(10)) {
      const { pending } = (await this.get(`/api/${kind}/pending`, { session_id: session })).body
      if (pending) return pending
    }
    throw new Error(`Nothing is pending (${kind})`)
  }

  /** Opens an event stream; resolves with its headers. */
  open(path: string, query: Query = {}, headers: Record<string, string> = {}): Promise<EventStream> {
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: this.port, path: path + search(query), headers: { ...this.headers, Accept: 'text/event-stream', ...headers } })
      sent.on('response', (response) => resolve(new EventStream(sent, response))).on('error', reject).end()
    })
  }

  /** The stream of one run. */
  run(stream: string, query: Query = {}, headers: Record<string, string> = {}): Promise<EventStream> {
    return this.open('/api/chat/stream', { stream_id: stream, ...query }, headers)
  }

  #ask(method: string, path: string, body?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: this.port, method, path, headers: { ...this.headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }) } })
      sent.on('error', reject).on('response', (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part)).on('error', reject).on('end', () => {
          const text = Buffer.concat(parts).toString('utf8')
          resolve({ status: response.statusCode!, headers: response.headers, body: JSON.parse(text) as Told, text })
        })
      })
      sent.end(body)
    })
  }
}

/** Reads an event stream as EventSource does, and keeps what came. */
export class EventStream {
  readonly frames: Frame[] = []
  comments = 0
  over = false
  lastId: string | null = null
  #line = ''
  #data: string[] = []
  #event = ''

  constructor(private readonly sent: ClientRequest, private readonly response: IncomingMessage) {
    sent.on('error', () => this.#end())
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#take(text)).on('error', () => this.#end()).on('close', () => this.#end())
  }

  get status(): number {
    return this.response.statusCode!
  }

  get headers(): IncomingHttpHeaders {
    return this.response.headers
  }

  names(): string[] {
    return this.frames.map((frame) => frame.event)
  }

  /** The text of all frames of a name. */
  text(name: string): string {
    return this.frames.filter((frame) => frame.event === name).map((frame) => frame.data.text).join('')
  }

  /** The first frame that passes, `from` on; waits for it. */
  async until(found: (frame: Frame) => boolean, from = 0): Promise<Frame> {
    for (const deadline = Date.now() + 10_000; ; await pause(3)) {
      const frame = this.frames.slice(from).find(found)
      if (frame) return frame
      if (this.over || Date.now() > deadline) throw new Error(`${this.over ? 'The stream ended' : 'Nothing came'}; frames: ${this.names().join(' ')}`)
    }
  }

  named(name: string, from = 0): Promise<Frame> {
    return this.until((frame) => frame.event === name, from)
  }

  /** Resolves when the server has ended it. */
  async ended(): Promise<void> {
    for (const deadline = Date.now() + 10_000; !this.over; await pause(3)) if (Date.now() > deadline) throw new Error(`The stream did not end; frames: ${this.names().join(' ')}`)
  }

  /** Breaks the connection off. */
  cut(): void {
    this.sent.destroy()
  }

  #end(): void {
    this.over = true
  }

  #take(text: string): void {
    this.#line += text
    for (let end = this.#line.indexOf('\n'); end >= 0; end = this.#line.indexOf('\n')) {
      const line = this.#line.slice(0, end).replace(/\r$/, '')
      this.#line = this.#line.slice(end + 1)
      this.#field(line)
    }
  }

  #field(line: string): void {
    if (line === '') return this.#dispatch()
    if (line.startsWith(':')) return void this.comments++
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'id') this.lastId = value
    else if (name === 'event') this.#event = value
    else if (name === 'data') this.#data.push(value)
  }

  #dispatch(): void {
    if (this.#data.length > 0) this.frames.push({ id: this.lastId, event: this.#event || 'message', data: JSON.parse(this.#data.join('\n')) as Told })
    this.#data = []
    this.#event = ''
  }
}

function search(query: Query): string {
  const text = new URLSearchParams(Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))).toString()
  return text === '' ? '' : `?${text}`
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
