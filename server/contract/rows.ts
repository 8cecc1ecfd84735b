import type { Approval } from './approvals'
import type { Attachment } from './attachments'
import type { Clarify, Secret } from './questions'

/**
 * Rows: what a person sees (spec/log.md §4). A row object is never mutated; a change makes a new one.
 * Display order is `pos` compared by code unit, and nothing else.
 */
export type RowState = 'live' | 'done' | 'failed' | 'cancelled' | 'denied' | 'unknown'

export interface RowBase {
  id: string
  /** The session's next integer at birth; what the original's API calls `message.id`. */
  n: number
  turn: string
  /** Absent on the user row, which belongs to the turn and outlives every attempt at it. */
  run?: string
  /** A tool row: steps of a sub-agent stand under it. */
  parent?: string
  pos: string
  /** `seq` of the last event that changed the row. */
  seq: number
  /** Server's ms when the row opened; display only. */
  at: number
  state: RowState
  /** Milliseconds from opening to closing, as told by the server. */
  duration?: number
  /** Raw text as sent. UTF-16 units count. Only user, thought, answer, steer and notice rows have any. */
  text: string
}

export interface UserRow extends RowBase { kind: 'user'; source: TurnSource; attachments?: readonly Attachment[] }
export interface ThoughtRow extends RowBase { kind: 'thought' }
export interface AnswerRow extends RowBase { kind: 'answer' }
export interface ToolRow extends RowBase { kind: 'tool'; tool: ToolHead; approval?: Approval }
/** A question that belongs to no tool call; exactly one of the three once it was raised. */
export interface QuestionRow extends RowBase { kind: 'question'; approval?: Approval; clarify?: Clarify; secret?: Secret }
/** A word sent into a running turn; `text` is the person's. Live until it was delivered or given back. */
export interface SteerRow extends RowBase { kind: 'steer'; steer: SteerHead }
/** The agent's list of what it is going to do; one a run, replaced in place. */
export interface PlanRow extends RowBase { kind: 'plan'; plan: PlanEntry[]; /** Server's ms of its last change; never falls. */ plannedAt: number }
export interface NoticeRow extends RowBase { kind: 'notice'; notice: NoticeHead }
/** Something about the chat as a whole changed here, such as what its agent remembers. */
export interface DividerRow extends RowBase { kind: 'divider'; divider: DividerHead }
export type Row = UserRow | ThoughtRow | AnswerRow | ToolRow | QuestionRow | SteerRow | PlanRow | NoticeRow | DividerRow
export type RowKind = Row['kind']

export type TurnSource = 'person' | 'queue' | 'wakeup' | 'goal' | 'agent'

/** What a step does, as an icon and a verb for people; `other` for tools that we do not know. */
export type ToolVerb = 'read' | 'list' | 'search' | 'write' | 'change' | 'run' | 'web' | 'skill' | 'memory' | 'other'

export interface ToolHead {
  /** The agent's own id for the call. */
  call: string
  /** The tool's name in the agent's words. */
  name: string
  verb: ToolVerb
  /** What it acts on: a path, a command, a query. Shown beside the verb. */
  target?: string
  title?: string
  args?: unknown
  locations?: ToolLocation[]
  /** Tail of what the tool prints, bounded to 16 KiB. */
  output?: string
  /** True when `output` or `result` was shortened. */
  cut?: boolean
  /** What the model was told, bounded to 16 KiB. */
  result?: string
  /** Unified diff. */
  diff?: string
  exit?: number
}

/** `accepted`: durable with us, and it ends in exactly one of the two others (spec/log.md §3). What our restart gave back to the draft is accepted again when the agent lived on and has it. */
export interface SteerHead {
  id: string
  state: 'accepted' | 'delivered' | 'returned'
  evidence?: 'seen' | 'inferred'
  /** Where it went back to: `queue` sends it as the next message, `draft` sends it nowhere. */
  to?: 'queue' | 'draft'
  item?: string
}

export interface PlanEntry { text: string; state: 'pending' | 'active' | 'done' | 'cancelled'; priority?: 'high' | 'medium' | 'low' }

export interface ToolLocation { path: string; line?: number; lines?: number }

export interface NoticeHead {
  code: string
  params?: Record<string, string | number>
  /** The agent's or provider's own words. */
  words?: string
}

/** `agent_reseeded`: the agent begins anew with the text of this chat; `agent_changed`: another agent goes on with it; `agent_unmatched`: its own copy of the chat could not be compared with this one and was left. */
export interface DividerHead { code: 'agent_reseeded' | 'agent_changed' | 'agent_unmatched'; params?: Record<string, string | number> }

/** Limits of what a row may hold; longer things are cut with `cut: true`. UTF-16 units. */
export const TOOL_TEXT_LIMIT = 16_384
