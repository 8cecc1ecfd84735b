import { outside, reopenable, reopenRows } from './apply-rows'
import { withAttachments } from './attachments'
import type { EventOf } from './events'
import { insertRow } from './order'
import { present } from './present'
import type { Run, SessionHead, Transcript, Turn } from './session'
import type { Touched } from './touched'

/** Effects of events of the head, turns and runs; same promise as in `apply-rows.ts`. */
type RunEvent = EventOf<'run.bound' | 'usage.reported' | 'run.stopping' | 'run.settled'>

export function createSession(value: Transcript, event: EventOf<'session.created'>, touched: Touched): boolean {
  if (value.session) return event.seq <= value.session.seq
  if (event.seq !== 1) return false
  value.session = {
    id: event.session, title: event.title, titleBy: event.titleBy, profile: event.profile, workspace: event.workspace, agent: event.agent,
    model: event.model, source: event.source, pinned: false, archived: false, createdAt: event.at, lastAt: event.at, count: 0, seq: event.seq,
  }
  touched.head = true
  return true
}

/** `patch` is made from the head only when the event is newer than it; the fields `drop` leave the head then. */
export function changeHead(value: Transcript, seq: number, touched: Touched, patch: (head: SessionHead) => Partial<SessionHead>, ...drop: ('approvals' | 'effort' | 'foreign' | 'foreignMark')[]): void {
  const head = value.session!
  if (seq <= head.seq) return
  const next = { ...head, ...present(patch(head)), seq }
  for (const field of drop) delete next[field]
  value.session = next
  touched.head = true
}

export function changeSession(value: Transcript, event: EventOf<'session.changed'>, touched: Touched): boolean {
  changeHead(value, event.seq, touched, () => {
    const { title, titleBy, workspace, model, effort, pinned, archived, approvals } = event
    return { title, titleBy, workspace, model, pinned, archived, ...(effort === null ? {} : { effort }), ...(approvals === 'all' ? { approvals } : {}) } as Partial<SessionHead>
    // To ask is the rule, and so is the agent's own measure; what is the rule is not said.
  }, ...(event.approvals === 'ask' ? ['approvals' as const] : []), ...(event.effort === null ? ['effort' as const] : []))
  return true
}

/** Another agent does not know the session of the one before it, and of another session nobody knows yet where it stands. */
export function bindAgent(value: Transcript, event: EventOf<'agent.bound'>, touched: Touched): boolean {
  const { agent, foreign, why } = event
  const leaves = (why === 'changed' || why === 'reseeded') && foreign === undefined
  const unmarked = leaves || (foreign !== undefined && foreign !== value.session!.foreign)
  changeHead(value, event.seq, touched, () => ({ agent, foreign }) as Partial<SessionHead>, ...(leaves ? ['foreign' as const] : []), ...(unmarked ? ['foreignMark' as const] : []))
  return true
}

/** Opens the user row: visible, durable and unique from this instant. */
export function admitTurn(value: Transcript, event: EventOf<'turn.admitted'>, touched: Touched): boolean {
  const { seq, at, turn, row, n, pos, text, source, attachments } = event
  if (!value.turns.has(turn)) {
    if (value.rows.has(row)) return false
    value.turns.set(turn, { id: turn, row, pos, source, admittedAt: at, runs: [], seq })
    touched.turns.add(turn)
  }
  if (!value.rows.has(row) && pos >= value.from) {
    insertRow(value, { id: row, kind: 'user', n, turn, pos, seq, at, state: 'done', text, source, ...withAttachments(attachments) })
    touched.rows.add(row)
  }
  changeHead(value, seq, touched, (head) => ({ lastAt: at, count: head.count + 1 }))
  return true
}

export function startRun(value: Transcript, event: EventOf<'run.started'>, touched: Touched): boolean {
  const { run: id, turn, generation, attempt, cause, agent, model, at } = event
  // Its rows will stand at the end, so a part needs the turn too, even where all that the turn had lies before the part.
  if (!value.turns.has(turn) || !reopenable(value, event)) return false
  const fits = changeTurn(value, event, touched, (held) => {
    if (held.runs.some((run) => run.id === id)) return null
    const run: Run = { id, turn, generation, attempt, cause, agent, model, startedAt: at, state: 'running' }
    return { ...held, runs: [...held.runs, run] }
  })
  if (fits) reopenRows(value, event, touched)
  // A re-attached run is upkeep after our own restart: it does not make the chat newer. While a run is live its agent's store is ahead of us.
  if (fits && (cause !== 'reattached' || value.session!.foreignMark !== undefined)) changeHead(value, event.seq, touched, () => (cause === 'reattached' ? {} : { lastAt: at }), 'foreignMark')
  return fits
}

export function bindRun(value: Transcript, event: EventOf<'run.bound'>, touched: Touched): boolean {
  return changeRun(value, event, touched, (run) => ({ ...run, bound: present({ foreign: event.foreign, counters: event.counters } as NonNullable<Run['bound']>) }))
}

export function reportUsage(value: Transcript, event: EventOf<'usage.reported'>, touched: Touched): boolean {
  return changeRun(value, event, touched, (run) => ({ ...run, usage: present(event.usage) }))
}

export function stopRun(value: Transcript, event: EventOf<'run.stopping'>, touched: Touched): boolean {
  return changeRun(value, event, touched, (run) => ({ ...run, state: 'stopping', stoppedBy: event.by }))
}

export function settleRun(value: Transcript, event: EventOf<'run.settled'>, touched: Touched): boolean {
  const { outcome, reason, problem, usage, timings, finalRow, at } = event
  const fits = changeRun(value, event, touched, (run) =>
    present({
      ...run, state: 'settled', settledAt: at, outcome, reason, problem: problem && present(problem), usage: usage ? present(usage) : run.usage,
      timings: present(timings), finalRow,
    } as Run))
  if (fits) changeHead(value, event.seq, touched, () => ({ lastAt: at, foreignMark: event.mark }) as Partial<SessionHead>)
  return fits
}

function changeRun(value: Transcript, event: RunEvent, touched: Touched, next: (run: Run) => Run): boolean {
  return changeTurn(value, event, touched, (turn) => {
    const at = turn.runs.findLastIndex((run) => run.id === event.run)
    const run = turn.runs[at]
    if (!run || run.state === 'settled') return null
    return { ...turn, runs: turn.runs.with(at, next(run)) }
  })
}

function changeTurn(value: Transcript, event: RunEvent | EventOf<'run.started'>, touched: Touched, next: (turn: Turn) => Turn | null): boolean {
  const turn = value.turns.get(event.turn)
  if (!turn) return value.from !== '' && outside(value, event.seq)
  if (event.seq <= turn.seq) return true
  const changed = next(turn)
  if (!changed) return false
  changed.seq = event.seq
  value.turns.set(turn.id, changed)
  touched.turns.add(turn.id)
  return true
}
