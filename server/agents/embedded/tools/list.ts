import { readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Area } from './area'
import { find, namesInside } from './confine'
import { numberArg, schema, shown, textArg, ToolFault, type Tool } from './tool'

const MOST = 500

/** Names in a folder; links are named as links and never entered. */
export const list: Tool = {
  name: 'list',
  verb: 'list',
  description: 'List the files and folders in a folder of the workspace. Folders end with a slash.',
  parameters: schema({ path: { type: 'string', description: 'Folder, relative to the workspace. Default: the workspace itself.' }, depth: { type: 'integer', description: 'How many levels, 1 to 4. Default 1.' } }, []),
  target: (args) => shown(args, 'path') ?? '.',
  prepare: async (args, { area }) => {
    const path = textArg(args, 'path', '.')
    const depth = numberArg(args, 'depth', 1, 1, 4)
    const found = await find(area, path)
    if (found.kind !== 'folder') throw new ToolFault(`${path} is not a folder.`)
    return {
      run: async ({ signal }) => {
        const names: string[] = []
        const more = await walk(area, found.real, '', depth, names, signal)
        const text = names.length === 0 ? 'The folder is empty.' : names.join('\n')
        return { state: 'done', result: more ? `${text}\n(more than ${MOST}: list a folder inside)` : text, cut: more }
      },
    }
  },
}

async function walk(area: Area, folder: string, prefix: string, depth: number, out: string[], signal: AbortSignal): Promise<boolean> {
  for (const entry of await namesInside(area, folder, MOST * 4)) {
    signal.throwIfAborted()
    if (out.length >= MOST) return true
    const { name } = entry
    if (entry.isSymbolicLink()) out.push(`${prefix}${name} -> ${await readlink(join(folder, name)).catch(() => '?')}`)
    else out.push(`${prefix}${name}${entry.isDirectory() ? '/' : ''}`)
    if (!entry.isDirectory() || depth <= 1 || name === '.git' || name === 'node_modules') continue
    if (await walk(area, join(folder, name), `${prefix}${name}/`, depth - 1, out, signal)) return true
  }
  return false
}
