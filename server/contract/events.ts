import type { ApprovalRequest, RetiredWhy, ChoiceKind } from './approvals'
import type { Attachment } from './attachments'
import type { RunProblem } from './problems'
import type { ClarifyRequest, SecretRequest } from './questions'
import type { DividerHead, NoticeHead, PlanEntry, RowKind, RowState, ToolHead, TurnSource } from './rows'
import type { AgentKind, AgentRef, ModelRef, RunCause, RunOutcome, TitleBy, Timings, Usage, SessionHead } from './session'

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
  /** `live` unless said otherwise; a notice and a divider are born `done`. */
  state?: RowState
  /** The first text, shown at once. */
  text?: string
}

export type RowOpened = RowOpening &
  ({ kind: 'thought' | 'answer' | 'question' | 'steer' } | { kind: 'tool'; tool: ToolHead } | { kind: 'plan'; plan: PlanEntry[] } | { kind: 'notice'; notice: NoticeHead } | { kind: 'divider'; divider: DividerHead })

export interface EventPayloads {
  'session.created': { title: string; titleBy: TitleBy; profile: string; workspace: string; agent: AgentRef | null; model: ModelRef | null; source: SessionHead['source'] }
  /** `reseeded` and `changed` come with a divider row, once there is another foreign session; without one the chat has none until then. */
  'agent.bound': { agent: AgentRef; foreign?: string; why: 'first' | 'resumed' | 'rotated' | 'reseeded' | 'changed' }
  'session.changed': { title?: string; titleBy?: TitleBy; workspace?: string; model?: ModelRef | null; /** Null: the agent's own measure. */ effort?: string | null; pinned?: boolean; archived?: boolean; approvals?: 'ask' | 'all' }
  'turn.admitted': { turn: string; key?: string; row: string; n: number; pos: string; text: string; source: TurnSource; attachments?: readonly Attachment[] }
  'run.started': { run: string; turn: string; generation: number; attempt: number; cause: RunCause; agent: AgentRef; model: ModelRef | null; /** Only with `reattached`: closed rows of the turn that become live again and belong to this run. Of words, those that were given back to the draft: they are with the agent again. */ reopens?: string[] }
  /** What a later re-attach needs (spec/log.md §9). */
  'run.bound': { run: string; turn: string; foreign: string; counters?: Record<string, number> }
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
  /** The row is a `question` row opened in the same append. */
  'clarify.raised': { clarify: string; row: string; run: string; request: ClarifyRequest }
  'clarify.answered': { clarify: string; row: string; run: string; answer: string }
  'clarify.retired': { clarify: string; row: string; run: string; why: RetiredWhy }
  'secret.raised': { secret: string; row: string; run: string; request: SecretRequest }
  /** Never the value, only whether one was given. */
  'secret.answered': { secret: string; row: string; run: string; given: boolean }
  'secret.retired': { secret: string; row: string; run: string; why: RetiredWhy }
  /** In the append that opened its row with the text; the row closes in the append of one of the two others. */
  'steer.accepted': { steer: string; row: string; run: string }
  'steer.delivered': { steer: string; row: string; run: string; evidence: 'seen' | 'inferred' }
  /** To `queue`: a `queue.added` of that item stands in the same append. */
  'steer.returned': { steer: string; row: string; run: string; to: 'queue' | 'draft'; item?: string }
  'plan.replaced': { row: string; run: string; plan: PlanEntry[] }
  /** `before`: another item; absent or gone: at the end. */
  'queue.added': { item: string; text: string; by: 'person' | 'steer'; before?: string; key?: string; send?: true; attachments?: readonly Attachment[] }
  /** `attachments` absent: the item keeps its own. */
  'queue.changed': { item: string; text: string; attachments?: readonly Attachment[] }
  /** `before` absent: to the end. `send`: it goes next as soon as no run is live, whatever the last outcome. */
  'queue.moved': { item: string; before?: string; send?: true }
  /** The first of `items` stays in its place with `text` and `attachments`; the others leave. */
  'queue.combined': { items: string[]; text: string; attachments?: readonly Attachment[] }
  'queue.removed': { items: string[] }
  /** In one append with the `turn.admitted` of that turn and its `run.started`. */
  'queue.taken': { item: string; turn: string }
  'usage.reported': { run: string; turn: string; usage: Usage }
  'run.stopping': { run: string; turn: string; by: 'person' | 'server' | 'delete' }
  /** Every live row is closed and every open question retired in the same append, before it. */
  'run.settled': { run: string; turn: string; outcome: RunOutcome; reason?: string; problem?: RunProblem; usage?: Usage; timings: Timings; finalRow?: string; /** Where the agent's own store stood when this turn was over; opaque (spec/agents.md §7). */ mark?: string }
  /** `counted` says how many of the rows the head's `count` holds, so that a partial reader agrees. Turns whose last row goes leave too. */
  'rows.retracted': { rows: string[]; turns: string[]; why: 'edit' | 'retry' | 'undo' | 'truncate' | 'clear' | 'superseded'; by?: string; counted: number }
  /**
   * Turns and rows of a foreign store, of which the event holds the numbers and not the rows: they are the fold's second input, an `ImportBatch`. A reader without it catches up.
   * `turns` and `rows` count them; `first` and `last` are the places of the first and the last row. `replaced`: rows that leave because the store has them whole. `counted`: how much
   * the head's `count` rises by all of it. `lastAt`: server's ms of the newest of them. At most `IMPORT_LIMIT` rows an append.
   */
  'rows.imported': { source: AgentKind; turns: number; rows: number; first: string; last: string; replaced: string[]; counted: number; lastAt: number }
  'session.deleted': Record<never, never>
}

export type EventType = keyof EventPayloads
export type EventOf<T extends EventType> = T extends EventType ? Envelope & { type: T } & EventPayloads[T] : never
export type Event = { [T in EventType]: EventOf<T> }[EventType]

/** An event before its session, `seq` and `at` are known. */
export type Draft = { [T in EventType]: { type: T } & EventPayloads[T] }[EventType]

/** Events of a run carry its id; the store refuses those of a generation that is not current or has settled. */
export function runOf(event: Event | Draft): string | undefined {
  return 'run' in event ? event.run : undefined
}

export type { RowKind }
