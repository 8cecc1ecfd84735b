import type { RunProblem } from './problems'
import type { Queue } from './queue'
import type { Row, TurnSource } from './rows'

export type AgentKind = 'embedded' | 'scripted' | 'hermes' | 'hermes-gateway' | 'acp'

/** The agent a chat is bound to at its first turn. */
export interface AgentRef { kind: AgentKind; name: string; version?: string }

/** A model as people and providers name it: `provider` is the id of a connection (`openrouter`, `ollama`, `custom:work`, `scripted`). */
export interface ModelRef { provider: string; id: string }

export type TitleBy = 'person' | 'agent' | 'model' | 'provisional'

/** The session's head: the first part of the fold's value. */
export interface SessionHead {
  id: string
  title: string
  titleBy: TitleBy
  profile: string
  /** Absolute path of the folder that tools are confined to. */
  workspace: string
  agent: AgentRef | null
  /** The agent's own stored session, opaque. */
  foreign?: string
  /** Where the agent's own store stood when we last were of one mind with it; opaque. Another one now: somebody else wrote there (spec/agents.md §7). */
  foreignMark?: string
  model: ModelRef | null
  /** How hard the model is to think, one of its `efforts`; absent: the agent's own measure. */
  effort?: string
  /** `all`: every question of this chat is answered with its *once*. Absent: ask. */
  approvals?: 'all'
  source: 'talaria' | 'import' | 'fork' | 'agent'
  pinned: boolean
  archived: boolean
  /** Server's ms. */
  createdAt: number
  /** Server's ms of the last admission or settlement; maintenance never moves it. */
  lastAt: number
  /** How many user and answer rows stand. */
  count: number
  /** `seq` of the last event that changed the head. */
  seq: number
}

export type RunOutcome = 'completed' | 'failed' | 'cancelled' | 'interrupted'
export type RunCause = 'sent' | 'retried' | 'reattached'

/** The turn's own numbers; unknown is absent, never 0. */
export interface Usage { input?: number; output?: number; cached?: number; reasoning?: number; cost?: number; contextUsed?: number; contextSize?: number }

/** Milliseconds. */
export interface Timings { total: number; firstToken?: number }

export interface Run {
  id: string
  turn: string
  /** The session's fencing integer, raised by each `run.started`. */
  generation: number
  attempt: number
  cause: RunCause
  agent: AgentRef
  model: ModelRef | null
  startedAt: number
  state: 'running' | 'stopping' | 'settled'
  /** The agent's own id of this run and its counters before it, opaque: what a later re-attach needs. */
  bound?: { foreign: string; counters?: Record<string, number> }
  /** Who asked to stop, once `run.stopping` is committed. */
  stoppedBy?: 'person' | 'server' | 'delete'
  settledAt?: number
  outcome?: RunOutcome
  /** Why it ended as it did where the outcome does not say it all, such as `limit`. */
  reason?: string
  problem?: RunProblem
  usage?: Usage
  timings?: Timings
  finalRow?: string
}

/** One submission and all that answers it; the last run decides its state. */
export interface Turn {
  id: string
  /** Its user row. */
  row: string
  /** `pos` of the user row, so that a window knows its turns without their rows. */
  pos: string
  source: TurnSource
  admittedAt: number
  runs: Run[]
  /** `seq` of the last event that changed the turn or one of its runs. */
  seq: number
}

/** The value of the fold. Maps keep insertion order only by accident: display order is `pos`. */
export interface Transcript {
  session: SessionHead | null
  deleted: boolean
  turns: Map<string, Turn>
  rows: Map<string, Row>
  /** Row ids in display order. */
  order: string[]
  queue: Queue
  /** `seq` of the last event taken in. */
  seq: number
  /** Complete from this `pos` on; `''` when nothing lies before. */
  from: string
  /**
   * Partial transcripts only: `seq` of the last event that named something this part does not hold. A window before `from` must have
   * been read at or after it (spec/log.md §6). Absent: none. Whoever keeps a part and not this number gives it the part's `seq`.
   */
  missed?: number
}

/** The last run of a turn. */
export function lastRun(turn: Turn): Run | undefined {
  return turn.runs[turn.runs.length - 1]
}
