/** Questions that a run asks a person before something that writes or runs. Durable; a promise is the only thing about them that lives in memory. */
export type ChoiceKind = 'once' | 'session' | 'always' | 'deny' | 'deny_always'

export interface Choice {
  id: string
  kind: ChoiceKind
  /** The agent's own label, where it has one; the page has words for each kind. */
  label?: string
  /** What choosing it means beyond this once, in words. */
  consequence?: string
}

/** As asked: exactly the agent's words and choices. */
export interface ApprovalRequest {
  /** What will happen, in one sentence. */
  action: string
  /** The exact command, never cut. */
  command?: string
  /** The part of `command` that made it ask, exactly as it stands there. */
  trigger?: string
  /** Unified diff of what will be written. */
  diff?: string
  /** The tool's name, for clients of the original (`pattern_key`). */
  tool: string
  /** Why it is asked, in words. */
  reason?: string
  risk?: 'low' | 'high'
  /** The folder it acts in. */
  cwd?: string
  choices: Choice[]
  /** Server's ms; after it the question is retired as expired. */
  deadline?: number
  /** *Asked next*: shown without buttons, because the agent would take an answer for another question (spec/agents.md §3). */
  waits?: true
}

export type ApprovalState =
  | { state: 'open' }
  | { state: 'decided'; choice: string; kind: ChoiceKind; by: 'person' | 'auto'; decidedAt: number }
  | { state: 'retired'; why: RetiredWhy }

export type RetiredWhy = 'run_ended' | 'expired' | 'withdrawn'

export type Approval = ApprovalRequest & ApprovalState & { id: string; row: string; run: string; raisedAt: number }
