import type { RetiredWhy } from './approvals'

/** A clarifying question of a run (spec/log.md §3). Exactly the agent's words and choices. */
export interface ClarifyRequest {
  question: string
  /** Offered answers; empty when only free text is wanted. */
  choices: string[]
  /** Whether words of one's own are taken. */
  free: boolean
  /** Server's ms; after it the question is retired as expired. */
  deadline?: number
}

/** A run asks for a secret. **Its value is in no event, receipt, row, log or retry** (spec/log.md §3): it goes from the request to the adapter in memory. */
export interface SecretRequest {
  kind: 'sudo' | 'secret'
  /** What it is for, in the agent's words. */
  prompt: string
  /** Name of the environment variable it fills, where there is one. */
  env?: string
  /** Server's ms. */
  deadline?: number
}

export type ClarifyState = { state: 'open' } | { state: 'answered'; answer: string; answeredAt: number } | { state: 'retired'; why: RetiredWhy }
export type SecretState = { state: 'open' } | { state: 'answered'; /** False: refused to give it. */ given: boolean; answeredAt: number } | { state: 'retired'; why: RetiredWhy }

interface Asked { id: string; row: string; run: string; raisedAt: number }
export type Clarify = ClarifyRequest & ClarifyState & Asked
export type Secret = SecretRequest & SecretState & Asked
