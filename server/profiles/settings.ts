import { join } from 'node:path'
import { type Config, parseConfig } from './config-file'
import type { ProfileContext } from './context'
import { readEnv } from './launch'
import { readProfileFile } from './read-file'

export interface Settings { config: Config; env: Readonly<Record<string, string>>; /** `auth.json`, where the Agent keeps keys and sign-ins; null when there is none that parses. */ auth: Record<string, unknown> | null }

/** What the profile's files say now. Read anew each time: the person edits them while this server runs (spec/hermes-home.md §5.4). */
export async function readSettings(profile: ProfileContext): Promise<Settings> {
  const env = await readEnv(profile.home)
  const read = (name: string): Promise<string | null> => readProfileFile(join(profile.home, name))
  const config = await read('config.yaml').then((text) => parseConfig(text, env), (error: Error): Config => ({ state: 'unreadable', words: error.message }))
  const auth = await read('auth.json').then((text) => (text === null ? null : (JSON.parse(text) as unknown))).catch(() => null)
  return { config, env, auth: typeof auth === 'object' && auth !== null && !Array.isArray(auth) ? (auth as Record<string, unknown>) : null }
}
