import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Names of all profiles of a home: `default`, then each folder in `profiles/` with a fitting name (spec/hermes-home.md §2.1). */
export async function profileNames(home: string): Promise<string[]> {
  const root = basename(dirname(home)) === 'profiles' ? dirname(dirname(home)) : home
  const entries = await readdir(join(root, 'profiles'), { withFileTypes: true }).catch(() => [])
  const names = entries.filter((e) => e.isDirectory() && e.name !== 'default' && /^[a-z0-9][a-z0-9_-]{0,63}$/.test(e.name)).map((e) => e.name)
  return ['default', ...names.sort()]
}
