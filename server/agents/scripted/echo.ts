import { spawn } from 'node:child_process'

/** Runs the demo's one harmless command; a parameter, so that tests need no process. */
export type Echo = (words: string, cwd: string, stopped: (end: () => void) => () => void) => Promise<{ output: string; exit: number | null }>

const OUTPUT_LIMIT = 4096
const TIME_LIMIT = 5000

/**
 * `echo` of the given words in its own process group, with an empty environment but a path. It reads and writes nothing else, its output is
 * bounded, and its group is ended after five seconds or when the turn is stopped.
 */
export const realEcho: Echo = (words, cwd, stopped) =>
  new Promise((resolve) => {
    const child = spawn('echo', [words], { cwd, detached: true, stdio: ['ignore', 'pipe', 'ignore'], env: { PATH: '/usr/bin:/bin' } })
    let output = ''
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // The group has ended by itself.
      }
    }
    const undo = stopped(end)
    const timer = setTimeout(end, TIME_LIMIT)
    const finish = (exit: number | null): void => {
      clearTimeout(timer)
      undo()
      resolve({ output: output.slice(0, OUTPUT_LIMIT), exit })
    }
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      if (output.length < OUTPUT_LIMIT) output += chunk
    })
    child.on('error', () => finish(null))
    child.on('close', (code) => finish(code))
  })
