// What a fresh clone lacks is fetched or built here, once, with plain Node: nothing of this file may import a package.
import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const at = (...parts) => join(root, ...parts)

/** Ends the process with a sentence for people. */
export function giveUp(words) {
  console.error(`\n${words}\n`)
  process.exit(1)
}

/** Runs a program in the project's folder with the terminal attached; gives its exit code. */
export function run(program, args, env = process.env) {
  const done = spawnSync(program, args, { cwd: root, stdio: 'inherit', env, shell: process.platform === 'win32' })
  if (done.error) giveUp(`${program} could not be started: ${done.error.message}`)
  return done.status ?? 1
}

export function must(program, args, words, env = process.env) {
  if (run(program, args, env) !== 0) giveUp(words)
}

export function ensureNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19)) giveUp(`Talaria needs Node 20.19 or newer; this is ${process.versions.node}.`)
}

const digest = (...bytes) => bytes.reduce((hash, part) => hash.update(part).update('\0'), createHash('sha256')).digest('hex')
const stampIs = (file, value) => existsSync(file) && readFileSync(file, 'utf8') === value

/** Installs the pinned packages when they are missing or the lock has changed since. */
export function ensureInstalled() {
  const lock = digest(readFileSync(at('package-lock.json')))
  const stamp = at('node_modules', '.talaria-lock')
  if (stampIs(stamp, lock)) return
  console.log('Installing packages…')
  must('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], 'The packages could not be installed. See the lines above; with a network, try again.')
  writeFileSync(stamp, lock)
}

const INPUTS = ['src', 'server', 'sw', 'i18n', 'public', 'build', 'index.html', 'vite.config.ts', 'package.json', 'package-lock.json']

function files(path) {
  if (!existsSync(path)) return []
  return statSync(path).isDirectory() ? readdirSync(path).sort().flatMap((name) => files(join(path, name))) : [path]
}

/** Digest of everything that the build reads. */
export function inputs() {
  return digest(...INPUTS.flatMap((name) => files(at(name))).flatMap((file) => [file.slice(root.length), readFileSync(file)]))
}

/** Builds the product when what is in `dist` was made from other sources. */
export function ensureBuilt() {
  const wanted = inputs()
  const stamp = at('dist', '.inputs')
  if (stampIs(stamp, wanted)) return
  console.log('Building…')
  // Built beside the old one and swapped in whole: a build that fails leaves what was there.
  const next = `dist.${process.pid}`
  rmSync(at(next), { recursive: true, force: true })
  must(process.execPath, [at('node_modules', 'vite', 'bin', 'vite.js'), 'build', '--app', '--logLevel', 'warn'], 'The build failed. See the lines above.', { ...process.env, TALARIA_DIST: next })
  writeFileSync(at(next, '.inputs'), wanted)
  if (existsSync(at('dist'))) renameSync(at('dist'), at(`${next}.old`))
  renameSync(at(next), at('dist'))
  rmSync(at(`${next}.old`), { recursive: true, force: true })
}

function onPath(names) {
  for (const folder of (process.env.PATH ?? '').split(delimiter))
    for (const name of names) {
      try {
        accessSync(join(folder, name), constants.X_OK)
        return join(folder, name)
      } catch {
        // Not in this folder.
      }
    }
  return null
}

/** Path of a Chromium for the browser tests: the named one, the system's, else the package manager's when root, else Playwright's. */
export function ensureChromium() {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const found = process.env.CHROMIUM ?? onPath(names) ?? playwrightChromium()
  if (found) return found
  if (process.getuid?.() === 0 && onPath(['apt-get'])) {
    console.log('Installing Chromium for the browser tests…')
    run('apt-get', ['update', '-qq'])
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'])
  } else run('npx', ['playwright-core', 'install', 'chromium'])
  const now = onPath(names) ?? playwrightChromium()
  if (!now) giveUp('The browser tests need Chromium. Install it (Debian: apt-get install chromium) or name it in the variable CHROMIUM.')
  return now
}

function playwrightChromium() {
  const asked = spawnSync(process.execPath, ['-e', "import('playwright-core').then((p) => console.log(p.chromium.executablePath()))"], { cwd: root, encoding: 'utf8' })
  const path = asked.stdout?.trim()
  return path && existsSync(path) ? path : null
}
