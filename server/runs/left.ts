import type { Row } from '../contract/rows'
import type { Run } from '../contract/session'
import type { SessionState } from '../store/port'
import { lastRunOf } from './settle'

/**
 * The run that a restart of ours has settled and not taken up, or that was stopped and whose agent may not have heard of it; of this foreign id, and nothing came
 * after it in its chat. Null where there is none; a run that failed or had ended by itself never is one.
 */
export function leftRun({ tail }: SessionState, foreign: string): Run | null {
  const run = lastRunOf(tail)
  if (run?.bound?.foreign !== foreign) return null
  return run.outcome === 'cancelled' || (run.outcome === 'interrupted' && run.problem?.code === 'server_restarted') ? run : null
}

/**
 * The session as that restart found it, as far as is known: the settlement closed tools as unknown, and the plan, only because the run had ended, and gave words back.
 * A word that the agent had refused went the same way; the agent does not name it.
 */
export function asItWas(state: SessionState, run: Run): SessionState {
  const rows = new Map([...state.tail.rows].map(([id, row]): [string, Row] => [id, row.run === run.id ? beforeEnd(row) : row]))
  return { ...state, tail: { ...state.tail, rows } }
}

function beforeEnd(row: Row): Row {
  if (row.kind === 'plan' || (row.kind === 'tool' && row.state === 'unknown')) return { ...row, state: 'live' }
  if (row.kind === 'steer' && row.steer.to === 'draft') return { ...row, state: 'live', steer: { id: row.steer.id, state: 'accepted' } }
  return row
}
