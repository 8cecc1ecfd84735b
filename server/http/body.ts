import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../contract/problems'
import { tooLarge } from './framing'
import { exchangeOf } from './gate'

/** 20 MiB, the original's cap of a JSON body. */
export const BODY_CAP = 20 * 1024 * 1024
/** How long the next piece of a body may take. */
export const BODY_IDLE_MS = 30_000

/**
 * The whole body, or a `Refusal`: above the cap, silent for too long, or broken off. After a refusal the rest is left unread, and the gate
 * closes the connection with the answer. `wipe`: its pieces are filled with zeros once they were joined; the answer is the caller's to wipe.
 */
export function readBody(request: IncomingMessage, response: ServerResponse, limits: { cap: number; idleMs: number; wipe?: boolean } = { cap: BODY_CAP, idleMs: BODY_IDLE_MS }): Promise<Buffer> {
  const exchange = exchangeOf(request)
  if (exchange && !exchange.declares) return Promise.resolve(Buffer.alloc(0))
  if (exchange?.awaitsContinue) response.writeContinue()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let idle: NodeJS.Timeout | undefined
    const wait = () => {
      clearTimeout(idle)
      idle = setTimeout(() => fail(new Refusal('bad_request', 'The request body did not arrive in time')), limits.idleMs)
    }
    const leave = () => {
      clearTimeout(idle)
      if (limits.wipe) for (const chunk of chunks) chunk.fill(0)
      request.off('data', data).off('end', end).off('error', gone).off('close', gone)
    }
    const fail = (refusal: Refusal) => {
      leave()
      request.pause()
      // A late error of the broken body has been answered already.
      request.on('error', () => {})
      reject(refusal)
    }
    const data = (chunk: Buffer) => {
      size += chunk.length
      if (size > limits.cap) fail(new Refusal('body_too_large', tooLarge(size, limits.cap)))
      else {
        chunks.push(chunk)
        wait()
      }
    }
    const end = () => {
      const whole = Buffer.concat(chunks, size)
      leave()
      resolve(whole)
    }
    const gone = () => fail(new Refusal('bad_request', 'The request body broke off'))
    request.on('data', data).on('end', end).on('error', gone).on('close', gone)
    wait()
  })
}

/**
 * The body as a JSON object; an absent body is an empty one. Bytes that are no UTF-8 are refused, never replaced: what is stored is what was sent.
 * `wipe`: no byte of it is left in a buffer of ours afterwards.
 */
export async function readJson(request: IncomingMessage, response: ServerResponse, { wipe = false }: { wipe?: boolean } = {}): Promise<Record<string, unknown>> {
  const bytes = await readBody(request, response, { cap: BODY_CAP, idleMs: BODY_IDLE_MS, wipe })
  if (bytes.length === 0) return {}
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Refusal('invalid_json', 'Invalid JSON body')
  } finally {
    if (wipe) bytes.fill(0)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refusal('invalid_json', 'The JSON body must be an object')
  return value as Record<string, unknown>
}
