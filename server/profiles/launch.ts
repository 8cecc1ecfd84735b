import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ProfileContext } from './context'
import { parseEnv } from './env-file'
import { isProfileName } from './names'
import { readProfileFile } from './read-file'

/**
 * The profile of this start, from the Agent's home (spec/hermes-home.md §2.2): a home of the form `<root>/profiles/<name>` is that profile; else the one that
 * `active_profile` names, if it is there; else the root profile, `default`. A stale or strange `active_profile` is never used as a path.
 */
export async function launchProfile(home: string): Promise<ProfileContext> {
  const own = basename(dirname(home)) === 'profiles' && isProfileName(basename(home)) ? basename(home) : null
  if (own !== null) return await profileAt(own, home)
  const chosen = (await readProfileFile(join(home, 'active_profile')).catch(() => null))?.trim() ?? ''
  const folder = join(home, 'profiles', chosen)
  if (isProfileName(chosen) && (await isFolder(folder))) return await profileAt(chosen, folder)
  return await profileAt('default', home)
}

/** A profile and its `.env` as they are now. */
export async function profileAt(name: string, home: string): Promise<ProfileContext> {
  return { name, home, scope: await realpath(home).catch(() => home), env: await readEnv(home), isLaunch: true }
}

/** The profile's `.env`; empty when there is none or it may not be read. */
export async function readEnv(home: string): Promise<Record<string, string>> {
  return parseEnv((await readProfileFile(join(home, '.env')).catch(() => null)) ?? '')
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then((s) => s.isDirectory(), () => false)
}
