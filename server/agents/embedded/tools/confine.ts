import { constants, type Dirent } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, opendir, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Area } from './area'
import { ToolFault } from './tool'

/**
 * Files of one folder and no others (issue 3, item 5): a path is taken by where it really is, and no link is followed outside.
 *
 * A check of a path and its use are two moments, and a link may be put between them. So the thing is opened first, without following a link in the
 * last part, and then asked where it is: on Linux by `/proc/self/fd`, elsewhere by comparing device and inode with a second look. What is
 * written goes through the opened folder, so that swapping a folder for a link after the check leads nowhere.
 */
const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK, O_WRONLY, O_CREAT, O_EXCL } = constants

export interface Found { path: string; real: string; relative: string; kind: 'file' | 'folder' | 'other' }

/** The folder itself; throws `ToolFault` when it is gone. */
export async function rootOf(folder: string): Promise<string> {
  try {
    const real = await realpath(folder)
    if ((await stat(real)).isDirectory()) return real
  } catch {
    // Said below.
  }
  throw new ToolFault(`The workspace folder is not there: ${folder}`)
}

/** Where a path really is. Throws `ToolFault` when it is outside or not there. */
export async function find(area: Area, given: string): Promise<Found> {
  const path = lexical(area, given)
  let real: string
  try {
    real = await realpath(path)
  } catch (error) {
    throw notThere(given, error)
  }
  check(area, real, given)
  const kind = await stat(real).then((s) => (s.isFile() ? 'file' : s.isDirectory() ? 'folder' : 'other'), () => 'other' as const)
  return { path, real, relative: relative(area.root, real) || '.', kind }
}

/** Opens a file for reading; it is a regular one, and inside. The caller closes it. */
export async function openInside(area: Area, given: string): Promise<{ handle: FileHandle; real: string; size: number; mode: number }> {
  const { real } = await find(area, given)
  return await openReal(area, real, given)
}

async function openReal(area: Area, real: string, given: string): Promise<{ handle: FileHandle; real: string; size: number; mode: number }> {
  const handle = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    throw notThere(given, error)
  })
  try {
    const info = await handle.stat()
    await proveInside(area, handle, real, given)
    if (!info.isFile()) throw new ToolFault(info.isDirectory() ? `${given} is a folder.` : `${given} is not a regular file.`)
    return { handle, real, size: info.size, mode: info.mode }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Names in a folder that is really inside, at most `most`, sorted; entered by its handle, so that a link put in its place leads nowhere. */
export async function namesInside(area: Area, real: string, most: number): Promise<Dirent[]> {
  const handle = await open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
    throw notThere(relative(area.root, real), error)
  })
  try {
    await proveInside(area, handle, real, relative(area.root, real))
    const entries: Dirent[] = []
    for await (const entry of await opendir((await seesHandles()) ? `/proc/self/fd/${handle.fd}` : real)) if (entries.push(entry) >= most) break
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } finally {
    await handle.close()
  }
}

/** Where a file will be written: its real folder, which may have to be made, and its name. Links inside are followed to what they name. */
export async function placeFor(area: Area, given: string): Promise<{ folder: string; name: string; relative: string; exists: boolean }> {
  const path = lexical(area, given)
  if (path === area.root) throw new ToolFault(`${given} is the workspace folder.`)
  const there = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw notThere(given, error)
  })
  if (there !== null) {
    check(area, there, given)
    return { folder: dirname(there), name: basename(there), relative: relative(area.root, there), exists: true }
  }
  // A link that leads nowhere would be followed when it is written.
  if (await lstat(path).then(() => true, () => false)) throw new ToolFault(`${given} is a link that leads nowhere.`)
  let parent = dirname(path)
  const missing: string[] = []
  for (;;) {
    const real = await realpath(parent).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw notThere(given, error)
    })
    if (real !== null) {
      check(area, real, given)
      const folder = join(real, ...missing)
      check(area, join(folder, basename(path)), given)
      return { folder, name: basename(path), relative: join(relative(area.root, folder), basename(path)), exists: false }
    }
    if (await lstat(parent).then(() => true, () => false)) throw new ToolFault(`${given} goes through a link that leads nowhere.`)
    missing.unshift(basename(parent))
    parent = dirname(parent)
  }
}

/** Writes a whole file: beside it first, then renamed over it, through the opened folder. Keeps the mode of the file that stood there. */
export async function writeInside(area: Area, place: { folder: string; name: string }, content: string, mode: number | null, mark: string): Promise<void> {
  await makeFolders(area, place.folder)
  const folder = await open(place.folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
    throw notThere(place.folder, error)
  })
  try {
    await proveInside(area, folder, place.folder, place.folder)
    const base = (await seesHandles()) ? `/proc/self/fd/${folder.fd}` : place.folder
    const beside = join(base, `.${place.name.slice(0, 80)}.${mark}`)
    const file = await open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode === null ? 0o644 : mode & 0o777)
    try {
      try {
        await file.writeFile(content, 'utf8')
        if (mode !== null) await file.chmod(mode & 0o777)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(beside, join(base, place.name))
    } catch (error) {
      await rm(beside, { force: true })
      throw error
    }
  } catch (error) {
    throw error instanceof ToolFault ? error : new ToolFault(`${place.name} could not be written: ${(error as Error).message}`)
  } finally {
    await folder.close()
  }
}

/** Makes missing folders one by one, each proved to be inside before the next is made in it. */
async function makeFolders(area: Area, folder: string): Promise<void> {
  const parts = relative(area.root, folder).split(sep).filter(Boolean)
  let at = area.root
  for (const part of parts) {
    const next = join(at, part)
    const handle = await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
      throw notThere(at, error)
    })
    try {
      await proveInside(area, handle, at, at)
      const base = (await seesHandles()) ? `/proc/self/fd/${handle.fd}` : at
      await mkdir(join(base, part)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw new ToolFault(`The folder ${part} could not be made: ${error.message}`)
      })
    } finally {
      await handle.close()
    }
    at = next
  }
}

/** Throws unless what was opened is inside. */
async function proveInside(area: Area, handle: FileHandle, path: string, given: string): Promise<void> {
  if (await seesHandles()) {
    const real = await readlink(`/proc/self/fd/${handle.fd}`)
    check(area, real, given)
    return
  }
  const opened = await handle.stat()
  const real = await realpath(path).catch(() => '')
  const again = await stat(path).catch(() => null)
  check(area, real, given)
  if (again?.ino !== opened.ino || again.dev !== opened.dev) throw outside(given)
}

let handlesSeen: Promise<boolean> | null = null
/** Whether this system tells where an open file is. */
function seesHandles(): Promise<boolean> {
  handlesSeen ??= (async () => {
    const handle = await open('/', O_RDONLY | O_DIRECTORY).catch(() => null)
    if (!handle) return false
    try {
      return (await readlink(`/proc/self/fd/${handle.fd}`)) === '/'
    } catch {
      return false
    } finally {
      await handle.close()
    }
  })()
  return handlesSeen
}

function lexical(area: Area, given: string): string {
  if (given.includes('\0')) throw new ToolFault('A path cannot hold a NUL.')
  const path = resolve(area.root, given === '' ? '.' : given)
  if (!isInside(area.root, path)) throw outside(given)
  return path
}

export function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

function check(area: Area, real: string, given: string): void {
  if (!isInside(area.root, real)) throw outside(given)
  if (area.closed(real)) throw new ToolFault(`${given} is closed to file tools: keys are kept there.`)
}

function outside(given: string): ToolFault {
  return new ToolFault(`${given} is outside the workspace. File tools reach only what is inside it.`)
}

function notThere(given: string, error: unknown): ToolFault {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOENT' || code === 'ENOTDIR') return new ToolFault(`${given} does not exist.`)
  if (code === 'ELOOP') return new ToolFault(`${given} is a link; links are not followed here.`)
  if (code === 'EACCES' || code === 'EPERM') return new ToolFault(`${given} may not be read by this account.`)
  return new ToolFault(`${given} could not be opened: ${(error as Error).message}`)
}
