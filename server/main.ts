import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fixedChoice, makeChoice } from './agents/choice'
import { makeEmbedded } from './agents/embedded/agent'
import { makeAllowed } from './agents/embedded/allowed'
import { makeHermes } from './agents/hermes/agent'
import { defaultModel } from './agents/hermes/default-model'
import { makeHermesPrograms } from './agents/hermes/programs'
import { makeScripted } from './agents/scripted'
import { DETACHED_FLAG } from './agents/scripted/detached/frames'
import { hostScripted } from './agents/scripted/detached/host'
import { systemFacts } from './agents/supervise/facts'
import { openBrowser } from './browser'
import { compose } from './compose'
import type { ComposeParts } from './compose'
import { makeMint } from './contract/ids'
import { Refusal } from './contract/problems'
import { withDemo } from './demo'
import { CannotListen, listen } from './http/listen'
import { makeKept } from './models/kept'
import { localCandidates } from './models/local'
import { makeModels } from './models/models'
import { HELP, parseOptions } from './options'
import type { Options } from './options'
import { launchProfile } from './profiles/launch'
import { makeProfiles } from './profiles/profiles'
import { makeSettings } from './profiles/settings'
import { systemProcesses } from './runs/processes'
import { systemTimers } from './runs/timers'
import { openStore } from './store/open'
import { StoreFault, StoreUnopened } from './store/port'

declare const __VERSION__: string

/** Says what nobody foresaw where the person who runs the server reads it. */
function report(error: unknown): void {
  console.error(`${new Date().toISOString()} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
}

/** Opens, recovers, then listens; resolves with the way to end it. `died` is told when the store can do nothing more. */
async function run(options: Options, died: (words: string) => void): Promise<() => Promise<void>> {
  const folder = join(options.state, 'talaria')
  const timers = systemTimers()
  const store = await openStore({ folder, clock: Date.now, random: Math.random, version: __VERSION__, died })
  const profiles = await makeProfiles(await launchProfile(options.home))
  const found = makeModels({ kept: makeKept(folder), local: localCandidates(process.env.TALARIA_LOCAL_MODELS), now: Date.now })
  const models = options.demo ? withDemo(found) : found
  const table = systemProcesses()
  const programs = makeHermesPrograms({
    timers, facts: systemFacts(), folder: join(folder, 'hermes'), env: process.env, homedir: homedir(), managed: process.env.TALARIA_HERMES_LAYER !== 'off', report,
  })
  const readSettings = makeSettings()
  const hermes = makeHermes({ timers, modelOf: async (profile) => defaultModel(await readSettings(profile)), report, programs })
  const agents: ComposeParts['agents'] = {
    hermes,
    embedded: makeEmbedded({
      models, timers, table, env: process.env, version: __VERSION__, closed: [folder], allowed: makeAllowed(join(folder, 'allowed.json')),
      processes: { note: (started) => store.noteProcess(started), forget: (pid) => store.forgetProcess(pid) },
    }),
    scripted: makeScripted({
      timers, detached: { folder: join(folder, 'scripted'), main: fileURLToPath(import.meta.url), table, all: options.scriptedDetached },
    }),
  }
  const choice = options.demo ? fixedChoice('scripted') : makeChoice({ folder, agents, timers })
  const composition = await compose({
    store,
    agents,
    choice,
    models,
    profiles,
    timers,
    mint: makeMint(Date.now, Math.random),
    version: __VERSION__,
    defaultWorkspace: options.workspace,
    attachmentFolder: join(folder, 'attachments'),
    workspaceRoots: [homedir(), options.workspace],
    clientFolder: fileURLToPath(new URL('../client', import.meta.url)),
    allowedHosts: options.allowedHosts,
    allowedOrigins: options.allowedOrigins,
    processes: table,
    ...(options.keepEventsMs === undefined ? {} : { keepEventsMs: options.keepEventsMs }),
    report,
  })
  const end = async () => {
    await composition.end()
    await hermes.end()
    await found.end()
  }
  try {
    const { port } = await listen(options.addresses, options.port, () => composition.makeServer())
    const address = `http://${options.addresses.includes('::1') ? 'localhost' : options.addresses[0]}:${port}`
    console.log(`Talaria ${__VERSION__}: ${address}`)
    // What an earlier server left of Hermes, and no turn was taken up in, must not stay for ever.
    void profiles.names().then(async (names) => programs.adopt((await Promise.all(names.map(profiles.named))).filter((profile) => profile !== null))).catch(report)
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

/** Ctrl-C reaches us from the terminal and once more from each program that started us: so close together, ms, they are one. */
const ONE_PRESS = 1000

/** The way out: the first call ends everything in order and then the process, a later one at once. */
function makeExit(): { ready(end: () => Promise<void>): void; leave(code: number): void } {
  let end = (): Promise<void> => Promise.resolve()
  let since: number | null = null
  return {
    ready: (given) => (end = given),
    leave(code) {
      if (since !== null) {
        if (performance.now() - since > ONE_PRESS) process.exit(1)
        return
      }
      since = performance.now()
      end().then(
        () => process.exit(code),
        (error: unknown) => {
          report(error)
          process.exit(1)
        },
      )
    },
  }
}

/** The server's own program as the scripted agent that outlasts it; nobody types this. */
async function runScripted([folder, scale]: string[]): Promise<void> {
  await hostScripted({ folder: folder!, timers: systemTimers(), table: systemProcesses(), scale: Number(scale ?? 1), exit: () => process.exit(0) })
}

const parsed = parseOptions(process.argv.slice(2), process.env, { homedir: homedir(), cwd: process.cwd() })
if (process.argv[2] === DETACHED_FLAG) await runScripted(process.argv.slice(3))
else if (parsed.state === 'help') console.log(HELP)
else if (parsed.state === 'version') console.log(__VERSION__)
else if (parsed.state === 'wrong') {
  console.error(parsed.words)
  process.exitCode = 2
} else {
  try {
    const exit = makeExit()
    const started = run(parsed.options, (words) => {
      console.error(`Talaria ends: ${words}. What was answered is kept; turns that were running end as interrupted at the next start.`)
      exit.leave(1)
    })
    // Who sees the address may end us in the same moment, and then it ends in order, too.
    exit.ready(async () => (await started)())
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => exit.leave(0))
    await started
  } catch (error) {
    if (error instanceof StoreUnopened || error instanceof CannotListen) console.error(error.message)
    else if (error instanceof Refusal || error instanceof StoreFault || (error instanceof Error && 'syscall' in error)) console.error(`Talaria could not start: ${error.message}. The state folder is ${parsed.options.state}; --state names another.`)
    else report(error)
    process.exit(1)
  }
}
