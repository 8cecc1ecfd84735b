import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../contract/problems'
import { BODY_IDLE_MS } from './body'
import { exchangeOf } from './gate'

/**
 * The body as it arrives, read no faster than the caller takes it. Throws a `Refusal` for one that is silent for too long, broken off, or longer than `cap` bytes;
 * what is left then stays unread, and the gate closes the connection with the answer. A caller that leaves early leaves the rest unread, too.
 */
export async function* bodyPieces(request: IncomingMessage, response: ServerResponse, limits: { cap: number; words: string; idleMs?: number }): AsyncGenerator<Buffer> {
  const exchange = exchangeOf(request)
  if (exchange && !exchange.declares) return
  if (exchange?.awaitsContinue) response.writeContinue()
  let size = 0
  let wake = (): void => undefined
  let over: 'end' | 'gone' | null = null
  const end = (): void => ((over ??= 'end'), wake())
  const gone = (): void => ((over ??= 'gone'), wake())
  const readable = (): void => wake()
  request.on('readable', readable).on('end', end).on('error', gone).on('close', gone)
  try {
    for (;;) {
      const piece = request.read() as Buffer | null
      if (piece === null) {
        if (over === 'end') return
        if (over === 'gone') throw new Refusal('bad_request', 'The request body broke off')
        await heard((ring) => (wake = ring), limits.idleMs ?? BODY_IDLE_MS)
        continue
      }
      size += piece.length
      if (size > limits.cap) throw new Refusal('body_too_large', limits.words)
      yield piece
    }
  } finally {
    request.off('readable', readable).off('end', end).off('error', gone).off('close', gone)
    // A late error of a broken body has been answered already.
    request.on('error', () => {})
    request.pause()
  }
}

function heard(arm: (ring: () => void) => void, idleMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const idle = setTimeout(() => reject(new Refusal('bad_request', 'The request body did not arrive in time')), idleMs)
    arm(() => {
      clearTimeout(idle)
      resolve()
    })
  })
}
