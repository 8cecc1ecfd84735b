// The project's commands. Each works in a fresh clone: `node build/run.mjs start|dev|build|test|agents|lint|types|bench`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureChromium, ensureInstalled, ensureNode, giveUp, must, root, run } from './ensure.mjs'
import { ensureHermes } from './peers.mjs'

const [command, ...args] = process.argv.slice(2)
const bin = (...parts) => join(root, 'node_modules', ...parts)
const node = process.execPath

const types = () => {
  for (const project of ['server', 'page', 'worker']) must(bin('.bin', 'tsc'), ['-p', `tsconfig.${project}.json`], `Types do not hold (tsconfig.${project}.json).`)
}
const lint = () => must(bin('.bin', 'oxlint'), ['--type-aware', '--deny-warnings', 'src', 'server', 'sw', 'i18n', 'build', 'tests'], 'The lint rules found something. See the lines above.')

const commands = {
  start() {
    ensureInstalled()
    ensureBuilt()
    attach(node, [join(root, 'dist', 'server', 'main.js'), ...args])
  },
  build() {
    ensureInstalled()
    ensureBuilt()
  },
  dev() {
    ensureInstalled()
    attach(node, [join(root, 'build', 'dev.mjs'), ...args])
  },
  types() {
    ensureInstalled()
    types()
  },
  lint() {
    ensureInstalled()
    types()
    lint()
  },
  test() {
    ensureInstalled()
    const chromium = ensureChromium()
    types()
    lint()
    ensureBuilt()
    process.exit(run(node, [bin('vitest', 'vitest.mjs'), 'run', ...args], { ...process.env, CHROMIUM: chromium }))
  },
  agents() {
    ensureInstalled()
    const chromium = ensureChromium()
    const hermes = ensureHermes()
    ensureBuilt()
    process.exit(run(node, [bin('vitest', 'vitest.mjs'), 'run', '--config', 'vitest.agents.config.ts', ...args], { ...process.env, CHROMIUM: chromium, TALARIA_TEST_HERMES: hermes }))
  },
  bench() {
    ensureInstalled()
    const chromium = ensureChromium()
    const peers = args.includes('hermes') ? { TALARIA_TEST_HERMES: ensureHermes() } : {}
    ensureBuilt()
    process.exit(run(node, [join(root, 'build', 'bench.mjs'), ...args], { ...process.env, CHROMIUM: chromium, ...peers }))
  },
}

/** Hands the terminal over; signals reach the child, and its end is ours. */
function attach(program, list) {
  const child = spawn(program, list, { cwd: process.env.INIT_CWD ?? root, stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
}

ensureNode()
if (!commands[command]) giveUp(`Commands: ${Object.keys(commands).join(', ')}`)
commands[command]()
