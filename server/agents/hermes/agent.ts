import { realpath } from 'node:fs/promises'
import type { AgentFault, Capability } from '../../contract/agents'
import type { ModelRef } from '../../contract/session'
import type { ProfileContext } from '../../profiles/context'
import type { Agent, AgentHistory, AgentStatus, Probe, Timers } from '../port'
import { historyOf } from './history'
import { unlessLost } from './lost'
import { offersOf } from './models'
import { HermesFault } from './port'
import type { HermesProgram } from './port'
import type { FoundHermes, HermesPrograms } from './programs'
import { reattach } from './reattach'
import { HermesSession } from './session'
import type { HermesSessionParts } from './session'

/** What Hermes can do through this adapter, by name (spec/agents.md §5). Branch and compress are the program's, and not driven from here yet. */
export const CAPABILITIES: Capability[] = [
  'reasoning', 'tool_arguments', 'tool_results', 'diffs', 'approvals', 'clarify', 'secrets', 'steer', 'stop', 'images', 'files', 'models', 'effort', 'own_history', 'resume', 'rewind', 'usage', 'cost', 'titles',
  'sub_agents', 'background', 'workspace',
]

/** ms in which a program answers something, unless it hangs. */
const LIFE_MS = 3_000

export const HERMES_NAME = 'Hermes Agent'

export interface HermesAgentParts {
  timers: Timers
  programs: HermesPrograms
  /** The model that the profile's configuration names; null where it names none. */
  modelOf(profile: ProfileContext): Promise<ModelRef | null>
  realpath?(path: string): Promise<string>
  /** Takes what nobody else hears of. */
  report?(error: unknown): void
}

/** Hermes Agent over its JSON-RPC backend: one program a profile, started at its first use. */
export function makeHermes(parts: HermesAgentParts): Agent {
  const { timers, programs } = parts
  const open = new Set<HermesSession>()
  /** Programs that hang and are begun anew, once each: whoever needs one waits for that. */
  const cures = new Map<HermesProgram, Promise<void>>()
  const cure = (program: HermesProgram): void => {
    if (cures.has(program)) return
    const work = program.call('session.active_list', {}, { within: LIFE_MS }).then(() => undefined, async (error: unknown) => {
      if (error instanceof HermesFault && error.code === 'slow') await program.restart()
    })
    cures.set(program, work.catch(parts.report ?? (() => undefined)).finally(() => cures.delete(program)))
  }
  const partsOf = (profile: ProfileContext): HermesSessionParts => ({ program: programs.of(profile), timers, realpath: parts.realpath ?? realpath, closed: () => undefined, deaf: () => cure(programs.of(profile)), cured: async () => await cures.get(programs.of(profile)) })
  const make: (...given: [...ConstructorParameters<typeof HermesSession>]) => HermesSession = (own, opening, sink) => {
    const session: HermesSession = new HermesSession({ ...own, closed: () => void open.delete(session) }, opening, sink)
    open.add(session)
    return session
  }
  return {
    kind: 'hermes',
    async probe(profile): Promise<Probe> {
      const found = await programs.find()
      if (found.state !== 'found') return { state: 'unavailable', ...faultOf(found) }
      return { state: 'ready', agent: { kind: 'hermes', name: HERMES_NAME, version: found.version }, capabilities: CAPABILITIES, model: await parts.modelOf(profile) }
    },
    async open(opening, sink) {
      // Its own model is chosen by its own configuration: naming it would pin the chat to it.
      const own = await parts.modelOf(opening.profile)
      const session = make(partsOf(opening.profile), sameModel(own, opening.model) ? { ...opening, model: null } : opening, sink)
      try {
        await session.open()
      } catch (error) {
        await session.close()
        throw error
      }
      return session
    },
    history: patient(timers, historyOf((profile) => programs.of(profile))),
    reattach: (opening, binding, sink) => reattach({ ...partsOf(opening.profile), make }, opening, binding, sink),
    async models(profile) {
      const program = programs.of(profile)
      await program.ready()
      return offersOf(await program.call('model.options', {}))
    },
    async status(profile): Promise<AgentStatus> {
      const found = await programs.find()
      if (found.state !== 'found') {
        const { code, ...rest } = faultOf(found)
        return { fault: code, ...rest, ...(found.state === 'too_old' ? { path: found.path, version: found.version } : {}) }
      }
      const program = programs.of(profile).status()
      return { path: found.path, version: found.version, program, ...(found.untested ? { fault: 'untested' as const } : {}) }
    },
    restart: (profile) => programs.of(profile).restart(),
    async end() {
      await Promise.all([...open].map((session) => session.close()))
      await programs.end()
    },
  }
}

/** Looking at transcripts may be repeated; writing one may not. */
function patient(timers: Timers, history: AgentHistory): AgentHistory {
  return { ...history, mark: (...asked) => unlessLost(timers, () => history.mark(...asked)), read: (...asked) => unlessLost(timers, () => history.read(...asked)) }
}

function sameModel(a: ModelRef | null, b: ModelRef | null): boolean {
  return a !== null && b !== null && a.provider === b.provider && a.id === b.id
}

function faultOf(found: Exclude<FoundHermes, { state: 'found' }>): { code: AgentFault; words: string; hint: string } {
  if (found.state === 'too_old') return { code: 'too_old', words: `Hermes Agent ${found.version} is too old: ${found.path}`, hint: 'Update it: pip install --upgrade hermes-agent' }
  return { code: 'not_installed', words: found.named === undefined ? 'Hermes Agent was not found.' : `Hermes Agent was not found in ${found.named}.`, hint: 'Install it: pip install hermes-agent' }
}
