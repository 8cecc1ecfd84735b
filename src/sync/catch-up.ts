import type { Changes, Cursor } from '../../server/contract/wire'
import { ProblemError } from '../backend/port'
import { verdictOf } from './answers'
import { OneRequest } from './one-request'
import { WINDOW_ROWS, type Shared } from './shared'

/** On a connection that stands, a failed request about this chat is made again after, ms. */
const AGAIN_MS = 1000
/** After so many answers that did not fit, the copy is let go and a window is asked for. */
const TRIES = 3

/** The chat that is caught up, as a catch-up sees it. */
export interface Caught {
  wanted(): boolean
  /** Changes are wanted since then; null asks for a window. */
  since(): Cursor | null
  /** From where on changes are of interest. */
  reach(): string
  /** The copy does not fit: the next request asks for a window. */
  letGo(): void
  /** Merges an answer. False: it does not fit what has come to be known meanwhile. */
  take(answer: Changes, window: boolean, anew: boolean): boolean
  /** Applies what came while an answer was awaited. True: from here on frames follow without a gap. */
  drain(): boolean
  /** The server's word about this chat. */
  refuse(verdict: 'gone' | 'other_profile'): void
  /** There was no answer, and no connection on which to ask again. */
  unreachable(): void
}

/** Asks what changed in one chat, until its state is contiguous with the frames that arrive. */
export class CatchUp {
  private readonly request: OneRequest
  private cancelAgain = (): void => undefined

  constructor(
    private readonly shared: Shared,
    private readonly session: string,
    private readonly chat: Caught,
  ) {
    this.request = new OneRequest(shared.clock)
  }

  /** Does nothing while one is under way. Never rejects. */
  async run(): Promise<void> {
    if (!this.chat.wanted()) return
    const signal = this.request.begin()
    if (!signal) return
    this.cancelAgain()
    try {
      // Each turn of the loop costs one answer; a gap that stays after three is a sign of a copy that does not fit.
      for (let turn = 0; ; turn++) {
        const epoch = this.shared.epoch()
        if (turn === TRIES) this.chat.letGo()
        const taken = await this.askOnce(signal, turn >= TRIES)
        if (taken === 'stop') return
        if (taken === 'stale') continue
        if (epoch !== this.shared.epoch()) continue
        if (!this.shared.hears(this.session) || this.chat.drain()) return
      }
    } catch (error) {
      if (!signal.aborted || isTimeout(signal)) this.failed(error, isTimeout(signal) ? 0 : AGAIN_MS)
    } finally {
      this.request.end(signal)
    }
  }

  /** A connection was made just now: a request that hangs since before gives way. */
  abortIfHanging(): void {
    this.request.abortIfHanging()
  }

  abort(): void {
    this.request.abort()
  }

  /** Gives up what is under way, and what is to be asked again. */
  stop(): void {
    this.request.abort()
    this.cancelAgain()
  }

  /** `stop`: the answer was of another store, or nobody waits for it. `stale`: it does not fit what has come to be known meanwhile. */
  private async askOnce(signal: AbortSignal, anew: boolean): Promise<'taken' | 'stale' | 'stop'> {
    const after = this.chat.since()
    const asked = after === null ? { session_id: this.session, limit: WINDOW_ROWS } : { session_id: this.session, after, from: this.chat.reach(), limit: WINDOW_ROWS }
    const { output } = await this.shared.backend.ask('GET /api/session/changes', asked, { fresh: true, signal })
    if (signal.aborted || !this.shared.accepts(output.store)) return 'stop'
    return this.chat.take(output, after === null, anew) ? 'taken' : 'stale'
  }

  private failed(error: unknown, again: number): void {
    if (error instanceof ProblemError && error.store !== null && !this.shared.accepts(error.store)) return
    const verdict = verdictOf(error, this.shared.store())
    if (verdict !== 'unknown') this.chat.refuse(verdict)
    else if (this.shared.connected()) this.cancelAgain = this.shared.clock.after(again, () => void this.run())
    else this.chat.unreachable()
  }
}

function isTimeout(signal: AbortSignal): boolean {
  return signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
}
