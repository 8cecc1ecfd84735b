import { createHash } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ATTACHMENTS_LIMIT } from '../contract/attachments'
import type { Attachment } from '../contract/attachments'
import { isPathSafeId } from '../contract/ids'
import type { Mint } from '../contract/ids'
import { Refusal } from '../contract/problems'
import { otherName, safeName } from './name'
import type { Attachments, Received } from './port'
import { makeSniffer } from './sniff'

export interface ShelfParts {
  /** `<state>/talaria/attachments`. */
  folder: string
  mint: Mint
  /** Server's ms. */
  now: () => number
  /** Whether this chat exists and was not deleted. */
  exists: (session: string) => Promise<boolean>
}

/** How long a file waits for a message that names it, ms. */
export const UNNAMED_MS = 24 * 3600 * 1000
/** Names that are tried where one is taken (spec/server.md §11). */
const NAMES = 1000

/**
 * On disk: `parts/` holds what is on its way; of each chat `chats/<id>/files` holds the bytes, and one record a file lies in `new` until a message names it and in
 * `kept` from then on. A record moves by rename, so that of a message that names a file and a sweep that removes it exactly one wins. A file without a record is none.
 */
export function makeShelf({ folder, mint, now, exists }: ShelfParts): Attachments {
  const parts = join(folder, 'parts')
  const chats = join(folder, 'chats')
  const of = (session: string, ...rest: string[]): string => {
    if (!isPathSafeId(session)) throw new Refusal('session_not_found', 'Session not found')
    return join(chats, session, ...rest)
  }
  const pathOf = (session: string, name: string): string => of(session, 'files', basename(name))

  const record = async (session: string, id: string): Promise<Attachment | null> =>
    isPathSafeId(id) ? ((await readRecord(of(session, 'kept', `${id}.json`))) ?? (await readRecord(of(session, 'new', `${id}.json`)))) : null
  const records = async (session: string): Promise<Attachment[]> => {
    const names = (await Promise.all(['kept', 'new'].map((state) => listed(of(session, state))))).flat()
    return (await Promise.all(names.map((name) => record(session, name.replace(/\.json$/, ''))))).filter((found) => found !== null)
  }

  /** By id, path or name, as ours and the original's clients name it. */
  const named = async (session: string, given: unknown): Promise<Attachment | null> => {
    const { id, path, name } = typeof given === 'string' ? { id: undefined, path: given, name: given } : (given as { id?: unknown; path?: unknown; name?: unknown } | null) ?? {}
    if (typeof id === 'string') return record(session, id)
    const all = await records(session)
    if (typeof path === 'string') return all.find((each) => pathOf(session, each.name) === path) ?? (typeof given === 'string' ? (all.find((each) => each.name === name) ?? null) : null)
    if (typeof name === 'string') return all.find((each) => each.name === name) ?? null
    throw new Refusal('bad_request', 'attachments is not valid')
  }

  return {
    pathOf,

    async receive() {
      await mkdir(parts, { recursive: true, mode: 0o700 })
      const part = join(parts, mint('att'))
      const file = await open(part, 'wx', 0o600)
      const hash = createHash('sha256')
      const sniffer = makeSniffer()
      let size = 0
      return {
        async write(bytes) {
          await file.writeFile(bytes)
          hash.update(bytes)
          sniffer.take(bytes)
          size += bytes.length
        },
        async end() {
          await file.sync()
          await file.close()
          return { part, size, digest: hash.digest('hex'), type: (name) => sniffer.type(name) }
        },
        async abandon() {
          await file.close().catch(() => undefined)
          await rm(part, { force: true })
        },
      }
    },

    async keep(session, received, claimed) {
      for (const state of ['files', 'new', 'kept']) await mkdir(of(session, state), { recursive: true, mode: 0o700 })
      const name = await settle(received, safeName(claimed), (each) => pathOf(session, each))
      const attachment: Attachment = { id: mint('att'), name, size: received.size, mime: received.type(name), digest: received.digest }
      try {
        await syncFolder(of(session, 'files'))
        await writeRecord(of(session, 'new'), attachment)
        for (const each of [of(session), chats, folder]) await syncFolder(each)
      } catch (error) {
        await rm(pathOf(session, name), { force: true })
        throw error
      }
      return { attachment, path: pathOf(session, name) }
    },

    async find(session, id) {
      const attachment = isPathSafeId(session) ? await record(session, id) : null
      return attachment && { attachment, path: pathOf(session, attachment.name) }
    },

    async claim(session, given) {
      if (given.length > ATTACHMENTS_LIMIT) throw new Refusal('bad_request', `A message has no more than ${ATTACHMENTS_LIMIT} files.`)
      const found = new Map<string, Attachment>()
      for (const each of given) {
        const attachment = await named(session, each)
        if (!attachment) throw gone()
        found.set(attachment.id, attachment)
      }
      for (const { id, name } of found.values()) {
        const kept = of(session, 'kept', `${id}.json`)
        await rename(of(session, 'new', `${id}.json`), kept).catch(absent)
        if (!(await readRecord(kept)) || !(await stat(pathOf(session, name)).catch(() => null))) throw gone()
      }
      if (found.size > 0) for (const state of ['kept', 'new']) await syncFolder(of(session, state))
      return [...found.values()]
    },

    async remove(session) {
      await rm(of(session), { recursive: true, force: true })
    },

    async discard(session, id) {
      const path = of(session, 'new', `${id}.json`)
      const found = isPathSafeId(id) ? await readRecord(path) : null
      if (!found) return
      await unlink(path)
      await rm(pathOf(session, found.name), { force: true })
    },

    async begin() {
      await rm(parts, { recursive: true, force: true })
    },

    async sweep() {
      const old = async (path: string): Promise<boolean> => now() - ((await stat(path).catch(() => null))?.mtimeMs ?? Infinity) > UNNAMED_MS
      for (const part of await listed(parts)) if (await old(join(parts, part))) await rm(join(parts, part), { force: true })
      for (const session of await listed(chats)) {
        if (!isPathSafeId(session) || !(await exists(session))) {
          await rm(join(chats, session), { recursive: true, force: true })
          continue
        }
        for (const name of await listed(of(session, 'new'))) {
          const path = of(session, 'new', name)
          if (await old(path)) await unlink(path).catch(absent)
        }
        const known = new Set((await records(session)).map((each) => each.name))
        for (const file of await listed(of(session, 'files'))) if (!known.has(file) && (await old(of(session, 'files', file)))) await rm(of(session, 'files', file), { force: true })
      }
    },
  }
}

function gone(): Refusal {
  return new Refusal('attachment_gone', 'A file of this message is not on the server any more. Add it again.')
}

/** Gives the bytes their name, one that is free: a link never replaces another file. */
async function settle({ part }: Received, name: string, pathOf: (name: string) => string): Promise<string> {
  for (let n = 0; n < NAMES; n++) {
    const free = otherName(name, n)
    try {
      await link(part, pathOf(free))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw error
    }
    await rm(part, { force: true })
    return free
  }
  throw new Refusal('bad_request', 'This chat has too many files of this name.')
}

async function writeRecord(folder: string, attachment: Attachment): Promise<void> {
  const path = join(folder, `${attachment.id}.json`)
  const draft = join(folder, `.${attachment.id}`)
  const file = await open(draft, 'wx', 0o600)
  try {
    await writeFile(file, JSON.stringify(attachment))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
  await syncFolder(folder)
}

/** Null for one that is not there, or was not written to its end. */
async function readRecord(path: string): Promise<Attachment | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Attachment
  } catch {
    return null
  }
}

async function listed(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

/** A name is durable once its folder is. Some systems cannot do that to a folder; theirs is durable by itself. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null)
  await folder?.sync().catch(() => undefined)
  await folder?.close()
}

function absent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
