import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProfileContext } from './context'
import { profileAt } from './launch'
import { isProfileName, profileNames, rootOf } from './names'

/** The profiles of a home, as requests and runs name them (law 10). */
export interface Profiles {
  /** What the server was started with: the profile of every request that names none. */
  readonly launch: ProfileContext
  names(): Promise<string[]>
  /** A profile that exists now; null for any other name, which is never used as a path. */
  named(name: string): Promise<ProfileContext | null>
  /** The same without looking: what has been asked for since the start, or stood there then. */
  known(name: string): ProfileContext | null
  /** The profile that a request's cookies choose; one that does not exist falls back to the root profile (spec/server.md §3.2). */
  ofRequest(cookies: string | undefined): Promise<ProfileContext>
}

/** The cookie by which a client of the original chooses. */
const COOKIE = 'hermes_profile'

/** Reads the profiles that stand in the home of the launch profile. */
export async function makeProfiles(launch: ProfileContext): Promise<Profiles> {
  const root = rootOf(launch.home)
  const seen = new Map<string, ProfileContext>([[launch.name, launch]])
  const named = async (name: string): Promise<ProfileContext | null> => {
    if (name === launch.name) return launch
    const home = name === 'default' ? root : isProfileName(name) ? join(root, 'profiles', name) : null
    // A link in `profiles/` is no profile, wherever it leads (spec/hermes-home.md §9); the home itself may be one.
    const info = home === null ? null : await (name === 'default' ? stat : lstat)(home).catch(() => null)
    if (home === null || !info?.isDirectory()) {
      seen.delete(name)
      return null
    }
    const found = { ...(await profileAt(name, home)), isLaunch: false }
    seen.set(name, found)
    return found
  }
  const names = () => profileNames(launch.home)
  await Promise.all((await names()).map(named))
  return {
    launch, names, named,
    known: (name) => seen.get(name) ?? null,
    async ofRequest(cookies) {
      const chosen = cookieOf(cookies)
      if (chosen === null || chosen === launch.name) return launch
      return (await named(chosen)) ?? (await named('default')) ?? launch
    },
  }
}

function cookieOf(cookies: string | undefined): string | null {
  for (const part of (cookies ?? '').split(';')) {
    const at = part.indexOf('=')
    if (at > 0 && part.slice(0, at).trim() === COOKIE) return part.slice(at + 1).trim().replace(/^"(.*)"$/, '$1')
  }
  return null
}
