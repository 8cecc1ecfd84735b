import { type ChildDeps, type Ended, runCommand } from './child'
import { makeTail } from './tail'
import { numberArg, schema, shown, textArg, ToolFault, type Tool, type ToolResult } from './tool'

/** UTF-16 units of output that the model is given, and that a person sees while it runs. */
const RESULT = 30_000
const SHOWN = 16_384
/** How often the growing output is told, ms. */
const EVERY = 120

const REASON = 'A command is not confined to the workspace: it can reach whatever this account can, files and network included.'

/** Runs a command. Asks, unless exactly this one is allowed here. */
export function makeShell(deps: ChildDeps): Tool {
  return {
    name: 'shell',
    verb: 'run',
    description: 'Run a shell command in the workspace folder. The person is asked first. There is no input and no terminal. Whatever is left running when the command ends is ended.',
    parameters: schema({ command: { type: 'string' }, timeout: { type: 'integer', description: 'Seconds until it is ended, at most 3600. Default 600.' } }, ['command']),
    target: (args) => shown(args, 'command'),
    prepare: async (args, { area, session, run }) => {
      const command = textArg(args, 'command')
      if (command.trim() === '') throw new ToolFault('The command is empty.')
      if (command.includes('\0')) throw new ToolFault('A command cannot hold a NUL.')
      if (command.length > 65_536) throw new ToolFault('The command is too long. Write a script first.')
      const limit = numberArg(args, 'timeout', 600, 1, 3600) * 1000
      return {
        ask: { action: 'Run a command', command, cwd: area.root, reason: REASON, risk: 'high', deed: { tool: 'shell', command, cwd: area.root } },
        run: async ({ signal, show }) => {
          const tail = makeTail(RESULT)
          let due: (() => void) | null = null
          const tell = (): void => {
            due = null
            const { text, cut } = tail.tail(SHOWN)
            show(text, cut)
          }
          const ended = await runCommand(deps, { command, cwd: area.root, session, run, limit, signal }, (text) => {
            tail.push(text)
            due ??= deps.timers.after(EVERY, tell)
          }).catch((error: unknown) => {
            throw new ToolFault(`The command could not be started: ${(error as Error).message}`)
          })
          ;(due as (() => void) | null)?.()
          return outcome(ended, tail, limit)
        },
      }
    },
  }
}

function outcome(ended: Ended, tail: ReturnType<typeof makeTail>, limit: number): ToolResult {
  const { text, cut } = tail.tail(SHOWN)
  const how =
    ended.why === 'stopped' ? 'Stopped by the person.'
    : ended.why === 'timed_out' ? `Ended after ${limit / 1000} s.`
    : ended.signal !== null ? `Ended by ${ended.signal}.`
    : `Exit code ${ended.exit}.`
  const said = tail.both()
  return {
    state: ended.why === 'stopped' ? 'cancelled' : ended.why === 'ended' && ended.exit === 0 ? 'done' : 'failed',
    result: said.trim() === '' ? `${how} Nothing was printed.` : `${how}\n${said}`,
    output: text, cut, ...(ended.exit !== null && { exit: ended.exit }),
  }
}
