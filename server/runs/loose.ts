import type { Run } from '../contract/session'
import type { ContextItem, SessionState } from '../store/port'

/** Words of an answer as the model's history keeps them, in no provider's shape (`agents/embedded/messages.ts`). */
export function saidBy(text: string): { role: 'assistant'; text: string } {
  return { role: 'assistant', text }
}

/**
 * Answers of a run that broke off before its agent could keep them: what the person sees, the model must know too. Only where the agent's history
 * is ours, which shows in what it kept of this turn.
 */
export function looseAnswers(state: SessionState, run: Run, context: readonly ContextItem[]): ContextItem[] {
  if (!context.some((item) => item.turn === run.turn)) return []
  const kept = new Set(context.flatMap((item) => item.rows))
  return state.tail.order.flatMap((id): ContextItem[] => {
    const row = state.tail.rows.get(id)
    if (row?.kind !== 'answer' || row.run !== run.id || row.text.trim() === '' || kept.has(id)) return []
    return [{ message: saidBy(row.text), rows: [id], turn: run.turn }]
  })
}
