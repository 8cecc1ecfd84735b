import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a whole file that only this account can read (0600), durable before it resolves: written beside as `<name>.<random>.tmp`, synced, renamed, folder
 * synced. The folder must be there. Rejects with the system's error and leaves what was there.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const beside = `${path}.${randomUUID()}.tmp`
  try {
    const file = await open(beside, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(beside, path)
    const parent = await open(dirname(path), 'r')
    await parent.sync().catch(() => undefined).finally(() => parent.close())
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined)
    throw error
  }
}
