import type { TurnEnd } from '../agents/port'
import type { Approval } from '../contract/approvals'
import { questionOf } from '../contract/apply-questions'
import type { Draft } from '../contract/events'
import type { RunProblem } from '../contract/problems'
import type { Row, RowState } from '../contract/rows'
import { lastRun } from '../contract/session'
import type { Run, RunOutcome, Turn } from '../contract/session'
import type { SessionState } from '../store/port'
import type { LiveRun } from './run'
import { wellFormed } from './wellformed'
import { WORDS_LIMIT } from './words'

/**
 * The one append that ends a run (law 6): words given back, rows closed, questions retired, usage, timings, context, outcome. Once
 * `run.stopping` was claimed the outcome is `cancelled`, whatever word the agent uses (log.md §9).
 */
export function settle(run: LiveRun, end: TurnEnd): Promise<void> {
  const judged = judge(run, end)
  const drafts = run.steers.end(judged.outcome, run.queue.items())
  run.queue.claim(drafts)
  const closed = run.journal.close(judged.outcome)
  const { context, finalRow, firstToken, total } = closed
  const usage = end.usage ?? closed.usage
  // Who is asked is let go first (settlement.md §7.4).
  drafts.unshift(...closed.drafts)
  drafts.push({
    type: 'run.settled', run: run.id, turn: run.turn, outcome: judged.outcome, timings: { total, ...(firstToken === undefined ? {} : { firstToken }) },
    ...(judged.reason === undefined ? {} : { reason: judged.reason }),
    ...(judged.problem ? { problem: bounded(judged.problem) } : {}),
    ...(usage ? { usage } : {}),
    ...(finalRow === undefined ? {} : { finalRow }),
    ...(run.ofOneMind?.mark === undefined ? {} : { mark: run.ofOneMind.mark }),
  })
  const foreign = run.ofOneMind?.foreign ?? []
  return run.ledger.write({ drafts, generation: run.generation, ...(context.length ? { context } : {}), ...(foreign.length ? { foreign } : {}) })
}

function judge(run: LiveRun, end: TurnEnd): { outcome: RunOutcome; reason?: string; problem?: RunProblem } {
  if (run.stopping) return { outcome: 'cancelled' }
  if (run.draining && end.outcome !== 'completed') return { outcome: 'interrupted', problem: { code: 'server_stopped' } }
  if (end.outcome === 'failed' && !end.problem) return { outcome: 'failed', problem: { code: 'error' } }
  if (end.outcome === 'interrupted' && !end.problem) return { outcome: 'interrupted', problem: { code: 'interrupted' } }
  // Without an error, an answer, a tool or a question there was nothing at all (settlement.md §8.2); an agent that says why keeps its word.
  if (end.outcome === 'completed' && end.reason === undefined && !run.answered) return { outcome: 'failed', problem: { code: 'no_response' } }
  return { outcome: end.outcome, ...(end.reason === undefined ? {} : { reason: end.reason }), ...(end.problem ? { problem: end.problem } : {}) }
}

function bounded(problem: RunProblem): RunProblem {
  return problem.words === undefined ? problem : { ...problem, words: wellFormed(problem.words.slice(0, WORDS_LIMIT)) }
}

/** The last run of what the store holds; its outcome decides about the queue. */
export function lastRunOf(tail: SessionState['tail']): Run | undefined {
  let last: Turn | undefined
  for (const turn of tail.turns.values()) if (!last || turn.pos > last.pos) last = turn
  return last && lastRun(last)
}

/** The run of a stored session that has not settled; only the last run of the last turn can be one. */
export function unsettledRun(state: SessionState): Run | null {
  for (const turn of state.tail.turns.values()) {
    const run = lastRun(turn)
    if (run && run.state !== 'settled') return run
  }
  return null
}

/**
 * Drafts that settle a run from what the store holds of it, where no journal is left: after a restart, or after the store had failed. A
 * stopping run is `cancelled`, any other `interrupted`; a tool in flight is closed `unknown`, never run again (law 6); words that were not
 * delivered go back to the person.
 */
export function settleFrom(state: SessionState, run: Run, problem: RunProblem, now: number): Draft[] {
  const stopping = run.state === 'stopping'
  const drafts: Draft[] = []
  let finalRow: string | undefined
  let firstAt: number | undefined
  for (const id of state.tail.order) {
    const row = state.tail.rows.get(id)
    if (!row || row.run !== run.id) continue
    if (row.kind === 'tool') finalRow = undefined
    if (row.kind === 'answer' && row.text !== '') finalRow = id
    if (row.kind === 'answer' || row.kind === 'thought') firstAt ??= row.at
    drafts.push(...retired(row, run.id))
    if (row.state === 'live') drafts.push({ type: 'row.closed', row: id, run: run.id, state: endOf(row), duration: Math.max(0, now - row.at) })
  }
  drafts.push({
    type: 'run.settled', run: run.id, turn: run.turn, outcome: stopping ? 'cancelled' : 'interrupted',
    timings: { total: Math.max(0, now - run.startedAt), ...(firstAt === undefined || run.cause === 'reattached' ? {} : { firstToken: Math.max(0, firstAt - run.startedAt) }) },
    ...(stopping ? {} : { problem }), ...(finalRow === undefined ? {} : { finalRow }),
  })
  return drafts
}

/** What a row still asks, or has taken from the person, ends before it. */
function retired(row: Row, run: string): Draft[] {
  if (row.kind === 'steer') return row.steer.state === 'accepted' ? [{ type: 'steer.returned', steer: row.steer.id, row: row.id, run, to: 'draft' }] : []
  const asked = questionOf(row)
  if (asked?.state !== 'open') return []
  const common = { row: row.id, run, why: 'run_ended' as const }
  if ('approval' in row && row.approval) return [{ type: 'approval.retired', approval: asked.id, ...common }]
  if ('clarify' in row && row.clarify) return [{ type: 'clarify.retired', clarify: asked.id, ...common }]
  return [{ type: 'secret.retired', secret: asked.id, ...common }]
}

function endOf(row: Row): Exclude<RowState, 'live'> {
  switch (row.kind) {
    case 'tool':
      return 'unknown'
    case 'question':
      if (row.clarify) return row.clarify.state === 'answered' ? 'done' : 'cancelled'
      if (row.secret) return row.secret.state !== 'answered' ? 'cancelled' : row.secret.given ? 'done' : 'denied'
      return questionState(row.approval)
    case 'steer':
      return row.steer.state === 'delivered' ? 'done' : 'cancelled'
    default:
      return 'done'
  }
}

/** How a question's own row ends: by its answer, or cancelled when there was none. */
export function questionState(approval: Pick<Approval, 'state'> & { kind?: string } | undefined): 'done' | 'denied' | 'cancelled' {
  if (approval?.state !== 'decided') return 'cancelled'
  return approval.kind === 'deny' || approval.kind === 'deny_always' ? 'denied' : 'done'
}
