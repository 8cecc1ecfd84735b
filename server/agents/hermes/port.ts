import type { ProgramStatus } from '../supervise/port'
import type { HermesEvent } from './protocol/events'
import type { HermesMessage } from './protocol/rest'
import type { Method, Params, Result } from './protocol/methods'

/**
 * One running `hermes serve` of one profile, as chats see it: calls, events, stored transcripts. Which socket a call takes follows from its method:
 * what moves ownership goes over the owner socket, everything else over the control socket (spec/agents.md §4).
 */
export interface HermesProgram {
  /** Starts the program on first use, or adopts the one that an earlier server left. Both sockets stand when it resolves. Rejects with `HermesFault`. */
  ready(): Promise<void>
  /** Takes up the program that an earlier server left, with both sockets; false when none was left. Starts nothing. */
  adopt(): Promise<boolean>
  /** How long an approval waits in it before it counts as denied, ms: by the managed layer, else by the profile's configuration. */
  approvalTimeout(): Promise<number>
  /** Calls one method of the closed list; parameters and result are checked against its schema. Never waits for a socket: without one it rejects with `lost`, and nothing was sent. Rejects with `HermesFault`. */
  call<M extends Method>(method: M, params: Params<M>, options?: { /** ms; 30 s unless said. */ within?: number }): Promise<Result<M>>
  /**
   * Events of one live session, in order, to one listener. What came before there was one, since the resume that answered its id was asked for, comes first. A
   * promise from the listener pauses the owner socket until it has resolved, so it must not wait for a call that goes there. Returns the way to end it.
   */
  listen(live: string, listener: (event: HermesEvent) => void | Promise<void>): () => void
  /** The owner socket was lost (`socket`: the program may still run, live sessions are taken up again by `session.resume`) or the program ended (`program`). Returns the way to end it. */
  onLoss(listener: (loss: 'socket' | 'program') => void): () => void
  /** The stored transcript of a stored session, all rows; null when there is none. */
  messages(stored: string, from?: number): Promise<HermesMessage[] | null>
  /** Counters and title of a stored session; null when there is none. */
  stored(stored: string): Promise<StoredSession | null>
  /** Writes a session with these messages under a new id and answers it. */
  importSession(session: { title?: string; cwd?: string; messages: { role: 'user' | 'assistant'; content: string }[] }): Promise<string>
  status(): ProgramStatus
  restart(): Promise<void>
  /** Our own end: closes the sockets, and ends the program unless turns still run in it, which the next server takes up. */
  end(): Promise<void>
}

/** Counters of a stored session (spec/hermes-home.md §3.3); unknown is absent. */
export interface StoredSession {
  id: string
  title?: string
  cwd?: string
  model?: string
  counters: { input?: number; output?: number; cached?: number; reasoning?: number; cost?: number }
  /** How many rows, and the highest row id: the mark that says whether another surface wrote (spec/agents.md §7). */
  messages?: number
}

/** Why Hermes could not do it. `code`: ours, or `rpc` with the program's own number. */
export class HermesFault extends Error {
  constructor(
    readonly code: 'not_installed' | 'too_old' | 'extras_missing' | 'unconfigured' | 'unknown_profile' | 'wrong_profile' | 'does_not_start' | 'lost' | 'slow' | 'garbled' | 'rpc',
    words: string,
    readonly number?: number,
  ) {
    super(words)
    this.name = 'HermesFault'
  }
}
