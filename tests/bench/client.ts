import { Agent, get, request, type IncomingMessage } from 'node:http'

/** A reader of the event stream that only looks at text. */
export interface Stream { wait(until: (text: string) => boolean): Promise<void>; hear(listener: (text: string) => void): void; close(): void }

/** Opens a stream and keeps reading it. */
export function openStream(url: string): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const asked = get(url, (response: IncomingMessage) => {
      const waiting = new Set<{ until: (text: string) => boolean; done: () => void }>()
      const listeners: ((text: string) => void)[] = []
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        for (const listener of listeners) listener(text)
        for (const one of [...waiting])
          if (one.until(text)) {
            waiting.delete(one)
            one.done()
          }
      })
      response.on('error', () => undefined)
      resolve({
        wait: (until) => new Promise((done) => waiting.add({ until, done })),
        hear: (listener) => void listeners.push(listener),
        close: () => asked.destroy(),
      })
    })
    asked.on('error', reject)
  })
}

/** A reader that takes its headers and then nothing more. */
export function stall(url: string): Promise<{ close(): void }> {
  return new Promise((resolve) => {
    const asked = request(url, (response) => {
      response.pause()
      response.on('error', () => undefined)
      resolve({ close: () => asked.destroy() })
    })
    asked.on('error', () => undefined)
    asked.end()
  })
}

const kept = new Agent({ keepAlive: true })

/** Over a kept connection and without a client library: what is measured is the server. */
export function post(url: string, body: unknown): Promise<Record<string, unknown>> {
  const bytes = Buffer.from(JSON.stringify(body))
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', agent: kept, headers: { 'Content-Type': 'application/json', 'Content-Length': bytes.length } }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve(JSON.parse(text) as Record<string, unknown>))
      response.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(bytes)
  })
}

/** A new chat's id. */
export async function newSession(url: string): Promise<string> {
  const { session } = (await post(`${url}/api/session/new`, {})) as { session: { session_id: string } }
  return session.session_id
}
