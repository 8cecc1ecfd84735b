import { spawn } from 'node:child_process'
import type { Output } from './output'

/** How a program is started: everything of it, so that nothing of our own environment reaches it by accident. */
export interface Launch {
  command: string
  args: string[]
  env: Record<string, string>
  /** What it must be told to be spoken to; in its environment, never among its arguments. */
  token: string
  /** Texts that must not be shown, wherever it says them. The token is one of them anyway. */
  secrets: readonly string[]
}

export interface Ending { code: number | null; signal: string | null }

export interface Spawned {
  pid: number
  ended: Promise<Ending>
}

/** Starts a program in a group of its own, so that it outlives us and is ended as a whole; it does not keep us alive. Rejects when it cannot be started at all. */
export async function spawnProgram(launch: Launch, cwd: string, output: { out: Output; err: Output }): Promise<Spawned> {
  const [out, err] = [await output.out.begin(), await output.err.begin()]
  try {
    const child = spawn(launch.command, launch.args, { cwd, env: launch.env, detached: true, stdio: ['ignore', out.fd, err.fd] })
    child.unref()
    const ended = new Promise<Ending>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.on('error', () => undefined)
    return { pid: child.pid!, ended }
  } finally {
    await Promise.all([out.close(), err.close()])
  }
}
