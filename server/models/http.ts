import type { Dispatcher, errors } from 'undici'

/**
 * One call to a model server. undici's `request` and not its `fetch`: redirects are never followed (a key goes only where it was given for), ports that browsers
 * refuse are fine, and there is no time-out but those of the caller (an answer may think for an hour).
 */
export interface Call {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
}
export interface Answer {
  status: number
  type: string
  location?: string
  body: AsyncIterable<Uint8Array>
  /** Ends the connection without reading on. */
  drop(): void
}
/** Rejects with the network's error; see `networkWords`. */
export type Caller = (call: Call) => Promise<Answer>

/** undici is half of the server's code, and a start calls nobody: it is loaded with the first call. */
const loadUndici = () => import('undici')

/**
 * Connections are kept for some seconds; `end` closes them all. A kept connection that the server closed just as it was used again has lost nothing but
 * time: such a call is made once more, on a fresh one. No other call is ever repeated here.
 */
export function makeCaller(): { call: Caller; end(): Promise<void> } {
  let dispatcher: Dispatcher | undefined
  return {
    call: async ({ url, method, headers, body, signal }) => {
      const { Agent, errors, request } = await loadUndici()
      dispatcher ??= new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 20_000 }, keepAliveTimeout: 4_000, pipelining: 1 })
      const options = { method, headers: { 'accept-encoding': 'identity', ...headers }, body, signal, dispatcher }
      const answer = await request(url, options).catch((error: unknown) => {
        if (signal.aborted || !(error instanceof errors.SocketError) || !wasKept(error)) throw error
        return request(url, { ...options, reset: true })
      })
      // Without a listener, an abort after the head would be an unhandled error; readers get it from the iteration.
      answer.body.on('error', () => undefined)
      return {
        status: answer.statusCode,
        type: one(answer.headers['content-type']) ?? '',
        location: one(answer.headers['location']),
        body: answer.body,
        drop: () => void answer.body.destroy(),
      }
    },
    end: async () => dispatcher?.destroy(),
  }
}

/** The connection had served an earlier call: undici tells what it had read by then. */
function wasKept(error: errors.SocketError): boolean {
  return (error.socket?.bytesRead ?? 0) > 0
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/** Reads a body as text, at most `limit` bytes of it. */
export async function textOf(answer: Answer, limit: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let left = limit
  for await (const piece of answer.body) {
    text += decoder.decode(piece.subarray(0, left), { stream: true })
    left -= piece.length
    if (left <= 0) {
      answer.drop()
      break
    }
  }
  return text + decoder.decode()
}

/** What the network said, as a sentence: `connect ECONNREFUSED 127.0.0.1:1234`. */
export function networkWords(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return networkWords(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? error.cause : null
  if (cause && (error.message === 'fetch failed' || error.message === '')) return networkWords(cause)
  const code = (error as NodeJS.ErrnoException).code
  const message = error.message || error.name
  return code && !message.includes(code) ? `${message} (${code})` : message
}
