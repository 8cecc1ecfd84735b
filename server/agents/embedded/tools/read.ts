import { find } from './confine'
import { readText } from './text-file'
import { numberArg, RESULT_LIMIT, schema, shown, textArg, ToolFault, type Tool } from './tool'

/** Bytes of a file that are looked at. */
const MOST_BYTES = 4 * 1024 * 1024

/** Lines of a text file, numbered. */
export const read: Tool = {
  name: 'read',
  verb: 'read',
  description: 'Read a text file of the workspace. Answers numbered lines; long files in parts, by offset and limit.',
  parameters: schema(
    {
      path: { type: 'string', description: 'File, relative to the workspace.' },
      offset: { type: 'integer', description: 'First line, from 1. Default 1.' },
      limit: { type: 'integer', description: 'How many lines, at most 2000. Default 2000.' },
    },
    ['path'],
  ),
  target: (args) => shown(args, 'path'),
  prepare: async (args, { area }) => {
    const path = textArg(args, 'path')
    const offset = numberArg(args, 'offset', 1, 1, 10_000_000)
    const limit = numberArg(args, 'limit', 2000, 1, 2000)
    const found = await find(area, path)
    if (found.kind === 'folder') throw new ToolFault(`${path} is a folder; use list.`)
    return {
      locations: [{ path: found.relative, ...(offset > 1 && { line: offset }) }],
      run: async () => {
        const file = await readText(area, path, MOST_BYTES)
        if (file.text === '') return { state: 'done', result: 'The file is empty.' }
        const lines = file.text.replace(/\n$/, '').split('\n')
        if (offset > lines.length) throw new ToolFault(`${path} has ${lines.length} lines.`)
        return { state: 'done', ...numbered(lines, offset, limit, file.cut) }
      },
    }
  },
}

function numbered(lines: string[], offset: number, limit: number, cut: boolean): { result: string; cut?: true } {
  let text = ''
  let line = offset
  for (; line < offset + limit && line <= lines.length; line++) {
    const next = `${line}\t${lines[line - 1]!.slice(0, 4000)}\n`
    if (text.length + next.length > RESULT_LIMIT) break
    text += next
  }
  if (line > lines.length && !cut) return { result: text }
  return { result: `${text}(lines ${offset} to ${line - 1} of ${lines.length}${cut ? ' or more' : ''}; go on with offset ${line})`, cut: true }
}
