import type { Agent, AgentSession, Binding, Reattached, Shown, Timers } from '../agents/port'
import type { Row } from '../contract/rows'
import type { Run } from '../contract/session'
import type { SessionState } from '../store/port'
import type { Limits } from './limits'
import { within } from './timers'
import { wellFormed } from './wellformed'

/** A run that was live when our process ended, as the store held it then, and the agent that may still be at it. */
export interface Survivor { state: SessionState; run: Run; agent: Agent }

/** The survivor of a run, if its agent can be asked about it: it says so, and the run was bound to one of its own (spec/log.md §9). */
export function survivorOf(state: SessionState, run: Run, agentOf: (head: SessionState['head']) => Agent): Survivor | null {
  if (!run.bound) return null
  try {
    const agent = agentOf(state.head)
    return agent.reattach ? { state, run, agent } : null
  } catch {
    return null
  }
}

/** What the agent is asked with: its own ids, the questions that it asked us, and the words that it may have. */
export function bindingOf({ state, run }: Survivor): Binding {
  const { foreign, counters } = run.bound!
  const steers = [...state.tail.rows.values()].flatMap((row) => (row.run === run.id && row.kind === 'steer' && row.steer.state === 'accepted' ? [row.steer.id] : []))
  return {
    turn: run.turn, run: run.id, foreign, ...(counters ? { counters } : {}), questions: state.beside.map((each) => each.foreign), ...(steers.length ? { steers } : {}),
    shown: rowsShown(state.tail, run.turn),
  }
}

/** Texts and steps of a turn as people have seen them, over all its runs. */
function rowsShown(tail: SessionState['tail'], turn: string): Shown[] {
  return tail.order.flatMap((id): Shown[] => {
    const row = tail.rows.get(id)!
    if (row.turn !== turn) return []
    if (row.kind === 'tool') return [{ kind: 'tool', call: row.tool.call, live: row.state === 'live' }]
    return row.kind === 'answer' || row.kind === 'thought' ? [{ kind: row.kind, text: row.text }] : []
  })
}

/** Asks the agent what became of its turn; silence, failure and a late answer are `gone`, and a session that comes late is closed. */
export async function askBack(timers: Timers, limits: Limits, asked: Promise<Reattached>): Promise<Reattached> {
  let late = false
  asked.then(async (found) => {
    if (found.state !== 'running') return
    // It may break before anybody waits for its end.
    found.end.catch(() => undefined)
    if (late) await found.session.close()
  }).catch(() => undefined)
  const gone = (): Reattached => ({ state: 'gone' })
  return within(timers, limits.reattach, asked, () => {
    late = true
    return gone()
  }).catch(gone)
}

/** Ends a turn that was stopped before our restart: such a run is never taken up again (spec/log.md §9). */
export async function endSurvivor(timers: Timers, deadline: number, found: Reattached, by: Run['stoppedBy'] = 'server'): Promise<void> {
  if (found.state !== 'running') return
  const ended = Promise.all([found.session.stop(by), found.end]).then(() => undefined, () => undefined)
  await within(timers, deadline, ended, () => undefined)
  await closed(found.session, timers, deadline)
}

async function closed(session: AgentSession, timers: Timers, deadline: number): Promise<void> {
  await within(timers, deadline, session.close().catch(() => undefined), () => undefined)
}

/** What the next run of the turn takes up from the one that our restart has settled. */
export interface TakenUp {
  /** Rows that live again, in order: running tools, the plan, words that are with the agent or that it has used, the text that goes on. */
  reopens: Row[]
  /** What the agent's message means for the text: it goes on in the reopened row, or is said anew; null: nothing is to be said. */
  text: { how: 'goes_on' | 'anew'; words: string } | null
  /** What the agent has said in rows that do not live again: it may repeat that. */
  said: string
}

/**
 * Compares what was shown with what the agent has. Text goes on in its row where nothing came after it, and the row's writer cuts it where the agent's
 * message does not begin like it; a message that stands already whole is not said again. Several rows may hold one message, parted by thoughts or questions.
 */
export function takenUp(before: SessionState['tail'], run: Run, found: Exclude<Reattached, { state: 'gone' }>): TakenUp {
  // Also what an earlier run of the turn showed: this may not be the first restart.
  const rows = before.order.map((id) => before.rows.get(id)!).filter((row) => row.turn === run.turn)
  const calls = new Set(found.state === 'running' ? found.open : found.closed.map(({ call }) => call))
  const words = new Set(found.state === 'running' ? found.taken : found.used)
  const lives = (row: Row): boolean => row.kind === 'plan' || (row.kind === 'tool' && calls.has(row.tool.call)) || (row.kind === 'steer' && words.has(row.steer.id))
  const alive = rows.filter((row) => row.state === 'live' && lives(row))
  const answers = rows.filter((row) => row.kind === 'answer')
  const last = answers.at(-1)
  const text = goingOn(rows, answers, wellFormed(found.message ?? ''))
  const reopens = text?.how === 'goes_on' ? rows.filter((row) => row === last || alive.includes(row)) : alive
  return { reopens, text, said: answers.filter((row) => !reopens.includes(row)).map((row) => row.text).join('') }
}

function goingOn(rows: readonly Row[], answers: readonly Row[], message: string): TakenUp['text'] {
  const last = answers.at(-1)
  if (message === '') return null
  if (!last) return { how: 'anew', words: message }
  const shown = beginningOf(answers, message)
  const rest = shown === null ? message : message.slice(shown.length)
  if (last.state !== 'live') {
    if (rest === '') return null
    const follows = rows.slice(rows.indexOf(last) + 1).some((row) => row.kind === 'tool' || row.kind === 'question' || row.kind === 'thought')
    // It was whole when it closed: what the agent has beyond it was said later.
    if (shown === null || follows) return { how: 'anew', words: rest }
  }
  return { how: 'goes_on', words: shown === null ? message : last.text + rest }
}

/** The text of the most last answer rows with which a message begins, because few words may stand in many places; null where it does not begin with what was shown. */
function beginningOf(answers: readonly Row[], message: string): string | null {
  let shown = ''
  let found: string | null = null
  for (const row of answers.toReversed()) {
    shown = row.text + shown
    if (shown.length > message.length) break
    if (message.startsWith(shown)) found = shown
  }
  return found
}
