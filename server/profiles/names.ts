import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Names that a folder must have to be a profile (spec/server.md §3.1). */
export function isProfileName(name: string): boolean {
  return name !== 'default' && /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)
}

/** The home of the root profile, from that of any profile. */
export function rootOf(home: string): string {
  return basename(dirname(home)) === 'profiles' ? dirname(dirname(home)) : home
}

/** Names of all profiles of a home: `default`, then each folder in `profiles/` with a fitting name (spec/hermes-home.md §2.1). */
export async function profileNames(home: string): Promise<string[]> {
  const entries = await readdir(join(rootOf(home), 'profiles'), { withFileTypes: true }).catch(() => [])
  const names = entries.filter((e) => e.isDirectory() && isProfileName(e.name)).map((e) => e.name)
  return ['default', ...names.sort()]
}
