// The real programs that `npm run test:agents` drives. They lie in an ignored folder and are nobody's dependency.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { giveUp, must, root } from './ensure.mjs'

/** The release that the tests were written against (spec/agents.md §8). */
const HERMES = '0.19.0'
const PACKAGES = [`hermes-agent[acp]==${HERMES}`, 'aiohttp', 'mcp']

/** Path of the `hermes` program: the named one, else one in an environment of its own, installed when it is missing. */
export function ensureHermes() {
  const named = process.env.TALARIA_TEST_HERMES
  if (named) return existsSync(named) ? named : giveUp(`TALARIA_TEST_HERMES names ${named}, and there is no such file.`)
  const folder = join(root, '.cache', 'peers', `hermes-${HERMES}`)
  const program = join(folder, 'bin', 'hermes')
  if (existsSync(program)) return program
  const python = ['python3.13', 'python3.12', 'python3.11', 'python3'].find(fits)
  if (!python) giveUp('The tests with the real Hermes Agent need Python 3.11 to 3.13 with venv (Debian: apt-get install python3 python3-venv), or TALARIA_TEST_HERMES with the path of an installed hermes.')
  console.log(`Installing Hermes Agent ${HERMES} for the tests…`)
  mkdirSync(join(root, '.cache', 'peers'), { recursive: true })
  rmSync(folder, { recursive: true, force: true })
  must(python, ['-m', 'venv', folder], 'Python could not make an environment. Debian: apt-get install python3-venv')
  const installed = spawnSync(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES], { stdio: 'inherit' })
  if (installed.status !== 0) {
    // Half an environment is none: the next try begins anew.
    renameSync(folder, `${folder}.broken`)
    rmSync(`${folder}.broken`, { recursive: true, force: true })
    giveUp(`Hermes Agent could not be installed. See the lines above; with a network, try again, or name an installed one in TALARIA_TEST_HERMES.`)
  }
  return program
}

function fits(python) {
  const asked = spawnSync(python, ['-c', 'import sys, venv; print(sys.version_info[:2] >= (3, 11) and sys.version_info[:2] < (3, 14))'], { encoding: 'utf8' })
  return asked.status === 0 && asked.stdout.trim() === 'True'
}
