import { merge } from '../../server/contract/fold'
import type { Transcript } from '../../server/contract/session'
import type { Changes } from '../../server/contract/wire'
import type { ChatKeeper } from './chat-keeper'
import { OneRequest } from './one-request'
import { WINDOW_ROWS, type Shared } from './shared'

/** How often an older window is asked for that does not fit what came meanwhile. */
const TRIES = 3

/** Reads back in an open chat, window by window: from the copy as far as that reaches, then from the server. */
export class ChatPast {
  private readonly request: OneRequest

  constructor(
    private readonly shared: Shared,
    private readonly session: string,
    private readonly keeper: ChatKeeper,
    private readonly value: () => Transcript,
    private readonly told: () => void,
  ) {
    this.request = new OneRequest(shared.clock)
  }

  /** False: nothing lies before, or it is not to be had now, or it is being read already. */
  async older(): Promise<boolean> {
    const signal = this.value().from === '' ? null : this.request.begin()
    if (!signal) return false
    try {
      return (await this.here(signal)) || (await this.there(signal))
    } catch {
      return false
    } finally {
      this.request.end(signal)
    }
  }

  stop(): void {
    this.request.abort()
  }

  private async here(signal: AbortSignal): Promise<boolean> {
    const copies = this.shared.copies()
    if (!copies || !this.keeper.deeper() || this.keeper.behind !== null) return false
    const value = this.value()
    // What is read is true as of now, not as of when it has been read.
    const { seq } = value
    await this.keeper.flush()
    const found = await copies.before(this.session, value.from, WINDOW_ROWS)
    if (signal.aborted || !found.ok || !found.value || value !== this.value() || !value.session || this.keeper.behind !== null) return false
    return this.take({ store: copies.store, session: value.session, ...found.value, retracted: [], seq, cursor: '' }, false)
  }

  private async there(signal: AbortSignal): Promise<boolean> {
    for (let turn = 0; turn < TRIES; turn++) {
      const before = this.value().from
      const { output } = await this.shared.backend.ask('GET /api/session/changes', { session_id: this.session, before, limit: WINDOW_ROWS }, { fresh: true, signal })
      if (signal.aborted || !this.shared.accepts(output.store)) return false
      if (before !== this.value().from || !this.take(output, true)) continue
      await this.keeper.flush()
      // What has left meanwhile is not in memory any more.
      const rows = output.rows.filter((row) => this.value().rows.has(row.id))
      const done = await this.shared.copies()?.saveOlder(this.session, { ...output, rows, upTo: before })
      if (done?.ok && done.value === 'saved' && this.keeper.from === before) this.keeper.from = output.from
      return true
    }
    return false
  }

  /** `news`: the copy may lack it, or hold something older. */
  private take(changes: Changes, news: boolean): boolean {
    const merged = merge(this.value(), changes, 'older')
    if (merged.state !== 'applied') return false
    if (news) this.keeper.note(merged.touched)
    this.told()
    return true
  }
}
