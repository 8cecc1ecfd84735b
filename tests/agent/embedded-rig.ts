import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeEmbedded, type EmbeddedDeps } from '../../server/agents/embedded/agent'
import { makeAllowed } from '../../server/agents/embedded/allowed'
import type { Agent } from '../../server/agents/port'
import { makeKept } from '../../server/models/kept'
import { makeModels } from '../../server/models/models'
import type { Models } from '../../server/models/port'
import type { ProfileContext } from '../../server/profiles/context'
import { launchProfile } from '../../server/profiles/launch'
import { systemProcesses } from '../../server/runs/processes'
import { systemTimers } from '../../server/runs/timers'
import type { ToolProcess } from '../../server/store/port'

/** A key that must never be seen anywhere but in the header it is made for. */
export const SECRET = 'sk-embedded-secret-0123456789'

/** The embedded agent on real files: a home with `config.yaml` and `.env` that name a model server, and a folder to work in. */
export interface Home {
  folder: string
  workspace: string
  profile: ProfileContext
  models: Models & { end(): Promise<void> }
  agent: Agent
  /** Every process group that was recorded, and those of them that are recorded still. */
  noted: ToolProcess[]
  open: Map<number, ToolProcess>
  /** Groups of them that are alive. */
  alive(): number[]
  end(): Promise<void>
}

export async function embeddedHome(base: string, more: Partial<EmbeddedDeps> & { config?: string; wrap?: (models: Models) => Models } = {}): Promise<Home> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'talaria-embedded-')))
  const workspace = join(folder, 'workspace')
  mkdirSync(workspace)
  const home = join(folder, 'home')
  mkdirSync(home)
  writeFileSync(join(home, 'config.yaml'), more.config ?? `model:\n  default: fake-model\n  provider: custom\n  base_url: ${base}\n  api_key: \${FAKE_KEY}\n`)
  writeFileSync(join(home, '.env'), `FAKE_KEY=${SECRET}\n`)
  const profile = await launchProfile(home)
  const models = makeModels({ kept: makeKept(join(folder, 'state')), local: [], now: Date.now })
  const noted: ToolProcess[] = []
  const open = new Map<number, ToolProcess>()
  const agent = makeEmbedded({
    models: more.wrap?.(models) ?? models, timers: systemTimers(), table: systemProcesses(), env: process.env, version: '0.0.0-test', allowed: makeAllowed(join(folder, 'state', 'allowed.json')),
    processes: {
      note: async (process) => {
        noted.push(process)
        open.set(process.pid, process)
      },
      forget: async (pid) => void open.delete(pid),
    },
    ...more,
  })
  return {
    folder, workspace, profile, models, agent, noted, open,
    alive: () => [...new Set(noted.map((each) => each.pid))].filter(groupAlive),
    end: async () => {
      await agent.end()
      await models.end()
    },
  }
}

export function groupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return true
  } catch {
    return false
  }
}

/** A port of this machine on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 1
}
