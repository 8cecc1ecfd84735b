import type { TurnEnd } from '../agents/port'
import type { Draft } from '../contract/events'
import type { Approval } from '../contract/approvals'
import type { RunProblem } from '../contract/problems'
import { lastRun } from '../contract/session'
import type { Run, RunOutcome } from '../contract/session'
import type { SessionState } from '../store/port'
import type { LiveRun } from './run'
import { wellFormed } from './wellformed'
import { WORDS_LIMIT } from './words'

/**
 * The one append that ends a run (law 6): rows closed, questions retired, usage, timings, context, outcome. Once `run.stopping` was claimed
 * the outcome is `cancelled`, whatever word the agent uses (log.md §9).
 */
export function settle(run: LiveRun, end: TurnEnd): Promise<void> {
  const judged = judge(run, end)
  const { drafts, context, finalRow, firstToken, total, usage } = run.journal.close(judged.outcome)
  const used = end.usage ?? usage
  drafts.push({
    type: 'run.settled', run: run.id, turn: run.turn, outcome: judged.outcome, timings: { total, ...(firstToken === undefined ? {} : { firstToken }) },
    ...(judged.reason === undefined ? {} : { reason: judged.reason }),
    ...(judged.problem ? { problem: bounded(judged.problem) } : {}),
    ...(used ? { usage: used } : {}),
    ...(finalRow === undefined ? {} : { finalRow }),
  })
  return run.ledger.write({ drafts, generation: run.generation, ...(context.length ? { context } : {}) })
}

function judge(run: LiveRun, end: TurnEnd): { outcome: RunOutcome; reason?: string; problem?: RunProblem } {
  if (run.stopping) return { outcome: 'cancelled' }
  if (run.draining && end.outcome !== 'completed') return { outcome: 'interrupted', problem: { code: 'server_stopped' } }
  if (end.outcome === 'failed' && !end.problem) return { outcome: 'failed', problem: { code: 'error' } }
  if (end.outcome === 'interrupted' && !end.problem) return { outcome: 'interrupted', problem: { code: 'interrupted' } }
  return { outcome: end.outcome, ...(end.reason === undefined ? {} : { reason: end.reason }), ...(end.problem ? { problem: end.problem } : {}) }
}

function bounded(problem: RunProblem): RunProblem {
  return problem.words === undefined ? problem : { ...problem, words: wellFormed(problem.words.slice(0, WORDS_LIMIT)) }
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
 * stopping run is `cancelled`, any other `interrupted`; a tool in flight is closed `unknown`, never run again (law 6).
 */
export function settleFrom(state: SessionState, run: Run, problem: RunProblem, now: number): Draft[] {
  const stopping = run.state === 'stopping'
  const drafts: Draft[] = []
  let finalRow: string | undefined
  for (const id of state.tail.order) {
    const row = state.tail.rows.get(id)
    if (!row || row.run !== run.id) continue
    if ((row.kind === 'tool' || row.kind === 'question') && row.approval?.state === 'open') {
      drafts.push({ type: 'approval.retired', approval: row.approval.id, row: id, run: run.id, why: 'run_ended' })
    }
    if (row.kind === 'tool') finalRow = undefined
    if (row.kind === 'answer' && row.text !== '') finalRow = id
    if (row.state !== 'live') continue
    const closed = row.kind === 'answer' || row.kind === 'thought' ? 'done' : row.kind === 'question' ? questionState(row.approval) : 'unknown'
    drafts.push({ type: 'row.closed', row: id, run: run.id, state: closed, duration: Math.max(0, now - row.at) })
  }
  drafts.push({
    type: 'run.settled', run: run.id, turn: run.turn, outcome: stopping ? 'cancelled' : 'interrupted',
    timings: { total: Math.max(0, now - run.startedAt) }, ...(stopping ? {} : { problem }), ...(finalRow === undefined ? {} : { finalRow }),
  })
  return drafts
}

/** How a question's own row ends: by its answer, or cancelled when there was none. */
export function questionState(approval: Pick<Approval, 'state'> & { kind?: string } | undefined): 'done' | 'denied' | 'cancelled' {
  if (approval?.state !== 'decided') return 'cancelled'
  return approval.kind === 'deny' || approval.kind === 'deny_always' ? 'denied' : 'done'
}
