import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

export interface FindParts {
  /** The server's own environment: `PATH`, `HERMES_WEBUI_AGENT_DIR`. */
  env: Readonly<Record<string, string | undefined>>
  homedir: string
}

/** Where installers put it, below the person's home and on the machine (spec/hermes-home.md §2.4; pip, pipx, uv, the project's own installer, Homebrew). */
const HOME_PLACES = ['.local/bin/hermes', '.hermes/hermes-agent/venv/bin/hermes', '.hermes/hermes-agent/.venv/bin/hermes', '.local/share/pipx/venvs/hermes-agent/bin/hermes', '.local/pipx/venvs/hermes-agent/bin/hermes', '.local/share/uv/tools/hermes-agent/bin/hermes']
const MACHINE_PLACES = ['/usr/local/bin/hermes', '/opt/homebrew/bin/hermes', '/usr/bin/hermes', '/opt/hermes-agent/venv/bin/hermes']

/** Below a folder that `HERMES_WEBUI_AGENT_DIR` names: a checkout with its environment, or the environment itself. */
const AGENT_PLACES = ['venv/bin/hermes', '.venv/bin/hermes', 'bin/hermes', 'hermes']

/**
 * Programs that may be Hermes, the first ones first, each there and executable: `HERMES_WEBUI_AGENT_DIR` wins and nothing else is looked at then; else `PATH`,
 * then the usual places. Reads folders only; whether one is Hermes says its own word (`askVersion`).
 */
export async function findPrograms({ env, homedir }: FindParts): Promise<string[]> {
  const named = env.HERMES_WEBUI_AGENT_DIR?.trim()
  if (named) return await there(isAbsolute(named) ? AGENT_PLACES.map((place) => join(named, place)) : [])
  // What stands in PATH without a root depends on where the server stands, and a workspace is no place to take programs from.
  const path = (env.PATH ?? '').split(delimiter).filter(isAbsolute)
  return await there([...path.map((folder) => join(folder, 'hermes')), ...HOME_PLACES.map((place) => join(homedir, place)), ...MACHINE_PLACES])
}

async function there(paths: string[]): Promise<string[]> {
  const found = await Promise.all([...new Set(paths)].map(async (path) => {
    const usable = await Promise.all([stat(path).then((info) => info.isFile()), access(path, constants.X_OK)]).then(([file]) => file, () => false)
    return usable ? [path] : []
  }))
  return found.flat()
}
