import type { Area } from './area'
import { placeFor, writeInside } from './confine'
import { unifiedDiff } from './diff'
import { readText } from './text-file'
import { schema, shown, textArg, ToolFault, type Tool, type Work } from './tool'

/** Longest file that is written, and longest diff that a person is asked to read, UTF-16 units. */
export const MOST_TEXT = 512 * 1024
const MOST_DIFF = 256 * 1024

/** Writes a whole file, after the person has seen the difference. */
export const write: Tool = {
  name: 'write',
  verb: 'write',
  description: 'Write a text file of the workspace, whole. Makes missing folders. The person is shown the difference and asked first. For a small change use patch.',
  parameters: schema({ path: { type: 'string', description: 'File, relative to the workspace.' }, content: { type: 'string', description: 'The whole content.' } }, ['path', 'content']),
  target: (args) => shown(args, 'path'),
  prepare: async (args, { area, run }) => {
    const path = textArg(args, 'path')
    const content = textArg(args, 'content')
    const place = await placeFor(area, path)
    const before = place.exists ? await readText(area, path, MOST_TEXT * 4) : null
    if (before?.cut) throw new ToolFault(`${path} is too long to be replaced here.`)
    return change({ area, run, path, place, before: before?.text ?? null, after: content, mode: before?.mode ?? null })
  },
}

export interface Change { area: Area; run: string; path: string; place: Awaited<ReturnType<typeof placeFor>>; before: string | null; after: string; mode: number | null }

/** Asks with a diff; writes only what was shown, over what it was shown against. */
export function change({ area, run, path, place, before, after, mode }: Change): Work {
  if (after.length > MOST_TEXT) throw new ToolFault(`The content is longer than ${MOST_TEXT} characters.`)
  if (before === after) return { run: async () => ({ state: 'done', result: `${path} has this content already.` }) }
  const diff = unifiedDiff(place.relative, before, after)
  if (diff.length > MOST_DIFF) throw new ToolFault('The change is too long to be read by a person. Make it in smaller parts.')
  const size = counts(diff)
  return {
    diff,
    locations: [{ path: place.relative }],
    ask: { action: before === null ? `Create ${place.relative} (${size.added} lines)` : `Change ${place.relative} (+${size.added} −${size.removed})`, diff, cwd: area.root, risk: 'low', deed: { tool: 'write', folder: area.root, cwd: area.root } },
    run: async () => {
      const now = await placeFor(area, path)
      const there = now.exists ? (await readText(area, path, MOST_TEXT * 4)).text : null
      if (there !== before || now.folder !== place.folder || now.name !== place.name) throw new ToolFault(`${path} has changed since the question was asked. Read it again.`)
      await writeInside(area, place, after, mode, `${run.slice(-8)}.part`)
      return { state: 'done', result: `${before === null ? 'Created' : 'Changed'} ${place.relative}: ${size.added} lines added, ${size.removed} removed.` }
    },
  }
}

function counts(diff: string): { added: number; removed: number } {
  const lines = diff.split('\n').slice(2)
  return { added: lines.filter((l) => l.startsWith('+')).length, removed: lines.filter((l) => l.startsWith('-')).length }
}
