import type { AgentKind } from './session'

/** What an agent can do, as it is shown to people by name (spec/agents.md §5). */
export type Capability =
  | 'reasoning' | 'tool_arguments' | 'tool_results' | 'diffs' | 'approvals' | 'clarify' | 'secrets' | 'steer' | 'stop' | 'images' | 'files' | 'models'
  | 'effort' | 'own_history' | 'resume' | 'branch' | 'rewind' | 'compress' | 'usage' | 'cost' | 'titles' | 'sub_agents' | 'background' | 'workspace'

/** Why an agent cannot be used as it stands, or only with a warning (`untested`); each has words and a next step in the page. */
export type AgentFault = 'not_installed' | 'too_old' | 'untested' | 'extras_missing' | 'unconfigured' | 'unknown_profile' | 'wrong_profile' | 'does_not_start' | 'no_answer' | 'no_model'

/** An agent of this server as people see it: `GET /api/agents` (DESIGN §5). Members are spelled as in the original's API. */
export interface AgentInfo {
  kind: AgentKind
  name: string
  version?: string
  /** The profile that it was asked for. */
  profile: string
  /** `idle`: usable, and not started yet. `unavailable`: `fault` says why. */
  state: 'ready' | 'idle' | 'starting' | 'degraded' | 'failed' | 'unavailable'
  fault?: AgentFault
  /** The program's own words. */
  words?: string
  hint?: string
  capabilities: Capability[]
  /** New chats use it. */
  chosen: boolean
  /** Where the program lies, and its process, where it has one. */
  path?: string
  pid?: number
  started_at?: number
  restarts?: number
}

/** `GET /api/agents`, and what choosing and restarting answer. `chosen`: of new chats; a chat keeps the agent of its first turn. */
export interface AgentsAnswer { agents: AgentInfo[]; chosen: AgentKind; chosen_by: 'person' | 'default' }
