import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freshFolder } from './store-thread'

/** What a failed test left running ends with the test process. */
const living = new Set<ChildProcess>()
process.once('exit', () => living.forEach((child) => child.kill('SIGKILL')))

const main = fileURLToPath(new URL('../../dist/server/main.js', import.meta.url))

export interface BuiltServer {
  /** `http://localhost:<port>`, as it printed. */
  url: string
  port: number
  child: ChildProcess
  /** Home, state and workspace are in here. */
  folder: string
  stdout(): string
  stderr(): string
  /** Ends it with a signal and gives the exit code; the folder stays. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  /** `stop`, and the folder goes. */
  end(): Promise<void>
}

export interface BuiltOptions {
  /** Of an earlier one. */
  folder?: string
  args?: string[]
  env?: Record<string, string>
}

/** What a finished start left: for starts that are meant to fail. */
export interface Finished { code: number | null; stdout: string; stderr: string }

/** Starts the built product as its own process, with a home, state and workspace of its own; the scripted agent answers unless `args` say otherwise. */
export async function startBuilt(options: BuiltOptions = {}): Promise<BuiltServer> {
  const started = launch(options, ['--port', '0', '--demo'])
  const { child, folder, said } = started
  const url = await new Promise<string>((resolve, reject) => {
    const look = () => {
      const found = /http:\/\/\S+:\d+/.exec(said.out)
      if (found) resolve(found[0])
    }
    child.stdout!.on('data', look)
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}: ${said.out}${said.err}`)))
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return exited
  }
  return {
    url,
    port: Number(new URL(url).port),
    child,
    folder,
    stdout: () => said.out,
    stderr: () => said.err,
    stop,
    async end() {
      await stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Runs it to its end. */
export function runBuilt(options: BuiltOptions = {}): Promise<Finished> {
  const { child, said } = launch(options, [])
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout: said.out, stderr: said.err })))
}

function launch(options: BuiltOptions, before: string[]) {
  if (!existsSync(main)) throw new Error('The product is not built: npm run build')
  const folder = options.folder ?? realpathSync(freshFolder('built'))
  mkdirSync(join(folder, 'work'), { recursive: true })
  const env = { PATH: process.env.PATH, HOME: folder, HERMES_HOME: join(folder, 'home'), HERMES_WEBUI_STATE_DIR: join(folder, 'state'), HERMES_WEBUI_DEFAULT_WORKSPACE: join(folder, 'work'), TALARIA_LOCAL_MODELS: 'off', ...options.env }
  const child = spawn(process.execPath, [main, ...before, ...(options.args ?? [])], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  living.add(child)
  child.once('exit', () => living.delete(child))
  const said = { out: '', err: '' }
  child.stdout.on('data', (bytes: Buffer) => (said.out += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (said.err += bytes.toString()))
  return { child, folder, said }
}
