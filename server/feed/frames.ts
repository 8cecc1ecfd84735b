import type { FrameName, Frames } from '../contract/wire'
import type { Committed } from '../store/port'

/** One frame of a stream as bytes. `id` is what a reader resumes from. */
export function encodeFrame(name: string, data: unknown, id?: string): Buffer {
  return Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
}

export function encodeWire<N extends FrameName>(name: N, data: Frames[N], id?: string): Buffer {
  return encodeFrame(name, data, id)
}

/** A comment: invisible to clients, proof of life to what stands between. */
export const KEEPALIVE = Buffer.from(': keepalive\n\n')

/** What a reader with that session open gets. */
export function fullFrame(entry: Committed): Buffer {
  return encodeWire('change', { session: entry.session, events: entry.events, ...listPart(entry) }, String(entry.rev))
}

/** What every other reader gets; null when the list shows no difference. */
export function listFrame(entry: Committed): Buffer | null {
  if (!entry.entry && !entry.removed) return null
  return encodeWire('change', { session: entry.session, ...listPart(entry) }, String(entry.rev))
}

function listPart(entry: Committed): Pick<Frames['change'], 'entry' | 'removed'> {
  return { ...(entry.entry ? { entry: entry.entry } : {}), ...(entry.removed ? { removed: true as const } : {}) }
}
