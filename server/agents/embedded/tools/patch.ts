import { placeFor } from './confine'
import { readText } from './text-file'
import { schema, shown, textArg, ToolFault, type Tool } from './tool'
import { change, MOST_TEXT } from './write'

/** Replaces exact pieces of a file, after the person has seen the difference. */
export const patch: Tool = {
  name: 'patch',
  verb: 'change',
  description: 'Replace a piece of a text file. "old" must stand exactly once in the file, unless "all" is true. The person is shown the difference and asked first.',
  parameters: schema(
    {
      path: { type: 'string', description: 'File, relative to the workspace.' },
      old: { type: 'string', description: 'The exact text to replace, with its white space, without line numbers.' },
      new: { type: 'string', description: 'The text to put in its place.' },
      all: { type: 'boolean', description: 'Replace every place. Default false.' },
    },
    ['path', 'old', 'new'],
  ),
  target: (args) => shown(args, 'path'),
  prepare: async (args, { area, run }) => {
    const path = textArg(args, 'path')
    const old = textArg(args, 'old')
    const next = textArg(args, 'new')
    if (old === '') throw new ToolFault('"old" is empty. To make a file use write.')
    const file = await readText(area, path, MOST_TEXT * 4)
    if (file.cut) throw new ToolFault(`${path} is too long to be changed here.`)
    const parts = file.text.split(old)
    if (parts.length === 1) throw new ToolFault(`The text to replace does not stand in ${path}. Read the file again.`)
    if (parts.length > 2 && args.all !== true) throw new ToolFault(`The text to replace stands ${parts.length - 1} times in ${path}. Take more of its surroundings, or set "all".`)
    return change({ area, run, path, place: await placeFor(area, path), before: file.text, after: parts.join(next), mode: file.mode })
  },
}
