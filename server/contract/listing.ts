import type { AgentRef, ModelRef, RunOutcome, Transcript } from './session'
import type { RunProblemCode } from './problems'

/**
 * One chat as the list shows it. Written, and its revision moved, only when a field of it changed; growth of text changes none.
 */
export interface ListEntry {
  id: string
  /** Store revision of its last change; a reader keeps the entry with the higher one. */
  rev: number
  title: string
  profile: string
  workspace: string
  agent: AgentRef | null
  model: ModelRef | null
  pinned: boolean
  archived: boolean
  createdAt: number
  lastAt: number
  count: number
  state: 'idle' | 'working' | 'stopping' | 'asking'
  /** Id and start (server's ms) of the live run. */
  run?: string
  since?: number
  /** How many questions are open. */
  questions: number
  /** How the last run ended; absent while one is live or before the first. */
  outcome?: RunOutcome
  problem?: RunProblemCode
  /** The second line: the current step, the request itself, or the first sentence of the answer; at most 160 characters. */
  line?: ListLine
  /** Steps of the last turn for the trace, newest 32. */
  ticks: Tick[]
}

export interface ListLine { kind: 'step' | 'question' | 'answer' | 'problem'; text: string; verb?: string }

/** One tick of the trace (design/LANGUAGE.md §2). `ms` is absent while it runs. */
export interface Tick { kind: 'thought' | 'tool' | 'question'; state: 'live' | 'done' | 'failed' | 'need'; ms?: number; at: number }

export type EntryFields = Omit<ListEntry, 'rev'>
export type EntryOf = (value: Transcript) => EntryFields | null
