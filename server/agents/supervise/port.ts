/** How an external program stands (spec/agents.md §4). `idle`: found, and not started, because nobody has used it yet. */
export type ProgramState = 'idle' | 'starting' | 'ready' | 'degraded' | 'failed'

export interface ProgramStatus {
  state: ProgramState
  pid?: number
  /** Server's ms. */
  startedAt?: number
  version?: string
  /** How often it was started again after it had ended by itself. */
  restarts: number
  /** Why it is degraded or failed, in the program's own words where it said any. */
  words?: string
  /** The last 64 kB of what it wrote to its error stream, secrets removed. */
  log: string
}

/** What a supervisor must know of a program, as data: nothing of it is written in code twice. Times in ms. */
export interface ProgramKind {
  name: string
  /** From start to the sign that it is ready. */
  startWithin: number
  /** Pauses before it is started again after it ended by itself; the last one repeats. After `giveUpAfter` in a row it has failed until somebody asks. */
  pauses: readonly number[]
  giveUpAfter: number
  /** The stop ladder: after the protocol's own ways, SIGTERM to the group, then SIGKILL. */
  term: number
  kill: number
}

/** A running program, started by us or adopted from an earlier server. */
export interface Running<T> {
  pid: number
  startedAt: number
  adopted: boolean
  /** What was read from its sign: a port, a version. */
  contact: T
  /** Resolves once when it has ended. */
  ended: Promise<{ code: number | null; signal: string | null }>
}
