import { join, relative } from 'node:path'
import type { Area } from './area'
import { find, namesInside } from './confine'
import { readText } from './text-file'
import { schema, shown, textArg, ToolFault, type Tool } from './tool'

const MOST_HITS = 200
const MOST_FILES = 20_000
const MOST_BYTES = 1024 * 1024

/**
 * Finds text in files. Plain text and not a pattern language: a pattern that a model writes could hold up the whole server. Links are not followed;
 * `.git` and `node_modules` are left out.
 */
export const search: Tool = {
  name: 'search',
  verb: 'search',
  description: 'Find plain text in the files of the workspace. Answers path:line: text. Capital letters count only when the text has some. With an empty text it finds files by name.',
  parameters: schema(
    {
      text: { type: 'string', description: 'The text to find; not a regular expression.' },
      path: { type: 'string', description: 'File or folder to look in. Default: the whole workspace.' },
      files: { type: 'string', description: 'Only files whose path matches, with * and ?, such as *.ts' },
    },
    ['text'],
  ),
  target: (args) => shown(args, 'text') ?? shown(args, 'files'),
  prepare: async (args, { area }) => {
    const text = textArg(args, 'text')
    const names = textArg(args, 'files', '')
    const place = await find(area, textArg(args, 'path', '.'))
    if (text === '' && names === '') throw new ToolFault('Give a text or a name to find.')
    return {
      run: async ({ signal }) => {
        const hits: string[] = []
        const look = place.kind === 'file' ? one(place.real) : walk(area, place.real)
        const exact = text !== text.toLowerCase()
        let files = 0
        let more = false
        for await (const file of look) {
          signal.throwIfAborted()
          if (++files > MOST_FILES) more = true
          if (more) break
          const path = relative(area.root, file)
          if (names !== '' && !matches(names, path)) continue
          if (text === '') hits.push(path)
          else await lookInto(area, file, path, text, exact, hits)
          more = hits.length >= MOST_HITS
        }
        if (hits.length === 0) return { state: 'done', result: 'Nothing found.' }
        return { state: 'done', result: `${hits.slice(0, MOST_HITS).join('\n')}${more ? '\n(there may be more: search in a folder or for a longer text)' : ''}`, cut: more }
      },
    }
  },
}

async function* one(file: string): AsyncGenerator<string> {
  yield file
}

async function* walk(area: Area, folder: string): AsyncGenerator<string> {
  for (const entry of await namesInside(area, folder, MOST_FILES).catch(() => [])) {
    const path = join(folder, entry.name)
    if (entry.isFile()) yield path
    else if (entry.isDirectory() && entry.name !== '.git' && entry.name !== 'node_modules') yield* walk(area, path)
  }
}

async function lookInto(area: Area, file: string, path: string, text: string, exact: boolean, hits: string[]): Promise<void> {
  const content = await readText(area, file, MOST_BYTES).catch(() => null)
  if (!content || !(exact ? content.text : content.text.toLowerCase()).includes(text)) return
  for (const [n, line] of content.text.split('\n').entries()) {
    if (!(exact ? line : line.toLowerCase()).includes(text)) continue
    hits.push(`${path}:${n + 1}: ${line.trim().slice(0, 300)}`)
    if (hits.length >= MOST_HITS) return
  }
}

/** `*` any run of characters, `?` one; a pattern without a slash is held against the name alone. Linear: no backtracking beyond the last star. */
export function matches(pattern: string, path: string): boolean {
  const text = pattern.includes('/') ? path : path.slice(path.lastIndexOf('/') + 1)
  let p = 0
  let star = -1
  let mark = 0
  for (let t = 0; t < text.length; ) {
    if (pattern[p] === '*') {
      star = p++
      mark = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++mark
    } else return false
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
