import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCaller } from '../../models/http'
import type { ProfileContext } from '../../profiles/context'
import { parseConfig } from '../../profiles/config-file'
import { rootOf } from '../../profiles/names'
import { readProfileFile } from '../../profiles/read-file'
import type { Timers } from '../port'
import type { ProgramFacts } from '../supervise/facts'
import { plainEnvironment } from './environment'
import { findPrograms } from './find'
import { HERMES_TIMEOUT, SYSTEM_LAYER, timeoutOf, writeLayer } from './managed'
import { HermesFault } from './port'
import type { HermesProgram } from './port'
import { Program } from './program'
import { PATIENCE } from './patience'
import type { Patience } from './patience'
import { HermesRest } from './rest'
import { isBelow, OLDEST, TESTED, Versions } from './version'

export interface HermesProgramsParts {
  timers: Timers
  facts: ProgramFacts
  /** In the state folder, ours alone. */
  folder: string
  /** The server's own environment. */
  env: Readonly<Record<string, string | undefined>>
  homedir: string
  /** False: Hermes is started without a managed layer of ours. */
  managed: boolean
  /** Other measures than `PATIENCE`. */
  patience?: Partial<Patience>
  report(error: unknown): void
}

/** What is there of Hermes on this machine. `path` also for one that is too old. */
export type FoundHermes =
  | { state: 'found'; path: string; version: string; /** Older than what is tested. */ untested: boolean }
  | { state: 'missing'; /** Where it should have been, as the environment says. */ named?: string }
  | { state: 'too_old'; path: string; version: string }

/** The Hermes programs of this server: one a profile, found once. */
export interface HermesPrograms {
  find(): Promise<FoundHermes>
  /** Always the same for one profile; nothing is started by it. */
  of(profile: ProfileContext): HermesProgram
  /** Takes up what an earlier server left of these profiles, at the server's start: what nobody uses ends when it is idle, and at our own end. Never rejects. */
  adopt(profiles: ProfileContext[]): Promise<void>
  end(): Promise<void>
}

/** ms for which a found program is taken without another search: each start of a turn asks, and the search reads every folder of `PATH`. */
const FOUND_MS = 10_000

export function makeHermesPrograms(parts: HermesProgramsParts): HermesPrograms {
  const { timers, facts, folder, env, homedir, report } = parts
  const caller = makeCaller()
  const rest = new HermesRest({ call: caller.call, timers })
  const versions = new Versions(join(folder, 'version'), plainEnvironment(env, homedir))
  const programs = new Map<string, Program>()
  /** An administrator's layer, as Hermes would find it. */
  const named = env.HERMES_MANAGED_DIR?.trim() || null

  /** What was found last, and until when the folders are not read again for it; that its file stands as it was is looked at each time. */
  let last: { found: FoundHermes & { state: 'found' }; until: number } | null = null
  const find = async (): Promise<FoundHermes> => {
    if (last && timers.monotonic() < last.until && (await versions.of(last.found.path)) === last.found.version) return last.found
    const found = await search()
    last = found.state === 'found' ? { found, until: timers.monotonic() + FOUND_MS } : null
    return found
  }
  const search = async (): Promise<FoundHermes> => {
    let old: { path: string; version: string } | null = null
    for (const path of await findPrograms({ env, homedir })) {
      const version = await versions.of(path)
      if (version === null) continue
      if (!isBelow(version, OLDEST)) return { state: 'found', path, version, untested: isBelow(version, TESTED) }
      old ??= { path, version }
    }
    const where = env.HERMES_WEBUI_AGENT_DIR?.trim()
    return old ? { state: 'too_old', ...old } : { state: 'missing', ...(where ? { named: where } : {}) }
  }

  const programOf = (profile: ProfileContext): Program => {
    const known = programs.get(profile.scope)
    if (known) return known
    // No id from elsewhere is a name of a folder (spec/agents.md §2).
    const own = join(folder, createHash('sha256').update(profile.scope).digest('hex').slice(0, 24))
    const ours = join(own, 'managed')
    const root = profile.name === 'default' ? profile.home : rootOf(profile.home)
    const made = new Program({
      timers, facts, rest, folder: own, env, homedir, patience: { ...PATIENCE, ...parts.patience }, report,
      profile: { name: profile.name, home: profile.home, root, secrets: secretsOf(profile.env) },
      find: async () => {
        const found = await find()
        if (found.state === 'found') return found
        throw found.state === 'too_old' ? new HermesFault('too_old', `Hermes Agent ${found.version} is older than ${OLDEST.join('.')}: ${found.path}`) : new HermesFault('not_installed', 'Hermes Agent is not installed.')
      },
      layer: async () => {
        const layer = parts.managed ? await writeLayer(ours, named ?? SYSTEM_LAYER).catch(() => null) : null
        // What is in force is told by what lies there, also of a program that is adopted.
        if (!layer) await rm(ours, { recursive: true, force: true })
        return layer ?? named
      },
      approvalTimeout: async () => {
        for (const place of [ours, named ?? SYSTEM_LAYER, profile.home]) {
          const config = parseConfig(await readProfileFile(join(place, 'config.yaml')).catch(() => null), profile.env)
          const found = config.state === 'read' ? timeoutOf(config.value) : undefined
          if (found !== undefined) return found
        }
        return HERMES_TIMEOUT
      },
    })
    programs.set(profile.scope, made)
    return made
  }

  return {
    find,
    of: programOf,
    async adopt(profiles) {
      await Promise.all(profiles.map((profile) => programOf(profile).adopt().catch(report)))
    },
    async end() {
      await Promise.all([...programs.values()].map((program) => program.end()))
      await caller.end()
    },
  }
}

/** Values of the profile's `.env` that must not be shown; by their names. */
function secretsOf(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => (/KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH/i.test(name) && value.length >= 8 ? [value] : []))
}
