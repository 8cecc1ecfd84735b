import { comparePos } from './ids'
import type { PlanEntry } from './rows'
import type { Transcript } from './session'

/** A plan as the original's clients read it (spec/features.md §3.2 `todo_state`): always whole, an empty list is a list. `ts`: seconds, never falling. */
export interface TodoState {
  session_id: string
  /** The run that made the plan. */
  stream_id: string
  source: 'todo'
  ts: number
  todos: { id: string; content: string; status: TodoStatus }[]
  summary: Record<TodoStatus | 'total', number>
  version: 1
}

type TodoStatus = 'pending' | 'in_progress' | 'completed' | 'cancelled'
const STATUS: Record<PlanEntry['state'], TodoStatus> = { pending: 'pending', active: 'in_progress', done: 'completed', cancelled: 'cancelled' }

/** `at`: server's ms of its last change. Entries have no names of their own: their place is their id. */
export function todoState(session: string, run: string, plan: readonly PlanEntry[], at: number): TodoState {
  const summary = { total: plan.length, pending: 0, in_progress: 0, completed: 0, cancelled: 0 }
  for (const { state } of plan) summary[STATUS[state]]++
  return { session_id: session, stream_id: run, source: 'todo', ts: at / 1000, todos: plan.map(({ text, state }, i) => ({ id: String(i + 1), content: text, status: STATUS[state] })), summary, version: 1 }
}

/** The chat's newest plan; null while none was made. A clock that was set back makes no plan older than the one before it. */
export function todoStateOf(value: Transcript): TodoState | null {
  const plans = [...value.rows.values()].filter((row) => row.kind === 'plan')
  const newest = plans.reduce((found, row) => (!found || comparePos(found.pos, row.pos) < 0 ? row : found), plans[0])
  if (!newest || !value.session) return null
  return todoState(value.session.id, newest.run ?? '', newest.plan, Math.max(...plans.map(({ plannedAt }) => plannedAt)))
}
