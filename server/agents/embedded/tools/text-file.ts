import type { Area } from './area'
import { openInside } from './confine'
import { ToolFault } from './tool'

export interface TextFile { text: string; real: string; mode: number; /** The file is longer than what was read. */ cut: boolean; size: number }

/** Reads text, at most `limit` bytes of it; throws `ToolFault` for binary content. */
export async function readText(area: Area, given: string, limit: number): Promise<TextFile> {
  const { handle, real, size, mode } = await openInside(area, given)
  try {
    const bytes = Buffer.alloc(Math.min(limit, Math.max(size, 0) + 1))
    let filled = 0
    while (filled < bytes.length) {
      const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    const read = bytes.subarray(0, filled)
    const cut = size > filled
    const text = decode(read, cut)
    if (text === null) throw new ToolFault(`${given} is a binary file of ${size} bytes.`)
    return { text, real, mode, cut, size }
  } finally {
    await handle.close()
  }
}

/** Text of UTF-8 bytes; null for what is none. A cut in the last character is forgiven. */
export function decode(bytes: Uint8Array, cut: boolean): string | null {
  if (bytes.subarray(0, 8192).includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: cut })
  } catch {
    return null
  }
}
