import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fixedChoice } from '../../server/agents/choice'
import type { Agent } from '../../server/agents/port'
import { makeEmbedded } from '../../server/agents/embedded/agent'
import { makeAllowed } from '../../server/agents/embedded/allowed'
import { makeScripted } from '../../server/agents/scripted'
import { compose } from '../../server/compose'
import type { ComposeParts, Composition } from '../../server/compose'
import { makeMint } from '../../server/contract/ids'
import type { AgentKind } from '../../server/contract/session'
import { listen } from '../../server/http/listen'
import { makeKept } from '../../server/models/kept'
import { makeProfiles } from '../../server/profiles/profiles'
import { makeModels } from '../../server/models/models'
import { systemProcesses } from '../../server/runs/processes'
import { systemTimers } from '../../server/runs/timers'
import type { Store, ToolProcess } from '../../server/store/port'
import { freshFolder, openTestStore } from './store-thread'

export interface TestServer {
  /** `http://localhost:<port>` */
  url: string
  port: number
  store: Store
  composition: Composition
  /** A folder that chats may work in; the default one is inside it. */
  work: string
  /** What the server reported; a test that expects nothing looks here. */
  errors: unknown[]
  /** Ends the server as SIGTERM does; `keep` leaves the folder for a next one. */
  end(keep?: boolean): Promise<void>
  /** Its folder: state and workspaces. */
  folder: string
}

export interface TestServerOptions {
  /** Of an earlier server that ended with `keep`. */
  folder?: string
  port?: number
  store?: Store
  agents?: Partial<Record<AgentKind, Agent>>
  parts?: Partial<ComposeParts>
  clientFolder?: string
}

export const builtClient = fileURLToPath(new URL('../../dist/client', import.meta.url))

/** A whole server in this process: real store, real sockets, no model connected, the scripted agent without its pauses, and a folder of its own. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const folder = options.folder ?? realpathSync(freshFolder('server'))
  const work = join(folder, 'work')
  mkdirSync(work, { recursive: true })
  const home = join(folder, 'home')
  mkdirSync(join(home, 'profiles', 'amber'), { recursive: true })
  const timers = systemTimers()
  const errors: unknown[] = []
  const store = options.store ?? (await openTestStore({ folder: join(folder, 'state', 'talaria') }))
  const models = makeModels({ kept: makeKept(join(folder, 'state', 'talaria')), local: [], now: Date.now })
  const table = systemProcesses()
  const processes = { note: (started: ToolProcess) => store.noteProcess(started), forget: (pid: number) => store.forgetProcess(pid) }
  const agents = options.agents ?? { scripted: makeScripted({ timers, scale: 0 }), embedded: makeEmbedded({ models, timers, table, processes, env: {}, version: 'test', allowed: makeAllowed(join(folder, 'state', 'talaria', 'allowed.json')) }) }
  const composition = await compose({
    store,
    agents,
    choice: fixedChoice(Object.keys(agents)[0] as AgentKind),
    models,
    profiles: await makeProfiles({ name: 'default', home, scope: home, env: {}, isLaunch: true }),
    timers,
    mint: makeMint(Date.now, Math.random),
    version: 'test',
    defaultWorkspace: join(work, 'default'),
    attachmentFolder: join(folder, 'state', 'talaria', 'attachments'),
    workspaceRoots: [work],
    clientFolder: options.clientFolder ?? builtClient,
    allowedHosts: new Set(),
    allowedOrigins: new Set(),
    report: (error) => errors.push(error),
    ...options.parts,
  })
  const { port } = await listen(['127.0.0.1'], options.port ?? 0, () => composition.makeServer())
  return {
    url: `http://localhost:${port}`,
    port,
    store,
    composition,
    work,
    errors,
    folder,
    async end(keep = false) {
      await composition.end()
      await models.end()
      if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
