import { copyFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isMap, parseDocument } from 'yaml'
import type { Document } from 'yaml'
import { replaceFile } from '../../file'
import { makeFolder } from '../../folder'
import { readProfileFile } from '../../profiles/read-file'

/** Where the system's own layer lies when no variable names one (spec/hermes-home.md §1.1). */
export const SYSTEM_LAYER = '/etc/hermes'

/**
 * Seconds that an approval waits. Hermes' own 60 are for somebody in front of a terminal; a person with a phone takes longer, and a question that ran out
 * is a denial that nobody meant.
 */
export const APPROVAL_TIMEOUT = 3_600

/** Seconds that it waits where nothing says otherwise (spec/hermes-rpc.md §5). */
export const HERMES_TIMEOUT = 60

/**
 * Writes the managed layer that Hermes is started with into a folder of ours: an administrator's layer, where there is one, whole, with our two settings
 * added where it does not set them itself. Their leaf wins, because it is their policy. The person's `config.yaml` is never written (spec/agents.md §4).
 * Null where a layer is there that we cannot read or add to: then theirs applies alone, as without us.
 */
export async function writeLayer(folder: string, existing: string): Promise<string | null> {
  const merged = await readLayer(existing)
  if (merged === null) return null
  await makeFolder(folder, 0o700)
  // What else is in their folder (`.env`, in 0.19) belongs to the layer, too.
  const theirs = (await readdir(existing, { withFileTypes: true }).catch(() => [])).filter((entry) => !entry.isDirectory() && entry.name !== 'config.yaml').map((entry) => entry.name)
  for (const stale of await readdir(folder)) if (stale !== 'config.yaml' && !theirs.includes(stale)) await rm(join(folder, stale), { recursive: true, force: true })
  const copied = await Promise.all(theirs.map((name) => copyFile(join(existing, name), join(folder, name)).then(() => true, () => false)))
  if (copied.includes(false)) return null
  await replaceFile(join(folder, 'config.yaml'), merged)
  return folder
}

async function readLayer(existing: string): Promise<string | null> {
  try {
    const text = await readProfileFile(join(existing, 'config.yaml'))
    const document: Document = parseDocument(text?.replace(/^\uFEFF/, '') ?? '', { version: '1.1' })
    if (document.errors.length > 0) return null
    const value: unknown = document.toJS({ maxAliasCount: 100 }) ?? {}
    if (!isMapping(value)) return null
    if (document.contents === null) document.contents = document.createNode({})
    for (const [section, key, ours] of [['approvals', 'timeout', APPROVAL_TIMEOUT], ['display', 'busy_input_mode', 'queue']] as const) {
      const given = value[section] ?? {}
      if (!isMapping(given)) return null
      if (given[key] !== undefined) continue
      // A section made by `setIn` would be an ordered map by its tag, which Hermes does not read.
      if (isMap(document.get(section))) document.setIn([section, key], ours)
      else document.set(section, document.createNode({ [key]: ours }))
    }
    return document.toString({ lineWidth: 0 })
  } catch {
    return null
  }
}

/** Seconds that an approval waits by a configuration; undefined where it does not say. */
export function timeoutOf(config: unknown): number | undefined {
  const approvals = isMapping(config) ? config.approvals : undefined
  const timeout = isMapping(approvals) ? approvals.timeout : undefined
  return typeof timeout === 'number' && timeout > 0 ? timeout : undefined
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
