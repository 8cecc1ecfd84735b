import type { Usage } from '../../contract/session'
import type { StoredSession } from './port'

export type Counters = StoredSession['counters']

const MEMBERS = ['input', 'output', 'cached', 'reasoning', 'cost'] as const

/** What one turn used: stored counters after it less those before it. One that fell has begun anew at 0; what is not known is absent, never 0 (spec/agents.md §3). */
export function usedSince(before: Counters, after: Counters): Usage {
  const used: Usage = {}
  for (const member of MEMBERS) {
    const now = after[member]
    if (now === undefined) continue
    const then = before[member] ?? 0
    const difference = now >= then ? now - then : now
    // Hermes stores 0 for what it does not know.
    if (difference > 0) used[member] = member === 'cost' ? difference : Math.round(difference)
  }
  return used
}

/** As `turn.bound` keeps them. */
export function asNumbers(counters: Counters, rows: number | undefined): Record<string, number> {
  const numbers: Record<string, number> = {}
  for (const member of MEMBERS) if (counters[member] !== undefined) numbers[member] = counters[member]
  return rows === undefined ? numbers : { ...numbers, rows }
}
