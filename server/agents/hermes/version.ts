import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../folder'
import { replaceFile } from '../../file'

/** Versions below are `too_old`: no `serve`, no ready line (spec/hermes-rpc.md §8). Below the second they are `untested` (spec/agents.md §1). */
export const OLDEST = [0, 18] as const
export const TESTED = [0, 19] as const

/** ms that a program may take to say its version: seen 0.3–0.5 s, and 2 s with a cold disk. */
const WITHIN = 10_000

/** The version in what `hermes --version` prints: `Hermes Agent v0.19.0 (2026.7.20)`; null for another program of the name (a JavaScript engine has it, too). */
export function versionIn(said: string): string | null {
  return /^Hermes Agent v?(\d+\.\d+(?:\.\d+)?[0-9a-z.+-]*)/im.exec(said)?.[1] ?? null
}

export function isBelow(version: string, than: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0)
  return major !== than[0] ? major < than[0] : minor < than[1]
}

/** Asks programs for their version, each once as long as the file does not change. */
export class Versions {
  #known = new Map<string, Promise<string | null>>()

  /** `folder`: ours; it is the home that the question is asked with, because Hermes writes logs there and looks for updates even then. */
  constructor(private readonly folder: string, private readonly env: Record<string, string>) {}

  /** Null when it is not Hermes, or does not say. */
  async of(path: string): Promise<string | null> {
    const info = await stat(path).catch(() => null)
    if (!info) return null
    const key = `${path}\n${info.mtimeMs}\n${info.size}`
    const known = this.#known.get(key)
    if (known) return await known
    const asking = this.#ask(path)
    this.#known.set(key, asking)
    const version = await asking
    if (version === null) this.#known.delete(key)
    return version
  }

  async #ask(path: string): Promise<string | null> {
    const home = join(this.folder, 'home')
    // Where nothing can be written, on a full disk, it is asked all the same.
    await makeFolder(home, 0o700).then(() => replaceFile(join(home, 'config.yaml'), 'updates:\n  check: false\n')).catch(() => undefined)
    return await new Promise((resolve) => {
      execFile(path, ['--version'], { env: { ...this.env, HERMES_HOME: home }, cwd: home, timeout: WITHIN, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 }, (error, out) => resolve(error ? null : versionIn(out)))
    })
  }
}
