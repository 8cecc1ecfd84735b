import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as z from 'zod/mini'
import { replaceFile } from '../../file'
import { makeFolder } from '../../folder'
import { withAllowance, withoutAllowance } from './allowance'
import type { Allowance } from './allowance'

const COMMON = { profile: z.string(), cwd: z.string(), at: z.number() }
const FILE = z.object({
  version: z.literal(1),
  allowed: z.array(z.union([
    z.object({ ...COMMON, session: z.optional(z.string()), tool: z.literal('shell'), command: z.string() }),
    z.object({ ...COMMON, session: z.string(), tool: z.literal('write'), folder: z.string() }),
  ])),
})

/**
 * What people allowed the embedded agent beyond once: `<state>/talaria/allowed.json`, 0600. Read anew at each question, so that a file taken away takes effect at
 * once; a file that does not parse allows nothing and is never written over.
 */
export interface AllowedFile {
  list(): Promise<readonly Allowance[]>
  /** Durable when it resolves. Rejects when it cannot be kept. */
  add(allowance: Allowance): Promise<void>
  remove(allowance: Allowance): Promise<void>
}

export function makeAllowed(path: string): AllowedFile {
  let queue: Promise<unknown> = Promise.resolve()
  const read = async (): Promise<Allowance[]> => {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    return text === null ? [] : (z.parse(FILE, JSON.parse(text)).allowed as Allowance[])
  }
  const change = (change: (now: Allowance[]) => Allowance[]): Promise<void> => {
    const work = queue.then(async () => {
      const next = change(await read())
      await makeFolder(dirname(path), 0o700)
      await replaceFile(path, `${JSON.stringify({ version: 1, allowed: next }, null, 2)}\n`)
    })
    queue = work.catch(() => undefined)
    return work
  }
  return {
    list: () => read().catch(() => []),
    add: (allowance) => change((now) => withAllowance(now, allowance)),
    remove: (allowance) => change((now) => withoutAllowance(now, allowance)),
  }
}
