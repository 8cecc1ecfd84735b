/** Measures of speaking to Hermes, ms; a parameter, so that tests need not wait for them. */
export const PATIENCE = {
  /** Sockets to a program that is ready. */
  connect: 15_000,
  /** A call, unless it says otherwise: the longest wait of an inline method is 30 s for the agent to be built (spec/hermes-rpc.md §1.1). */
  call: 30_000,
  /** Silence after which life is asked for, and how long the answer may take: a request may stand behind an inline one of 30 s. */
  silence: 30_000,
  life: 35_000,
  /** Running turns, to end once they were interrupted, before the program is ended: in a tool 1.7–2.3 s were seen (§5). */
  interrupt: 3_000,
  /** Between two looks at whether it lives and is still needed. */
  look: 15_000,
  /** Without a session, a call or work of its own before it is ended: its memory, 86–175 MB, is worth more than 2 s at the next turn. */
  idle: 30 * 60_000,
}
export type Patience = typeof PATIENCE
