import type { Approval } from './approvals'
import { begin, boundedArguments } from './arguments'
import { endingOf } from './ending'
import type { Event, EventOf } from './events'
import { originalUsage } from './messages'
import { pendingApproval } from './pending'
import { patchedTool } from './apply-rows'
import type { FullSession } from './routes/shapes'
import type { ToolHead } from './rows'
import type { Run } from './session'

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
  rows: Map<string, { kind: 'thought' | 'answer' } | { kind: 'tool'; tool: ToolHead }>
  /** Open questions, in the order they were asked. */
  open: Set<string>
  /** Text of the answer that is being told, and whether more of the turn has followed on it. */
  said: string
  /** Nothing follows. */
  ended: boolean
}

/** `k` is 0…15, rising within an event; `data` is the JSON payload. `ends` closes the transport after this frame. */
export interface OriginalFrame { k: number; name: string; data: Record<string, unknown>; ends?: true }

/** Frames per event that an id has room for. */
const FRAMES = 16
const PREVIEW = 4000
/** Arguments of a live event: the first four (settlement.md §0). */
const LIVE_KEYS = 4
/** `stream_end` stands last in its event. */
const LAST = FRAMES - 1

export function originalStream(session: string, run: string, startedSeq: number): OriginalStream {
  return { session, run, startedSeq, state: null, rows: new Map(), open: new Set(), said: '', ended: false }
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
 * `run.settled` only: `done`, `cancel` and `apperror` carry it. After a stop was asked for nothing but the end is told.
 */
export function translate(stream: OriginalStream, event: Event, session: FullSession | null = null): OriginalFrame[] {
  if (stream.ended || event.session !== stream.session) return []
  if (event.type === 'session.changed') return titled(stream, event)
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
      const frames = told(stream, event)
      return stream.state?.state === 'stopping' ? [] : frames
    }
  }
}

function told(stream: OriginalStream, event: Exclude<Event, EventOf<'run.started'> | EventOf<'run.stopping'> | EventOf<'usage.reported'> | EventOf<'run.settled'>>): OriginalFrame[] {
  switch (event.type) {
    case 'row.opened': return opened(stream, event)
    case 'row.grew': {
      const row = stream.rows.get(event.row)
      return row && row.kind !== 'tool' ? [speech(stream, row.kind, event.text, 0)] : []
    }
    case 'row.cut': {
      if (stream.rows.get(event.row)?.kind === 'answer') stream.said = stream.said.slice(0, event.keep)
      return []
    }
    case 'row.changed': {
      remember(stream, event.row, event.tool)
      return []
    }
    case 'row.closed': {
      const row = remember(stream, event.row, event.tool)
      if (row?.kind !== 'tool') return []
      const { call, name, args, result, output } = row.tool
      return [{
        k: 0, name: 'tool_complete', data: {
          event_type: 'tool.completed', name, preview: begin(result ?? output ?? '', PREVIEW), args: boundedArguments(args, LIVE_KEYS), tid: call, duration: event.duration / 1000,
          is_error: event.state !== 'done',
        },
      }]
    }
    case 'approval.raised': {
      stream.open.add(event.approval)
      const approval: Approval = { ...event.request, state: 'open', id: event.approval, row: event.row, run: event.run, raisedAt: event.at }
      return [{ k: 0, name: 'approval', data: { ...pendingApproval(stream.session, approval, stream.open.size) } }]
    }
    case 'approval.decided':
    case 'approval.retired': {
      stream.open.delete(event.approval)
      return []
    }
    default: return []
  }
}

function opened(stream: OriginalStream, event: EventOf<'row.opened'>): OriginalFrame[] {
  const frames: OriginalFrame[] = []
  if (event.kind === 'notice') {
    return [{ k: 0, name: 'warning', data: { type: event.notice.code, message: event.notice.words ?? event.notice.code } }]
  }
  // Words that the agent goes on after were no final answer: the original tells them as progress.
  if (stream.said) frames.push({ k: 0, name: 'interim_assistant', data: { text: stream.said, already_streamed: true } })
  stream.said = ''
  if (event.kind === 'tool') {
    const { tool } = event
    stream.rows.set(event.row, { kind: 'tool', tool })
    frames.push({
      k: 1, name: 'tool', data: { event_type: 'tool.started', name: tool.name, preview: begin(tool.target ?? tool.title ?? '', PREVIEW), args: boundedArguments(tool.args, LIVE_KEYS), tid: tool.call },
    })
  } else if (event.kind === 'thought' || event.kind === 'answer') {
    stream.rows.set(event.row, { kind: event.kind })
    if (event.text) frames.push(speech(stream, event.kind, event.text, 1))
  }
  return frames
}

function speech(stream: OriginalStream, kind: 'thought' | 'answer', text: string, k: number): OriginalFrame {
  if (kind === 'answer') stream.said += text
  return { k, name: kind === 'answer' ? 'token' : 'reasoning', data: { text } }
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
