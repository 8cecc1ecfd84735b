import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

/** Longest file of the Agent's that is read, bytes. */
const MOST = 2 * 1024 * 1024

/** A text file of the profile, whole; null when there is none. UTF-16 with its mark is understood, as editors on Windows leave it. Throws for what is too long or may not be read. */
export async function readProfileFile(path: string): Promise<string | null> {
  // A pipe in its place, as managers of secrets put one, would otherwise hold up whoever opens it until somebody writes.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (!handle) return null
  try {
    const info = await handle.stat()
    if (!info.isFile()) return null
    if (info.size > MOST) throw new Error(`${path} is longer than ${MOST} bytes`)
    const bytes = await handle.readFile()
    if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
    return new TextDecoder().decode(bytes)
  } finally {
    await handle.close()
  }
}
