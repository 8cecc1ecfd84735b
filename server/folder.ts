import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder, and those above it that are missing, with that mode; one that is there stays as it is. Rejects with the system's error. Node's own
 * recursive `mkdir` never returns where a folder neither is there nor can be made, as below `/proc`.
 */
export async function makeFolder(path: string, mode: number): Promise<void> {
  const failed = await attempt(path, mode)
  if (failed === null) return
  if (failed.code !== 'ENOENT' || dirname(path) === path) throw failed
  await makeFolder(dirname(path), mode)
  const again = await attempt(path, mode)
  if (again) throw again
}

async function attempt(path: string, mode: number): Promise<NodeJS.ErrnoException | null> {
  try {
    await mkdir(path, { mode })
    return null
  } catch (error) {
    const there = await stat(path).then((info) => info.isDirectory(), () => false)
    return there ? null : (error as NodeJS.ErrnoException)
  }
}
