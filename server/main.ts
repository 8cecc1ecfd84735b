import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeEmbedded } from './agents/embedded/agent'
import { makeScripted } from './agents/scripted'
import { openBrowser } from './browser'
import { compose } from './compose'
import { makeMint } from './contract/ids'
import { withDemo } from './demo'
import { CannotListen, listen } from './http/listen'
import { makeKept } from './models/kept'
import { localCandidates } from './models/local'
import { makeModels } from './models/models'
import { HELP, parseOptions } from './options'
import type { Options } from './options'
import { launchProfile } from './profiles/launch'
import { profileNames } from './profiles/names'
import { systemProcesses } from './runs/processes'
import { systemTimers } from './runs/timers'
import { openStore } from './store/open'
import { StoreUnopened } from './store/port'

declare const __VERSION__: string

/** Says what nobody foresaw where the person who runs the server reads it. */
function report(error: unknown): void {
  console.error(`${new Date().toISOString()} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
}

/** Opens, recovers, then listens; resolves with the way to end it. */
async function run(options: Options): Promise<() => Promise<void>> {
  const folder = join(options.state, 'talaria')
  const timers = systemTimers()
  const store = await openStore({ folder, clock: Date.now, random: Math.random, version: __VERSION__ })
  const profile = await launchProfile(options.home)
  const found = makeModels({ kept: makeKept(folder), local: localCandidates(process.env.TALARIA_LOCAL_MODELS), now: Date.now })
  const models = options.demo ? withDemo(found) : found
  const table = systemProcesses()
  const composition = await compose({
    store,
    agents: {
      embedded: makeEmbedded({
        models, timers, table, env: process.env, version: __VERSION__, closed: [folder],
        processes: { note: (started) => store.noteProcess(started), forget: (pid) => store.forgetProcess(pid) },
      }),
      scripted: makeScripted({ timers }),
    },
    defaultAgent: options.demo ? 'scripted' : 'embedded',
    models,
    profile,
    profileNames: () => profileNames(options.home),
    timers,
    mint: makeMint(Date.now, Math.random),
    version: __VERSION__,
    defaultWorkspace: options.workspace,
    workspaceRoots: [homedir(), options.workspace],
    clientFolder: fileURLToPath(new URL('../client', import.meta.url)),
    allowedHosts: options.allowedHosts,
    processes: table,
    report,
  })
  const end = async () => {
    await composition.end()
    await found.end()
  }
  try {
    const { port } = await listen(options.addresses, options.port, () => composition.makeServer())
    const address = `http://${options.addresses.includes('::1') ? 'localhost' : options.addresses[0]}:${port}`
    console.log(`Talaria ${__VERSION__}: ${address}`)
    if (options.open) {
      const words = await openBrowser(address, process.platform)
      if (words !== null) console.error(words)
    }
  } catch (error) {
    await end()
    throw error
  }
  return end
}

/** The first signal ends everything in order, a second one at once. */
function endOnSignals(end: () => Promise<void>): void {
  let ending = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (ending) process.exit(1)
      ending = true
      end().then(
        () => process.exit(0),
        (error: unknown) => {
          report(error)
          process.exit(1)
        },
      )
    })
}

const parsed = parseOptions(process.argv.slice(2), process.env, { homedir: homedir(), cwd: process.cwd() })
if (parsed.state === 'help') console.log(HELP)
else if (parsed.state === 'version') console.log(__VERSION__)
else if (parsed.state === 'wrong') {
  console.error(parsed.words)
  process.exitCode = 2
} else {
  try {
    endOnSignals(await run(parsed.options))
  } catch (error) {
    if (error instanceof StoreUnopened || error instanceof CannotListen) console.error(error.message)
    else if (error instanceof Error && 'syscall' in error) console.error(`Talaria could not start: ${error.message}. The state folder is ${parsed.options.state}; --state names another.`)
    else report(error)
    process.exit(1)
  }
}
