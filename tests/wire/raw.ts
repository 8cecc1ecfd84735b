import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** What came back on one connection. */
export interface Answer {
  status: number
  /** Every header line, in order, names lower-case. */
  headers: [string, string][]
  body: string
}

export interface Wire {
  socket: Socket
  write(bytes: string | Buffer): void
  /** Everything received so far, as bytes of Latin-1. */
  text(): string
  answers(): Answer[]
  /** Resolves when the far side has closed, false when it has not after `ms`. */
  closed(ms?: number): Promise<boolean>
  /** Polls until the condition holds; throws with what was received when it does not. */
  until(condition: () => boolean, ms?: number): Promise<void>
  end(): void
}

/** A connection without any HTTP library: what is written is what is sent. */
export async function wire(port: number, host = '127.0.0.1'): Promise<Wire> {
  const socket = connect({ port, host, noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  const chunks: Buffer[] = []
  let ended = false
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', () => {})
  socket.on('end', () => (ended = true))
  socket.on('close', () => (ended = true))
  const text = () => Buffer.concat(chunks).toString('latin1')
  const until = async (condition: () => boolean, ms = 5000) => {
    const deadline = Date.now() + ms
    while (!condition()) {
      if (Date.now() > deadline) throw new Error(`It did not come about in ${ms} ms. Received:\n${text().slice(0, 2000)}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return {
    socket,
    write: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    text,
    answers: () => parseAnswers(text()),
    until,
    closed: (ms = 5000) => until(() => ended, ms).then(() => true, () => false),
    end: () => socket.destroy(),
  }
}

/** Whole answers with a length or a status that has no body, one after another; what follows and is not whole is left out. */
export function parseAnswers(text: string): Answer[] {
  const answers: Answer[] = []
  let at = 0
  for (;;) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end < 0) return answers
    const [first, ...lines] = text.slice(at, end).split('\r\n')
    const status = Number(first!.split(' ')[1])
    const headers = lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
    const value = (name: string) => headers.find(([each]) => each === name)?.[1]
    const from = end + 4
    if (status < 200) {
      answers.push({ status, headers, body: '' })
      at = from
      continue
    }
    if (value('transfer-encoding') === 'chunked') {
      const read = readChunks(text, from)
      if (!read) return answers
      answers.push({ status, headers, body: read.body })
      at = read.end
      continue
    }
    const length = Number(value('content-length') ?? 0)
    if (text.length < from + length) return answers
    answers.push({ status, headers, body: text.slice(from, from + length) })
    at = from + length
  }
}

function readChunks(text: string, from: number): { body: string; end: number } | null {
  let body = ''
  for (let at = from; ; ) {
    const line = text.indexOf('\r\n', at)
    if (line < 0) return null
    const size = parseInt(text.slice(at, line), 16)
    if (text.length < line + 2 + size + 2) return null
    body += text.slice(line + 2, line + 2 + size)
    at = line + 2 + size + 2
    if (size === 0) return { body, end: at }
  }
}

/** A request as bytes; `lines` are header lines as they stand. Host and nothing else is added. */
export function request(method: string, path: string, lines: string[] = [], body = ''): string {
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`
}

export function connectionHeaders(answer: Answer): string[] {
  return answer.headers.filter(([name]) => name === 'connection').map(([, value]) => value)
}
