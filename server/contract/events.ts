import type { ApprovalRequest, RetiredWhy, ChoiceKind } from './approvals'
import type { RunProblem } from './problems'
import type { NoticeHead, RowKind, RowState, ToolHead, TurnSource } from './rows'
import type { AgentRef, ModelRef, RunCause, RunOutcome, TitleBy, Timings, Usage, SessionHead } from './session'

/**
 * Events: the durable facts of a session (spec/log.md §3). `seq` is gapless from 1 within a session; `at` is the server's ms and
 * serves display only. Every id and `pos` the fold needs is in the event.
 */
export interface Envelope { session: string; seq: number; at: number }

/** What is common to `row.opened` of every kind. */
export interface RowOpening {
  row: string
  n: number
  pos: string
  turn: string
  run?: string
  parent?: string
  /** `live` unless said otherwise; a notice is born `done`. */
  state?: RowState
  /** The first text, shown at once. */
  text?: string
}

export type RowOpened = RowOpening &
  ({ kind: 'thought' | 'answer' | 'question' } | { kind: 'tool'; tool: ToolHead } | { kind: 'notice'; notice: NoticeHead })

export interface EventPayloads {
  'session.created': { title: string; titleBy: TitleBy; profile: string; workspace: string; agent: AgentRef | null; model: ModelRef | null; source: SessionHead['source'] }
  'agent.bound': { agent: AgentRef; foreign?: string; why: 'first' | 'resumed' | 'rotated' | 'reseeded' | 'changed' }
  'session.changed': { title?: string; titleBy?: TitleBy; workspace?: string; model?: ModelRef | null; pinned?: boolean; archived?: boolean }
  'turn.admitted': { turn: string; key?: string; row: string; n: number; pos: string; text: string; source: TurnSource }
  'run.started': { run: string; turn: string; generation: number; attempt: number; cause: RunCause; agent: AgentRef; model: ModelRef | null }
  'row.opened': RowOpened
  /** `at0` is the row's length before, in UTF-16 units; a reader whose row has another length catches up. */
  'row.grew': { row: string; run: string; at0: number; text: string }
  'row.cut': { row: string; run: string; keep: number; why: 'echo' | 'repeat' | 'agent_corrected' | 'superseded' }
  'row.changed': { row: string; run: string; tool: Partial<ToolHead> }
  'row.closed': { row: string; run: string; state: Exclude<RowState, 'live'>; duration: number; tool?: Partial<ToolHead> }
  /** The row is an open tool row, or a `question` row opened in the same append. */
  'approval.raised': { approval: string; row: string; run: string; request: ApprovalRequest }
  'approval.decided': { approval: string; row: string; run: string; choice: string; kind: ChoiceKind; by: 'person' | 'auto' }
  'approval.retired': { approval: string; row: string; run: string; why: RetiredWhy }
  'usage.reported': { run: string; turn: string; usage: Usage }
  'run.stopping': { run: string; turn: string; by: 'person' | 'server' | 'delete' }
  /** Every live row is closed and every open question retired in the same append, before it. */
  'run.settled': { run: string; turn: string; outcome: RunOutcome; reason?: string; problem?: RunProblem; usage?: Usage; timings: Timings; finalRow?: string }
  /** `counted` says how many of the rows the head's `count` holds, so that a partial reader agrees. Turns whose last row goes leave too. */
  'rows.retracted': { rows: string[]; turns: string[]; why: 'edit' | 'retry' | 'undo' | 'truncate' | 'clear' | 'superseded'; by?: string; counted: number }
  'session.deleted': Record<never, never>
}

export type EventType = keyof EventPayloads
export type EventOf<T extends EventType> = Envelope & { type: T } & EventPayloads[T]
export type Event = { [T in EventType]: EventOf<T> }[EventType]

/** An event before its session, `seq` and `at` are known. */
export type Draft = { [T in EventType]: { type: T } & EventPayloads[T] }[EventType]

/** Events of a run carry its id; the store refuses those of a generation that is not current or has settled. */
export function runOf(event: Event | Draft): string | undefined {
  return 'run' in event ? event.run : undefined
}

export type { RowKind }
