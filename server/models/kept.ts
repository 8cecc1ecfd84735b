import { chmod, readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import * as z from 'zod/mini'
import { Refusal } from '../contract/problems'
import type { ModelRef } from '../contract/session'
import { replaceFile } from '../file'
import { makeFolder } from '../folder'

const KEPT = z.object({
  id: z.string().check(z.minLength(1)), name: z.string(), kind: z.enum(['openai', 'anthropic']), base_url: z.string(), api_key: z.nullable(z.string()), model: z.nullable(z.string()),
})
const PROFILE = z.object({ default: z.nullable(z.object({ provider: z.string(), id: z.string() })), connections: z.array(KEPT) })
const FILE = z.object({ version: z.literal(1), profiles: z.record(z.string(), PROFILE) })

/** A connection as it was given in the page. */
export type Kept = z.output<typeof KEPT>
export interface KeptProfile { default: ModelRef | null; connections: Kept[] }

/**
 * Connections and keys given in the page: `<state>/talaria/connections.json`, 0600, never the Agent's own files (DESIGN §11). A change is durable before it
 * resolves: written beside, synced, renamed, folder synced. A file that does not parse is never written over.
 */
export interface KeptFile {
  /** Empty when there is no file. Throws `Refusal` when it cannot be read. */
  read(profile: string): Promise<KeptProfile>
  change(profile: string, change: (now: KeptProfile) => KeptProfile): Promise<void>
}

export function makeKept(folder: string): KeptFile {
  const path = join(folder, 'connections.json')
  let held: z.output<typeof FILE> | null = null
  let queue: Promise<unknown> = Promise.resolve()

  let reading: Promise<z.output<typeof FILE>> | null = null
  /** Once at a time: what is swept away is never what a change has just begun to write. */
  const load = async (): Promise<z.output<typeof FILE>> => held ?? (await (reading ??= first().finally(() => (reading = null))))

  const first = async (): Promise<z.output<typeof FILE>> => {
    await sweep(folder, path)
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw unreadable(path, error.message)
    })
    if (text === null) return (held = { version: 1, profiles: {} })
    let parsed: unknown
    try {
      parsed = JSON.parse(text)
    } catch {
      throw unreadable(path, 'it is not JSON')
    }
    const file = FILE.safeParse(parsed)
    if (!file.success) throw unreadable(path, 'it has another form than expected')
    await chmod(path, 0o600).catch(() => undefined)
    return (held = file.data)
  }
  return {
    read: async (profile) => {
      const file = await load()
      const own = Object.hasOwn(file.profiles, profile) ? file.profiles[profile]! : { default: null, connections: [] }
      return { default: own.default, connections: own.connections.map((each) => ({ ...each })) }
    },
    change: (profile, change) => {
      const work = queue.then(async () => {
        const file = await load()
        const now = Object.hasOwn(file.profiles, profile) ? file.profiles[profile]! : { default: null, connections: [] }
        const next = { version: 1 as const, profiles: { ...file.profiles, [profile]: change(structuredClone(now)) } }
        await replace(folder, path, JSON.stringify(next, null, 2))
        held = next
      })
      queue = work.catch(() => undefined)
      return work
    },
  }
}

/** What a process that died while it wrote has left beside the file: it may hold keys that were removed since. */
async function sweep(folder: string, path: string): Promise<void> {
  const left = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(`${basename(path)}.`) && name.endsWith('.tmp'))
  await Promise.all(left.map((name) => rm(join(folder, name), { force: true }).catch(() => undefined)))
}

async function replace(folder: string, path: string, text: string): Promise<void> {
  try {
    await makeFolder(folder, 0o700)
    await replaceFile(path, `${text}\n`)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    throw new Refusal(code === 'ENOSPC' || code === 'EDQUOT' ? 'store_full' : 'store_failed', 'The connection could not be kept.', { words: (error as Error).message })
  }
}

function unreadable(path: string, why: string): Refusal {
  return new Refusal('connection_invalid', 'The kept connections cannot be read.', { words: why, hint: `Correct the file or move it away: ${path}` })
}
