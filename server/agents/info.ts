import type { AgentInfo, AgentFault } from '../contract/agents'
import type { AgentKind } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import { AGENT_NAMES } from '../runs/admit'
import { within } from '../runs/timers'
import type { Agent, AgentStatus, Probe, Timers } from './port'

/** ms that an agent may take to say how it stands. */
const ASK_MS = 5_000

/** Faults with which an agent can be used all the same. */
const WARNINGS: readonly AgentFault[] = ['untested']

/** How an agent stands, as people see it; nothing is started for it. Never rejects: an agent that does not say is `unavailable`, `no_answer`. */
export async function agentInfo(agent: Agent, profile: ProfileContext, chosen: AgentKind, timers: Timers): Promise<AgentInfo> {
  const silent = (): Probe => ({ state: 'unavailable', code: 'no_answer' })
  const nothing = (): AgentStatus => ({})
  const [probe, status] = await Promise.all([
    within(timers, ASK_MS, agent.probe(profile), silent).catch((error: unknown): Probe => ({ state: 'unavailable', code: 'no_answer', words: String(error instanceof Error ? error.message : error) })),
    agent.status ? within(timers, ASK_MS, agent.status(profile), nothing).catch(nothing) : nothing(),
  ])
  const { program } = status
  const version = status.version ?? program?.version ?? (probe.state === 'ready' ? probe.agent.version : undefined)
  const fault = status.fault ?? (probe.state === 'unavailable' ? faultOf(probe.code) : undefined)
  const words = status.words ?? program?.words ?? (probe.state === 'unavailable' ? probe.words : undefined)
  const hint = status.hint ?? (probe.state === 'unavailable' ? probe.hint : undefined)
  return {
    kind: agent.kind, name: probe.state === 'ready' ? probe.agent.name : AGENT_NAMES[agent.kind], ...(version === undefined ? {} : { version }), profile: profile.name,
    state: stateOf(probe, status, agent.status !== undefined), ...(fault === undefined ? {} : { fault }), ...(words === undefined ? {} : { words }), ...(hint === undefined ? {} : { hint }),
    capabilities: probe.state === 'ready' ? probe.capabilities : [], chosen: agent.kind === chosen,
    ...(status.path === undefined ? {} : { path: status.path }),
    ...(program?.pid === undefined ? {} : { pid: program.pid }), ...(program?.startedAt === undefined ? {} : { started_at: program.startedAt / 1000 }),
    ...(program ? { restarts: program.restarts } : {}),
  }
}

function stateOf(probe: Probe, { program, fault }: AgentStatus, hasProgram: boolean): AgentInfo['state'] {
  if (program?.state === 'failed') return 'failed'
  if (probe.state === 'unavailable' || (fault !== undefined && !WARNINGS.includes(fault))) return 'unavailable'
  return program?.state ?? (hasProgram ? 'idle' : 'ready')
}

const FAULTS: readonly AgentFault[] = ['not_installed', 'too_old', 'untested', 'extras_missing', 'unconfigured', 'unknown_profile', 'wrong_profile', 'does_not_start', 'no_answer', 'no_model']

/** What a probe calls it, where it is one of the closed list. */
function faultOf(code: string): AgentFault | undefined {
  return FAULTS.find((fault) => fault === code)
}
