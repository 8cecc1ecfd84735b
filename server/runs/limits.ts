import type { AgentKind } from '../contract/session'

/** Times and sizes of a run; all are parameters, so that tests need not wait. */
export interface Limits {
  /** ms without a sign of life from an agent that waits for its model, before its run fails as `agent_silent` (agents.md §4). */
  silence: number
  /** ms an agent has to end after it was told to stop (log.md §9). */
  ladder: number
  /** The same for an agent that lives elsewhere and cannot be killed (log.md §9). */
  remoteLadder: number
  /** The same at the server's own end. */
  drain: number
  /** ms a probe may take. */
  probe: number
  /** ms an agent has after our restart to say what became of its turn. */
  reattach: number
  /** ms that the comparison with an agent's own store may take at the end of a turn. */
  compare: number
  /** UTF-16 units of text of one run that may wait for the store before its agent is paused (agents.md §4). */
  waiting: number
  /** First and longest pause, in ms, between attempts to settle a run after the store failed. */
  retry: { first: number; most: number }
}

export const LIMITS: Limits = {
  silence: 600_000,
  ladder: 15_000,
  remoteLadder: 180_000,
  drain: 3_000,
  probe: 5_000,
  reattach: 15_000,
  compare: 10_000,
  waiting: 32 * 1024 * 1024,
  retry: { first: 100, most: 5_000 },
}

/** How long an agent of this kind has to end once it was told to stop. */
export function ladderOf(limits: Limits, kind: AgentKind): number {
  return kind === 'hermes-gateway' ? limits.remoteLadder : limits.ladder
}
