import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** The built product as its own process, in folders of its own, as a person would start it. */
export interface Product {
  url: string
  port: number
  folder: string
  work: string
  child: ChildProcess
  /** What it printed. */
  said(): string
  /** SIGKILL: no goodbye. */
  kill(): Promise<void>
  /** SIGTERM; gives the exit code. */
  end(): Promise<number | null>
}

export interface ProductOptions {
  /** Of an earlier one: state, home and workspace stay. */
  folder?: string
  port?: number
  args?: string[]
  env?: Record<string, string>
  /** Another build than `dist`. */
  dist?: string
}

export function productFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'talaria-product-')))
  mkdirSync(join(folder, 'work'))
  mkdirSync(join(folder, 'home'))
  return folder
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Starts it and waits for the address it prints. No variable of this process reaches it but PATH and HOME. */
export async function startProduct(options: ProductOptions = {}): Promise<Product> {
  const folder = options.folder ?? productFolder()
  const main = join(options.dist ?? resolve(process.env.TALARIA_DIST ?? 'dist'), 'server/main.js')
  if (!existsSync(main)) throw new Error(`The product is not built: ${main} is missing. Run npm run build.`)
  const child = spawn(process.execPath, [main, '--port', String(options.port ?? 0), '--home', join(folder, 'home'), '--state', join(folder, 'state'), ...(options.args ?? [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '', HOME: folder, HERMES_WEBUI_DEFAULT_WORKSPACE: join(folder, 'work'), TALARIA_LOCAL_MODELS: 'off',
      // A Hermes Agent of this machine answers no test that has not asked for it by a PATH of its own.
      ...(options.env?.PATH === undefined ? { HERMES_WEBUI_AGENT_DIR: join(folder, 'no-agent') } : {}), ...options.env,
    },
  })
  let said = ''
  const ended = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)))
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (bytes: Buffer) => {
      said += String(bytes)
      const found = /http:\/\/localhost:\d+/.exec(said)
      if (found) resolve(found[0])
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    void ended.then((code) => reject(new Error(`the product ended with ${code}: ${said}`)))
  })
  return {
    url,
    port: Number(new URL(url).port),
    folder,
    work: join(folder, 'work'),
    child,
    said: () => said,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    end() {
      child.kill('SIGTERM')
      return ended
    },
  }
}
