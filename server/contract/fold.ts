import { importRows, type ImportBatch } from './apply-import'
import { endQuestion, raiseQuestion } from './apply-questions'
import { changeQueue } from './apply-queue'
import { changeRow, changeSteer, closeRow, cutRow, growRow, openRow, replacePlan, retractRows } from './apply-rows'
import { admitTurn, bindAgent, bindRun, changeHead, changeSession, createSession, reportUsage, settleRun, startRun, stopRun } from './apply-runs'
import type { Event } from './events'
import { EMPTY_QUEUE } from './queue'
import type { Transcript } from './session'
import { untouched, type Touched } from './touched'

export { IMPORT_LIMIT, type ImportBatch } from './apply-import'
export { merge, type Merged } from './merge'
export { addTouched, untouched, type Touched } from './touched'

/**
 * The one fold (law 2, spec/log.md §1, §6, §7): the only interpretation of a session's events, pure and incremental. It mints
 * nothing and reads no clock. The store runs it to know what to write, the page to know what to draw.
 */
export type Applied = { state: 'applied'; touched: Touched } | { state: 'old' } | { state: 'gap' }

/** Thrown by `fold` for an event that does not follow on what is held; `seq` is the event's. */
export class FoldGap extends Error {
  constructor(readonly seq: number) {
    super(`event ${seq} does not follow on the transcript`)
    this.name = 'FoldGap'
  }
}

export function emptyTranscript(): Transcript {
  return { session: null, deleted: false, turns: new Map(), rows: new Map(), order: [], queue: EMPTY_QUEUE, seq: 0, from: '' }
}

/**
 * One step of the fold, in place on the containers; row, turn, run and head objects are replaced, never mutated. Costs the size of
 * the event, or of what it removes. `old`: seen before, nothing changed. `gap`: it does not follow (an event between is missing, its
 * type is unknown, or it does not fit what is held), nothing changed; the reader catches up. `batch` is the second input of `rows.imported`; without it that
 * event is a gap.
 */
export function apply(value: Transcript, event: Event, batch?: ImportBatch): Applied {
  if (event.seq <= value.seq) return { state: 'old' }
  if (event.seq !== value.seq + 1) return { state: 'gap' }
  if (value.session ? value.session.id !== event.session : event.type !== 'session.created') return { state: 'gap' }
  const touched = untouched()
  if (!take(value, event, touched, batch)) return { state: 'gap' }
  value.seq = event.seq
  return { state: 'applied', touched }
}

/** A new value with the events applied; the given one stays as it is. Events seen before are skipped. `batchOf`: what an import brought, by its `seq`. Throws `FoldGap`. */
export function fold(value: Transcript, events: Iterable<Event>, batchOf?: (seq: number) => ImportBatch | undefined): Transcript {
  const next: Transcript = { ...value, turns: new Map(value.turns), rows: new Map(value.rows), order: [...value.order] }
  for (const event of events) if (apply(next, event, batchOf?.(event.seq)).state === 'gap') throw new FoldGap(event.seq)
  return next
}

function take(value: Transcript, event: Event, touched: Touched, batch: ImportBatch | undefined): boolean {
  switch (event.type) {
    case 'session.created': return createSession(value, event, touched)
    case 'agent.bound': return bindAgent(value, event, touched)
    case 'session.changed': return changeSession(value, event, touched)
    case 'turn.admitted': return admitTurn(value, event, touched)
    case 'run.started': return startRun(value, event, touched)
    case 'run.bound': return bindRun(value, event, touched)
    case 'row.opened': {
      if (!openRow(value, event, touched)) return false
      if (event.kind === 'answer') changeHead(value, event.seq, touched, (head) => ({ count: head.count + 1 }))
      return true
    }
    case 'row.grew': return growRow(value, event, touched)
    case 'row.cut': return cutRow(value, event, touched)
    case 'row.changed': return changeRow(value, event, touched)
    case 'row.closed': return closeRow(value, event, touched)
    case 'approval.raised':
    case 'clarify.raised':
    case 'secret.raised': return raiseQuestion(value, event, touched)
    case 'approval.decided':
    case 'approval.retired':
    case 'clarify.answered':
    case 'clarify.retired':
    case 'secret.answered':
    case 'secret.retired': return endQuestion(value, event, touched)
    case 'steer.accepted':
    case 'steer.delivered':
    case 'steer.returned': return changeSteer(value, event, touched)
    case 'plan.replaced': return replacePlan(value, event, touched)
    case 'queue.added':
    case 'queue.changed':
    case 'queue.moved':
    case 'queue.combined':
    case 'queue.removed':
    case 'queue.taken': return changeQueue(value, event, touched)
    case 'usage.reported': return reportUsage(value, event, touched)
    case 'run.stopping': return stopRun(value, event, touched)
    case 'run.settled': return settleRun(value, event, touched)
    case 'rows.retracted': {
      retractRows(value, event, touched)
      // The agent's own store holds what is gone here: they are of one mind again when it was rewound.
      if (event.counted > 0 || value.session!.foreignMark !== undefined) changeHead(value, event.seq, touched, (head) => ({ count: head.count - event.counted }), 'foreignMark')
      return true
    }
    case 'rows.imported': return batch !== undefined && importRows(value, event, batch, touched)
    case 'session.deleted': return leave(value, touched)
    // A type of a newer server: what it means is learned by catch-up.
    default: return false
  }
}

function leave(value: Transcript, touched: Touched): boolean {
  for (const id of value.rows.keys()) touched.removed.add(id)
  for (const id of value.turns.keys()) touched.removed.add(id)
  touched.head = true
  touched.queue = value.queue !== EMPTY_QUEUE
  value.queue = EMPTY_QUEUE
  value.session = null
  value.deleted = true
  value.rows.clear()
  value.turns.clear()
  value.order.length = 0
  return true
}
