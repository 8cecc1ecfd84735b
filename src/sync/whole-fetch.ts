import type { Transcript } from '../../server/contract/session'
import type { ChatKeeper } from './chat-keeper'
import { OneRequest } from './one-request'
import type { Shared } from './shared'

/** Rows of one window of the past. */
const OLDER_ROWS = 200
/** After a failure the past is asked for again, ms. */
const AGAIN_MS = 10_000

/**
 * Brings the past of an open chat into its copy, window by window in idle time, until the copy begins where the chat does: what was opened becomes
 * readable offline whole. Memory does not grow by it.
 */
export class WholeFetch {
  private running = false
  private cancelNext = (): void => undefined
  private signal = new AbortController()
  private readonly request: OneRequest

  constructor(
    private readonly shared: Shared,
    private readonly session: string,
    private readonly keeper: ChatKeeper,
    private readonly value: () => Transcript,
  ) {
    this.request = new OneRequest(shared.clock)
  }

  start(): void {
    if (this.running) return
    this.running = true
    this.signal = new AbortController()
    this.next()
  }

  stop(): void {
    this.running = false
    this.cancelNext()
    this.signal.abort()
    this.request.abort()
  }

  private next(): void {
    if (this.running && this.keeper.from !== '') this.cancelNext = this.shared.clock.idle(() => void this.fetchOne(this.signal.signal))
    else this.running = false
  }

  private async fetchOne(signal: AbortSignal): Promise<void> {
    await this.keeper.flush()
    const copies = this.shared.copies()
    const before = this.keeper.from
    if (signal.aborted) return
    if (!copies || before === null || before === '') {
      this.running = false
      return
    }
    // One that hangs on a dead path, while the stream stands on another, is given up.
    const request = this.request.begin()
    if (!request) return
    try {
      const asked = { session_id: this.session, before, limit: OLDER_ROWS }
      const { output } = await this.shared.backend.ask('GET /api/session/changes', asked, { fresh: true, signal: request }).finally(() => this.request.end(request))
      if (signal.aborted || output.store !== copies.store || copies !== this.shared.copies()) return
      // A window that is older than something unseen which happened there is asked for again.
      if (output.seq >= (this.value().missed ?? 0) && this.keeper.from === before) {
        const done = await copies.saveOlder(this.session, { ...output, upTo: before })
        if (!done.ok) return this.stop()
        if (done.value === 'moved') await this.keeper.reread()
        // What happened there while it was written is in neither: the copy does not count as that deep, and the next write says so.
        else if (output.seq >= (this.value().missed ?? 0)) this.keeper.from = output.from
      }
      if (!signal.aborted) this.next()
    } catch {
      if (!signal.aborted) this.cancelNext = this.shared.clock.after(AGAIN_MS, () => this.next())
    }
  }
}
