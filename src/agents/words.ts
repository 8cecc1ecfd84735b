import { en, t } from '../../i18n/agents'
import type { AgentFault, AgentInfo, Capability } from '../../server/contract/agents'
import type { AgentKind } from '../../server/contract/session'

/** What an agent is called: those of this server by our words, others by their own. */
export function nameOf(agent: { kind: AgentKind; name: string }): string {
  return agent.kind === 'embedded' ? t('agent.embedded') : agent.kind === 'scripted' ? t('agent.scripted') : agent.name
}

/** With its version where that says something: an agent that is part of this server has none of its own. */
export function namedWith(agent: { kind: AgentKind; name: string }, version: string | undefined): string {
  const ours = agent.kind === 'embedded' || agent.kind === 'scripted'
  return version === undefined || ours ? nameOf(agent) : t('agent.named', { name: nameOf(agent), version })
}

/** In one line of the settings. An agent without a program of its own does not run by itself. */
export function stateOf(info: AgentInfo): string {
  return info.state === 'ready' && info.restarts === undefined ? t('agent.state.usable') : t(`agent.state.${info.state}`)
}

const SHORT: readonly AgentFault[] = ['not_installed', 'too_old', 'unconfigured', 'no_model']

/** Behind its name in a chat's header; null while there is nothing to say. */
export function shortOf({ state, fault }: Pick<AgentInfo, 'state' | 'fault'>): string | null {
  if (state === 'ready' || state === 'idle') return null
  const said = state === 'unavailable' ? SHORT.find((one) => one === fault) : undefined
  return t(`agent.short.${said ?? state}` as 'agent.short.starting')
}

/** What is wrong, what to do, and the command for it, where one helps. A newer server may know faults that this build does not. */
export function faultOf({ kind, fault, hint }: AgentInfo): { what: string; next: string; command: string | null } | null {
  if (fault === undefined || !(`agent.fault.${fault}` in en)) return null
  if (kind === 'embedded') return { what: t(`agent.fault.${fault}`), next: fault === 'no_model' ? t('agent.fault.no_model.here') : (hint ?? ''), command: null }
  return { what: t(`agent.fault.${fault}`), next: t(`agent.fault.${fault}.next`), command: COMMANDS[fault] ?? null }
}

/** For Hermes Agent, the one agent that is installed beside us (spec/hermes-home.md). */
const COMMANDS: Partial<Record<AgentFault, string>> = {
  not_installed: 'pip install hermes-agent', too_old: 'pip install --upgrade hermes-agent', untested: 'pip install --upgrade hermes-agent', extras_missing: 'pip install --upgrade --force-reinstall hermes-agent',
  unconfigured: 'hermes setup', no_model: 'hermes model', unknown_profile: 'hermes profile list',
}

const CAPABILITIES: readonly Capability[] = [
  'reasoning', 'tool_arguments', 'tool_results', 'diffs', 'approvals', 'clarify', 'secrets', 'steer', 'stop', 'models', 'effort', 'images', 'files', 'workspace', 'titles', 'usage', 'cost', 'own_history', 'resume',
  'branch', 'rewind', 'compress', 'sub_agents', 'background',
]

/** Everything an agent could do, in one order; `has` says whether this one does. */
export function capabilitiesOf(info: AgentInfo): { name: string; has: boolean }[] {
  return CAPABILITIES.map((one) => ({ name: t(`cap.${one}`), has: info.capabilities.includes(one) }))
}

/** Why the others are absent. */
export function absenceOf({ kind }: AgentInfo): string {
  return kind === 'embedded' ? t('cap.not.ours') : kind === 'scripted' ? t('cap.not.script') : t('cap.not.version')
}
