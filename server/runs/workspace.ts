import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, normalize, sep } from 'node:path'
import { Refusal } from '../contract/problems'
import { makeFolder } from '../folder'

/** The two things that are done to real folders; a parameter (law 13). */
export interface Folders {
  /** The real path of an existing folder, links followed; null when there is none. */
  real(path: string): Promise<string | null>
  /** Makes a folder and those above it. */
  make(path: string): Promise<void>
}

/** The folders of this machine. */
export const systemFolders: Folders = {
  async real(path) {
    try {
      const real = await realpath(path)
      return (await stat(real)).isDirectory() ? real : null
    } catch {
      return null
    }
  },
  make: (path) => makeFolder(path, 0o755),
}

/** Which folders a chat may work in (spec/server.md §10.1). */
export interface WorkspaceRules {
  /** Where a chat works that names no folder; made at its first turn. */
  defaultWorkspace: string
  /** Folders whose insides may be chosen, such as the person's home. The default workspace always may. */
  roots: string[]
  folders: Folders
}

const BLOCKED = ['/etc', '/usr', '/var', '/bin', '/sbin', '/boot', '/proc', '/sys', '/dev', '/lib', '/lib64', '/opt/homebrew', '/System', '/Library', '/private/etc', '/private/var']

/**
 * The folder a request named, normalised. Refuses what is not absolute (`bad_request`), a folder of the system or outside the roots
 * (`workspace_outside`), and what is not an existing folder (`workspace_missing`). Links are followed before judging.
 */
export async function chosenWorkspace(rules: WorkspaceRules, path: string): Promise<string> {
  const given = path.trim()
  if (given === '' || given.includes('\0') || !isAbsolute(given)) throw new Refusal('bad_request', 'The working folder must be an absolute path.')
  const folder = trimmed(normalize(given))
  if (!lexicallyAllowed(rules, folder)) throw outside(folder)
  const real = await rules.folders.real(folder)
  if (real === null) throw missing(folder)
  const realOr = async (path: string): Promise<string> => (await rules.folders.real(path)) ?? path
  const realRules = { defaultWorkspace: await realOr(rules.defaultWorkspace), roots: await Promise.all(rules.roots.map(realOr)) }
  if (!lexicallyAllowed(realRules, real)) throw outside(folder)
  return folder
}

/** Makes sure before a turn that its folder is there; only the default one is made. Refuses with `workspace_missing`. */
export async function readyWorkspace(rules: WorkspaceRules, folder: string): Promise<void> {
  if ((await rules.folders.real(folder)) !== null) return
  if (folder !== rules.defaultWorkspace) throw missing(folder)
  try {
    await rules.folders.make(folder)
  } catch {
    throw missing(folder)
  }
}

function lexicallyAllowed(rules: Pick<WorkspaceRules, 'defaultWorkspace' | 'roots'>, folder: string): boolean {
  if (folder === sep) return false
  if (within(folder, rules.defaultWorkspace)) return true
  if (BLOCKED.some((blocked) => within(folder, blocked)) && !rules.roots.some((root) => BLOCKED.some((blocked) => within(root, blocked)) && within(folder, root))) return false
  return rules.roots.some((root) => within(folder, root))
}

function within(path: string, root: string): boolean {
  const base = trimmed(normalize(root))
  return path === base || path.startsWith(base === sep ? sep : base + sep)
}

function trimmed(path: string): string {
  return path.length > 1 && path.endsWith(sep) ? path.slice(0, -1) : path
}

function missing(folder: string): Refusal {
  return new Refusal('workspace_missing', `The working folder ${folder} does not exist.`)
}

function outside(folder: string): Refusal {
  return new Refusal('workspace_outside', `The folder ${folder} may not be worked in.`)
}
