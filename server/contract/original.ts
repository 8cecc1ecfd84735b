import type { Approval } from './approvals'
import { begin, boundedArguments } from './arguments'
import { endingOf } from './ending'
import type { Event, EventOf } from './events'
import { originalUsage } from './messages'
import { pendingApproval, pendingClarify } from './pending'
import { patchedTool } from './apply-rows'
import type { FullSession } from './routes/shapes'
import type { Clarify } from './questions'
import type { Row, ToolHead } from './rows'
import type { Run } from './session'
import { todoState } from './todos'

/**
 * The original's chat stream as a view of one run's events (spec/log.md §8, features.md §3.2, 3.4). Pure: what a reader must remember is in `OriginalStream`, which is
 * built again by translating the run's events from its `run.started` on and dropping the frames up to the cursor.
 */
export interface OriginalStream {
  session: string
  run: string
  /** `seq` of `run.started`. */
  startedSeq: number
  /** The run as far as the events told of it. */
  state: Run | null
  /** `length`: UTF-16 units. */
  rows: Map<string, { kind: 'thought' | 'answer'; length: number } | { kind: 'tool'; tool: ToolHead }>
  /** Open questions by id, in the order they were asked. */
  approvals: Map<string, Approval>
  clarifies: Map<string, Clarify>
  /** The approval that the reader was told last. */
  head?: string
  /** Text of the answer that is being told, and whether more of the turn has followed on it. */
  said: string
  /** Reasoning was cut, because the words repeat it, and the words were not told as progress yet. */
  echoed: boolean
  /** Nothing follows. */
  ended: boolean
}

/**
 * `k` is 0…15, rising within an event; `data` is the JSON payload. `ends` closes the transport after this frame. `takeBack` (with `reasoning`, without words): so many
 * units of the reasoning before it were an echo; it is for the reader's `ReasoningBuffer` and is never sent.
 */
export interface OriginalFrame { k: number; name: string; data: Record<string, unknown>; ends?: true; takeBack?: number }

/** Frames per event that an id has room for. */
const FRAMES = 16
const PREVIEW = 4000
/** Arguments of a live event: the first four (settlement.md §0). */
const LIVE_KEYS = 4
/** `stream_end` stands last in its event. */
const LAST = FRAMES - 1
/** Notices that the original has a warning for (features.md §3.2, settlement.md §8.1); others are shown by rows only. */
const WARNINGS = new Set(['fallback', 'approval_gateway_unsupported', 'approval_gateway_offline', 'session_lease_wait'])
/** The original hides the tool that asks a person: its question is told. */
const HIDDEN_TOOL = 'clarify'

/** `held`: rows of the turn as they are now; needed for a re-attached run only, which goes on in rows that opened before it. */
export function originalStream(session: string, run: string, startedSeq: number, held: Iterable<Row> = []): OriginalStream {
  const stream: OriginalStream = { session, run, startedSeq, state: null, rows: new Map(), approvals: new Map(), clarifies: new Map(), said: '', echoed: false, ended: false }
  for (const row of held) {
    if (row.kind === 'tool') stream.rows.set(row.id, { kind: 'tool', tool: row.tool })
    else if (row.kind === 'thought' || row.kind === 'answer') stream.rows.set(row.id, { kind: row.kind, length: row.text.length })
  }
  return stream
}

/** `<run>:<n>`, strictly rising over the run. */
export function originalId(stream: Pick<OriginalStream, 'run' | 'startedSeq'>, seq: number, k: number): string {
  return `${stream.run}:${numberOf(stream.startedSeq, seq, k)}`
}

function numberOf(startedSeq: number, seq: number, k: number): number {
  return FRAMES * (seq - startedSeq + 1) + k
}

/**
 * Where a reader goes on: the last `seq` and `k` that it has. Null for no cursor, one of another run, or one above `lastSeq`: then everything is told again,
 * never anything skipped. A bare number is taken as the part behind the colon (the original's `after_seq`).
 */
export function originalCursor(cursor: string | undefined, stream: Pick<OriginalStream, 'run' | 'startedSeq'>, lastSeq: number): { seq: number; k: number } | null {
  const [, run, digits] = /^(?:(.*):)?(\d{1,15})$/.exec(cursor ?? '') ?? []
  if (digits === undefined || (run !== undefined && run !== stream.run)) return null
  const n = Number(digits)
  const at = { seq: Math.floor(n / FRAMES) + stream.startedSeq - 1, k: n % FRAMES }
  return n < FRAMES || at.seq > lastSeq ? null : at
}

/**
 * The frames of one event, in order; none for what the original has no word for. Events go in by `seq`, each once. `session` is the settled session, needed for
 * `run.settled` only: `done`, `cancel` and `apperror` carry it. After a stop was asked for nothing but the end is told. `next` is the event behind it, if it is known: a
 * question that is answered by itself in the same breath is not told.
 */
export function translate(stream: OriginalStream, event: Event, session: FullSession | null = null, next?: Event): OriginalFrame[] {
  if (stream.ended || event.session !== stream.session) return []
  if (event.type === 'session.changed') return stream.state?.state === 'stopping' ? [] : titled(stream, event)
  if (event.type === 'session.deleted') return end(stream, [{ k: 0, name: 'cancel', data: { message: 'The chat was deleted.', type: 'cancelled', status: 'cancelled', session_id: stream.session }, ends: true }])
  if (!('run' in event) || event.run !== stream.run) return []
  switch (event.type) {
    case 'run.started': {
      const { run: id, turn, generation, attempt, cause, agent, model, at } = event
      stream.state = { id, turn, generation, attempt, cause, agent, model, startedAt: at, state: 'running' }
      return []
    }
    case 'run.stopping': {
      if (stream.state) stream.state = { ...stream.state, state: 'stopping', stoppedBy: event.by }
      return []
    }
    case 'usage.reported': {
      if (stream.state) stream.state = { ...stream.state, usage: event.usage }
      return []
    }
    case 'run.settled': return settled(stream, event, session)
    default: {
      const frames = told(stream, event, next)
      return stream.state?.state === 'stopping' ? [] : frames
    }
  }
}

type Told = Exclude<Event, EventOf<'run.started' | 'run.stopping' | 'usage.reported' | 'run.settled'>>

function told(stream: OriginalStream, event: Told, next: Event | undefined): OriginalFrame[] {
  switch (event.type) {
    case 'row.opened': return opened(stream, event)
    case 'row.grew': {
      const row = stream.rows.get(event.row)
      if (!row || row.kind === 'tool') return []
      row.length = event.at0
      return [speech(stream, row, event.text, 0)]
    }
    case 'row.cut': return cut(stream, event)
    case 'row.changed': {
      remember(stream, event.row, event.tool)
      return []
    }
    case 'row.closed': return closed(stream, event)
    case 'approval.raised': {
      const approval: Approval = { ...event.request, state: 'open', id: event.approval, row: event.row, run: event.run, raisedAt: event.at }
      stream.approvals.set(event.approval, approval)
      return next?.type === 'approval.decided' && next.approval === event.approval && next.by === 'auto' ? [] : headApproval(stream)
    }
    case 'approval.decided': return endedApproval(stream, event.approval, event.by === 'auto')
    case 'approval.retired': return endedApproval(stream, event.approval, event.why === 'run_ended')
    case 'clarify.raised': {
      stream.clarifies.set(event.clarify, { ...event.request, state: 'open', id: event.clarify, row: event.row, run: event.run, raisedAt: event.at })
      const [head] = stream.clarifies.values()
      return [{ k: 0, name: 'clarify', data: { ...pendingClarify(stream.session, head!, stream.clarifies.size) } }]
    }
    case 'clarify.answered':
    case 'clarify.retired': {
      stream.clarifies.delete(event.clarify)
      return []
    }
    case 'plan.replaced': return [{ k: 1, name: 'todo_state', data: { ...todoState(stream.session, stream.run, event.plan, event.at) } }]
    default: return []
  }
}

function opened(stream: OriginalStream, event: EventOf<'row.opened'>): OriginalFrame[] {
  switch (event.kind) {
    case 'notice': return WARNINGS.has(event.notice.code) ? [{ k: 0, name: 'warning', data: { type: event.notice.code, message: event.notice.words ?? event.notice.code } }] : []
    case 'plan': return [{ k: 1, name: 'todo_state', data: { ...todoState(stream.session, stream.run, event.plan, event.at) } }]
    case 'steer':
    case 'divider': return []
    case 'question': return progress(stream)
    case 'tool': {
      const { tool } = event
      stream.rows.set(event.row, { kind: 'tool', tool })
      const frames = progress(stream)
      if (tool.name === HIDDEN_TOOL) return frames
      const data = { event_type: 'tool.started', name: tool.name, preview: begin(tool.target ?? tool.title ?? '', PREVIEW), args: boundedArguments(tool.args, LIVE_KEYS), tid: tool.call }
      return [...frames, { k: 1, name: 'tool', data }]
    }
    case 'thought':
    case 'answer': {
      const row = { kind: event.kind, length: 0 }
      stream.rows.set(event.row, row)
      const frames = progress(stream)
      return event.text ? [...frames, speech(stream, row, event.text, 1)] : frames
    }
  }
}

/** Words that the agent goes on after were no final answer: the original tells them as progress. */
function progress(stream: OriginalStream): OriginalFrame[] {
  const { said, echoed } = stream
  if (!said) return []
  stream.said = ''
  stream.echoed = false
  return [{ k: 0, name: 'interim_assistant', data: { text: said, already_streamed: true, ...(echoed ? { reasoning_echo: true } : {}) } }]
}

function speech(stream: OriginalStream, row: { kind: 'thought' | 'answer'; length: number }, text: string, k: number): OriginalFrame {
  row.length += text.length
  if (row.kind === 'answer') stream.said += text
  return { k, name: row.kind === 'answer' ? 'token' : 'reasoning', data: { text } }
}

function cut(stream: OriginalStream, event: EventOf<'row.cut'>): OriginalFrame[] {
  const row = stream.rows.get(event.row)
  if (!row || row.kind === 'tool') return []
  const units = row.length - event.keep
  row.length = event.keep
  if (row.kind === 'answer') {
    stream.said = stream.said.slice(0, Math.max(0, stream.said.length - units))
    return []
  }
  if (event.why === 'echo') stream.echoed = true
  return [{ k: 0, name: 'reasoning', data: { text: '' }, takeBack: units }]
}

function closed(stream: OriginalStream, event: EventOf<'row.closed'>): OriginalFrame[] {
  const row = remember(stream, event.row, event.tool)
  if (row?.kind !== 'tool' || row.tool.name === HIDDEN_TOOL) return []
  const { call, name, args, result, output } = row.tool
  return [{
    k: 0, name: 'tool_complete', data: {
      event_type: 'tool.completed', name, preview: begin(result ?? output ?? '', PREVIEW), args: boundedArguments(args, LIVE_KEYS), tid: call, duration: event.duration / 1000,
      is_error: event.state !== 'done',
    },
  }]
}

/** The oldest that takes an answer, with the number of all (settlement.md §2.3, §7.1). */
function headApproval(stream: OriginalStream): OriginalFrame[] {
  const head = [...stream.approvals.values()].find(({ waits }) => !waits)
  if (!head) return []
  stream.head = head.id
  return [{ k: 0, name: 'approval', data: { ...pendingApproval(stream.session, head, stream.approvals.size) } }]
}

/** The next one is told when its turn comes; not when all of them go. */
function endedApproval(stream: OriginalStream, id: string, quiet: boolean): OriginalFrame[] {
  stream.approvals.delete(id)
  return quiet || stream.head !== id ? [] : headApproval(stream)
}

function remember(stream: OriginalStream, id: string, patch: Partial<ToolHead> | undefined): ReturnType<typeof stream.rows.get> {
  const row = stream.rows.get(id)
  if (row?.kind === 'tool' && patch) stream.rows.set(id, { kind: 'tool', tool: patchedTool(row.tool, patch) })
  return stream.rows.get(id)
}

function titled(stream: OriginalStream, event: EventOf<'session.changed'>): OriginalFrame[] {
  if (event.title === undefined || event.seq <= stream.startedSeq) return []
  return [{ k: 0, name: 'title', data: { session_id: stream.session, title: event.title } }]
}

function settled(stream: OriginalStream, event: EventOf<'run.settled'>, session: FullSession | null): OriginalFrame[] {
  const before = stream.state
  if (!before) return end(stream, [])
  const { outcome, reason, problem, timings, at } = event
  const run: Run = { ...before, state: 'settled', settledAt: at, outcome, timings, ...(reason ? { reason } : {}), ...(problem ? { problem } : {}), ...(event.usage ? { usage: event.usage } : {}) }
  stream.state = run
  const whose = { session_id: stream.session, ...(session ? { session } : {}) }
  const ending = endingOf(run)
  if (!ending) {
    const limited = reason === 'limit' ? { terminal_state: 'tool_limit_reached', terminal_reason: reason } : {}
    const usage = {
      ...originalUsage(run.usage ?? {}), duration_seconds: timings.total / 1000, ...(timings.firstToken === undefined ? {} : { ttft_ms: timings.firstToken }), ...(run.model ? { used_model: run.model.id } : {}),
    }
    return end(stream, [{ k: 0, name: 'done', data: { ...whose, usage, ...limited } }, { k: LAST, name: 'stream_end', data: { session_id: stream.session }, ends: true }])
  }
  if (outcome === 'cancelled') return end(stream, [{ k: 0, name: 'cancel', data: { message: ending.message, type: 'cancelled', status: 'cancelled', ...whose }, ends: true }])
  const { type, message, hint, details } = ending
  return end(stream, [{
    k: 0, name: 'apperror', ends: true,
    data: { message, type, ...(hint ? { hint } : {}), ...(details ? { details: begin(details, 1200) } : {}), ...(problem ? { code: problem.code } : {}), ...whose },
  }])
}

function end(stream: OriginalStream, frames: OriginalFrame[]): OriginalFrame[] {
  stream.ended = true
  return frames
}
