import type { AgentEvent, TurnEnd } from '../port'
import type { Count } from './live'
import { HermesFault } from './port'
import type { HermesTurn } from './turn'

/** A turn that runs in Hermes, or was submitted and has not begun. */
export interface Current {
  turn: HermesTurn
  ours: boolean
  /** Hermes has begun it. */
  begun: boolean
  /** Its end was said, and Hermes is asked whether it still works on it. */
  over: boolean
  before: Count
  finish(end: TurnEnd): void
}

/** The end of a turn that could not be played. */
export function failedEnd(error: unknown): TurnEnd {
  return { outcome: 'failed', problem: { code: error instanceof HermesFault && error.code !== 'rpc' ? 'agent_unavailable' : 'error', words: error instanceof Error ? error.message : String(error) } }
}

/** The end of a turn that was lost with its program or its socket. */
export function diedEnd(words: string): TurnEnd {
  return { outcome: 'interrupted', problem: { code: 'agent_died', words } }
}

/** What a stop ends is cancelled, whatever Hermes calls it. */
export function stoppedEnd({ problem: _, ...end }: TurnEnd): TurnEnd {
  return { ...end, outcome: 'cancelled' }
}

/** The same of what a turn says while it is being stopped; its questions end with the run (recording 07). */
export function whileStopping(event: AgentEvent): AgentEvent[] {
  if (event.type === 'question.withdrawn') return []
  return event.type === 'tool.closed' && event.state !== 'done' ? [{ ...event, state: 'cancelled' }] : [event]
}
