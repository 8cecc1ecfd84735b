import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from './config-file'
import type { ProfileContext } from './context'
import { readEnv } from './launch'
import { readProfileFile } from './read-file'

export interface Settings {
  config: Config
  env: Readonly<Record<string, string>>
  /** `auth.json`, where the Agent keeps keys and sign-ins; null when there is none that parses. */
  auth: Record<string, unknown> | null
}

export type ReadSettings = (profile: ProfileContext) => Promise<Settings>

/**
 * What the profile's files say now: the person edits them while this server runs (spec/hermes-home.md §5.4). What was parsed is kept for as long as no
 * file has changed (its time in ns, size and inode: spec/server.md §3.1).
 */
export function makeSettings(): ReadSettings {
  const held = new Map<string, { mark: string; settings: Promise<Settings> }>()
  return async ({ home }) => {
    const mark = (await Promise.all(['.env', 'config.yaml', 'auth.json'].map((name) => markOf(join(home, name))))).join(' ')
    const old = held.get(home)
    if (old?.mark === mark) return await old.settings
    const settings = readSettings(home)
    held.set(home, { mark, settings })
    return await settings
  }
}

async function markOf(path: string): Promise<string> {
  const info = await stat(path, { bigint: true }).catch(() => null)
  return info ? `${info.ino}.${info.mtimeNs}.${info.ctimeNs}.${info.size}` : '-'
}

async function readSettings(home: string): Promise<Settings> {
  const env = await readEnv(home)
  const read = (name: string): Promise<string | null> => readProfileFile(join(home, name))
  const config = await read('config.yaml').then((text) => readConfig(text, env), (error: Error): Config => ({ state: 'unreadable', words: error.message }))
  const auth = await read('auth.json').then((text) => (text === null ? null : (JSON.parse(text) as unknown))).catch(() => null)
  return { config, env, auth: typeof auth === 'object' && auth !== null && !Array.isArray(auth) ? (auth as Record<string, unknown>) : null }
}

/** The parser is loaded with the first file there is to parse. */
async function readConfig(text: string | null, env: Readonly<Record<string, string>>): Promise<Config> {
  return text === null ? { state: 'absent' } : (await import('./config-file')).parseConfig(text, env)
}
