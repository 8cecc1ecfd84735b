import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { constants } from 'node:fs'

/** What the demo looks at in a working folder; a parameter, so that tests need no disk. */
export interface Folder {
  /** Names in the folder itself, sorted, folders with a trailing slash; hidden ones and links are left out. At most 200. */
  list(cwd: string): Promise<string[]>
  /** The beginning of a plain file of that folder, at most 16 KiB; no links are followed. */
  read(cwd: string, name: string): Promise<string>
}

const READ_LIMIT = 16_384

/** The real folder on this machine. */
export function realFolder(): Folder {
  return {
    async list(cwd) {
      const entries = await readdir(cwd, { withFileTypes: true })
      const shown = entries.filter((entry) => !entry.name.startsWith('.') && (entry.isFile() || entry.isDirectory()))
      return shown.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort().slice(0, 200)
    },
    async read(cwd, name) {
      if (name.includes('/') || name.includes('\\') || name === '..' || name === '.') throw new Error('only files of the folder itself are read')
      const path = join(cwd, name)
      if (!(await lstat(path)).isFile()) throw new Error(`${name} is not a plain file`)
      const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
      try {
        const buffer = Buffer.alloc(READ_LIMIT)
        const { bytesRead } = await file.read(buffer, 0, READ_LIMIT, 0)
        return buffer.subarray(0, bytesRead).toString('utf8')
      } finally {
        await file.close()
      }
    },
  }
}
