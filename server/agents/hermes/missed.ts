import type { HermesEvent } from './protocol/events'
import type { HermesMessage } from './protocol/rest'
import { answerIn, callsIn, resultsIn } from './stored-turn'
import type { HermesTurn } from './turn'

/** What a turn said while the socket was lost, as the events that would have told it: Hermes repeats none. `said`: its text so far; null: it does not run any more. Pure. */
export function missedEvents(turn: Pick<HermesTurn, 'streamed' | 'open'>, said: string | null, rows: readonly HermesMessage[]): HermesEvent[] {
  const results = resultsIn(rows)
  const called = callsIn(rows)
  const tools = turn.open.flatMap((id): HermesEvent[] => {
    const result = results.get(id)
    if (result === undefined) return []
    const { name, args } = called.get(id) ?? { name: '' }
    return [{ type: 'tool.complete', payload: { tool_id: id, name, args, result, duration_s: undefined, summary: undefined, inline_diff: undefined, todos: undefined } }]
  })
  const text: HermesEvent[] = said !== null && said.length > turn.streamed.length && said.startsWith(turn.streamed) ? [{ type: 'message.delta', payload: { text: said.slice(turn.streamed.length) } }] : []
  const answer = said === null ? answerIn(rows) : null
  const end: HermesEvent[] = answer === null ? [] : [{ type: 'message.complete', payload: { text: answer, status: 'complete', reasoning: undefined, warning: undefined, usage: undefined } }]
  return [...tools, ...text, ...end]
}
