import { realpath } from 'node:fs/promises'
import { basename, dirname, relative, sep } from 'node:path'

/** Where file tools may go: inside the folder, and not where keys are kept. Both are told by real paths. */
export interface Area { root: string; closed(real: string): boolean }

/** What of the Agent's home holds keys, in the root profile and in all others. */
const KEY_FILES = /^(?:\.env|\.op\.env|auth\.json|config\.yaml|nous_auth\.json|mcp-tokens)(?:\..*)?$/i

/**
 * A workspace may be the person's whole home, and with it the Agent's and ours. File tools read without asking, so the keys in there are closed to them: our
 * state folders, and the files of the Agent's home that hold any. (The shell asks, and says that it reaches what the account can.)
 */
export async function closedPlaces(profileHome: string, stateFolders: readonly string[]): Promise<(real: string) => boolean> {
  const agent = basename(dirname(profileHome)) === 'profiles' ? dirname(dirname(profileHome)) : profileHome
  const [home, ...states] = await Promise.all([agent, ...stateFolders].map((path) => realpath(path).catch(() => path)))
  return (real) => {
    if (states.some((state) => below(state, real) !== null)) return true
    const parts = below(home!, real)
    return parts !== null && parts.some((part) => KEY_FILES.test(part))
  }
}

/** The parts of the way from a folder down to a path; null when it is not inside. */
function below(folder: string, path: string): string[] | null {
  const way = relative(folder, path)
  const parts = way.split(sep)
  return parts[0] === '..' || way.startsWith(sep) ? null : parts
}
