import type { StoredMessage, TurnEnd } from '../../agents/port'
import type { Row } from '../../contract/rows'
import type { ForeignRow } from '../../store/port'
import { attribute, plain, spanOf } from './align'
import { knownAmong, knownOf, newlyKnown } from './parts'
import type { ForeignParts } from './parts'

type Parts = Pick<ForeignParts, 'history' | 'profile' | 'session' | 'store' | 'run'>

/** What the settlement of a turn says of the agent's own store. */
export interface OfOneMind { foreign: ForeignRow[]; /** Absent: rows are left there that are not this turn's. */ mark?: string }

/**
 * Between the end of an agent's turn and its settlement (spec/agents.md §7): the rows that it wrote are known as this turn's, and where the stored answer is not what was shown, the stored one
 * wins. `own`: false for a turn that the agent began.
 */
export async function afterTurn(p: Parts, end: TurnEnd, own: boolean): Promise<OfOneMind> {
  const { session, store, run } = p
  await run.ledger.landed()
  const state = await store.load(session)
  const foreign = state?.head.foreign
  const bound = state?.tail.turns.get(run.turn)?.runs.find(({ id }) => id === run.id)?.bound
  const stored = foreign === undefined ? null : await readEnd(p, foreign, bound?.foreign === foreign ? (bound.counters?.rows ?? 0) : 0)
  if (!state || foreign === undefined || !stored) return { foreign: [] }
  const rows = state.tail.order.map((id) => state.tail.rows.get(id)!).filter((row) => row.turn === run.turn)
  const question = rows.find((row) => row.kind === 'user')
  const { messages, mark, known } = stored
  const span = question ? spanOf(messages, known, own ? question.text : null) : null
  if (!question || !span) return messages.every(({ id }) => known.has(id)) ? { foreign: [], mark } : { foreign: [] }
  const mine = messages.slice(span.from, span.to)
  const said = mine.findLast((message) => message.role === 'assistant')
  if (end.outcome === 'completed' && said?.role === 'assistant' && !said.synthetic && said.calls.length === 0) correct(p.run, rows, said.text)
  const ours = attribute(mine, rows, question.id)
  const left = messages.some(({ id }, i) => !known.has(id) && (i < span.from || i >= span.to))
  return { foreign: newlyKnown(p, foreign, known, mine.map(({ id }, i) => [id, ours[i]!] as const)), ...(left ? {} : { mark }) }
}

/**
 * What stands in the store from the last row on that it had before the turn (`had` rows); before a turn we are of one mind with it, so that everything before that row is known. Where that row is
 * not the one that it was, for a store that was written anew, all of it. So a turn costs what it wrote, not what was said before.
 */
async function readEnd(p: Parts, foreign: string, had: number): Promise<{ messages: readonly StoredMessage[]; mark: string; known: Map<string, string | null> } | null> {
  const { history, profile } = p
  if (had > 1) {
    const end = await history.read(profile, foreign, had - 1)
    const known = end && (await knownAmong(p, foreign, end.messages.map(({ id }) => id)))
    if (end && known!.has(end.messages[0]?.id ?? '')) return { ...end, known: known! }
  }
  const all = await history.read(profile, foreign)
  return all && { ...all, known: await knownOf(p) }
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
