import type { TurnEnd } from '../../agents/port'
import type { Row } from '../../contract/rows'
import type { ForeignRow } from '../../store/port'
import { attribute, plain, spanOf } from './align'
import { knownOf, newlyKnown } from './parts'
import type { ForeignParts } from './parts'

/** What the settlement of a turn says of the agent's own store. */
export interface OfOneMind { foreign: ForeignRow[]; /** Absent: rows are left there that are not this turn's. */ mark?: string }

/**
 * Between the end of an agent's turn and its settlement (spec/agents.md §7): the rows that it wrote are known as this turn's, and where the stored answer is not what was shown, the stored one
 * wins. `own`: false for a turn that the agent began.
 */
export async function afterTurn(p: Pick<ForeignParts, 'history' | 'profile' | 'session' | 'store' | 'run'>, end: TurnEnd, own: boolean): Promise<OfOneMind> {
  const { history, profile, session, store, run } = p
  await run.ledger.landed()
  const state = await store.load(session)
  const foreign = state?.head.foreign
  const stored = foreign === undefined ? null : await history.read(profile, foreign)
  if (!state || foreign === undefined || !stored) return { foreign: [] }
  const rows = state.tail.order.map((id) => state.tail.rows.get(id)!).filter((row) => row.turn === run.turn)
  const question = rows.find((row) => row.kind === 'user')
  const { messages, mark } = stored
  const known = await knownOf(p)
  const span = question ? spanOf(messages, known, own ? question.text : null) : null
  if (!question || !span) return messages.every(({ id }) => known.has(id)) ? { foreign: [], mark } : { foreign: [] }
  const mine = messages.slice(span.from, span.to)
  const said = mine.findLast((message) => message.role === 'assistant')
  if (end.outcome === 'completed' && said?.role === 'assistant' && !said.synthetic && said.calls.length === 0) correct(p.run, rows, said.text)
  const ours = attribute(mine, rows, question.id)
  const left = messages.some(({ id }, i) => !known.has(id) && (i < span.from || i >= span.to))
  return { foreign: newlyKnown(p, foreign, known, mine.map(({ id }, i) => [id, ours[i]!] as const)), ...(left ? {} : { mark }) }
}

/** One stored answer may stand in several rows; one that is not at the end of what they say was told wrong. */
function correct(run: ForeignParts['run'], rows: readonly Row[], stored: string): void {
  const shown = run.journal.answer
  if (stored.trim() === '' || shown === undefined) return
  const all = plain(rows.map((row) => (row.kind === 'answer' && row.text !== shown ? row.text : '')).join(' ') + ' ' + shown)
  // What a retry repeats is stored with it, and was shown once.
  if (all.endsWith(plain(stored)) || plain(stored).endsWith(plain(shown))) return
  let keep = 0
  while (keep < shown.length && keep < stored.length && shown[keep] === stored[keep]) keep++
  void run.sink({ type: 'text.replace', from: keep, text: stored.slice(keep) })
}
