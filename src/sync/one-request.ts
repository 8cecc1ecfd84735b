import type { Clock } from './clock'

/**
 * A request that has not ended after this long is given up, ms: at first soon, since the connection that the browser chose for it may be dead, then
 * twice as late each time, since the line may be slow.
 */
const FIRST_LIMIT_MS = 2500
const LAST_LIMIT_MS = 40_000
/** What was asked before the stream registered and has waited longer than this may hang on a dead path, ms. */
const DOUBTFUL_MS = 300

/** At most one request of a part is under way; it can be told to give way to a newer one. */
export class OneRequest {
  private current: AbortController | null = null
  private startedAt = 0
  private limit = FIRST_LIMIT_MS
  private cancelLimit = (): void => undefined

  constructor(private readonly clock: Clock) {}

  /** Null while one is under way. */
  begin(): AbortSignal | null {
    if (this.current) return null
    const current = (this.current = new AbortController())
    this.startedAt = this.clock.now()
    this.cancelLimit = this.clock.after(this.limit, () => {
      this.limit = Math.min(this.limit * 2, LAST_LIMIT_MS)
      current.abort(new DOMException('no answer in time', 'TimeoutError'))
    })
    return current.signal
  }

  end(signal: AbortSignal): void {
    if (!signal.aborted) this.limit = FIRST_LIMIT_MS
    if (this.current?.signal !== signal) return
    this.cancelLimit()
    this.current = null
  }

  under(): boolean {
    return this.current !== null
  }

  abort(): void {
    this.cancelLimit()
    this.current?.abort()
    this.current = null
  }

  /** A connection was made just now: a request that hangs since before gives way. */
  abortIfHanging(): void {
    if (this.current && this.clock.now() - this.startedAt > DOUBTFUL_MS) this.abort()
  }
}
