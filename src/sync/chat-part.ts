import { apply, merge, untouched, type Touched } from '../../server/contract/fold'
import type { Event } from '../../server/contract/events'
import type { Transcript } from '../../server/contract/session'
import type { Changes, Cursor } from '../../server/contract/wire'
import { Backlog } from './backlog'
import { CatchUp, type Caught } from './catch-up'
import { ChatKeeper } from './chat-keeper'
import { ChatPast } from './chat-past'
import { ChatShown } from './chat-shown'
import type { ChatNews, OpenChat } from './port'
import type { Asked } from './link'
import type { Shared } from './shared'
import { WholeFetch } from './whole-fetch'

/** What the copy misses further back is asked for this long after it was noticed, ms. */
const PATCH_MS = 1000

/**
 * One open chat: from the copy, then caught up, then live. It holds to one rule: its state is contiguous with the frames (`aligned`) only when
 * it was caught up by a request that was sent after the stream had registered, or when the stream was opened from its very cursor.
 */
export class ChatPart implements OpenChat, Caught {
  private readonly shown: ChatShown
  private readonly requests: CatchUp
  private readonly backlog = new Backlog()
  private aligned = false
  private closed = false
  private reading: Promise<void> = Promise.resolve()
  private readonly keeper: ChatKeeper
  private readonly whole: WholeFetch
  private readonly past: ChatPast
  private cancelPatch: (() => void) | null = null
  cursor: Cursor | null = null

  constructor(
    private readonly shared: Shared,
    readonly session: string,
    private readonly on: { gone(): void; closed(): void; saved(): void },
  ) {
    const shown = (this.shown = new ChatShown(shared))
    this.keeper = new ChatKeeper(shared, session, () => shown.value, () => this.cursor, { saved: () => this.saved(), removed: () => this.copyRemoved(), behind: () => this.patch() })
    this.whole = new WholeFetch(shared, session, this.keeper, () => shown.value)
    this.past = new ChatPast(shared, session, this.keeper, () => shown.value, () => shown.tell({ type: 'value' }))
    this.requests = new CatchUp(shared, session, this)
  }

  state(): ReturnType<OpenChat['state']> {
    return this.shown.state
  }
  value(): Transcript {
    return this.shown.value
  }
  freshness(): 'copy' | 'live' {
    return this.shown.fresh
  }
  savedAt(): number | null {
    return this.shown.savedAt()
  }
  subscribe(listener: (news: ChatNews) => void): () => void {
    return this.shown.subscribe(listener)
  }

  /** Frames of this chat are wanted: it was not refused. */
  wanted(): boolean {
    return !this.closed && this.shown.wanted()
  }

  /** Reads the copy, then asks the server. Never waits for the network to paint. */
  start(): void {
    this.reading = this.read()
    void this.reading.then(() => this.requests.run())
  }

  /** Brings the copy up to date without a stream, and closes. For a chat that nobody looks at. */
  async refreshCopy(): Promise<void> {
    await this.read()
    if (this.shown.state === 'ready') await this.requests.run()
    await this.flush()
    this.close()
  }

  private async read(): Promise<void> {
    const copies = this.shared.copies()
    const found = await copies?.page(this.session)
    if (!this.wanted() || this.cursor !== null || copies !== this.shared.copies()) return
    if (!found?.ok || !found.value) return
    this.cursor = found.value.cursor
    this.keeper.loaded(found.value)
    this.shown.paint(found.value)
  }

  registered(asked: Asked): void {
    this.backlog.clear()
    this.requests.abortIfHanging()
    const contiguous = asked.session === this.session && this.cursor !== null && asked.after === this.cursor
    if (contiguous && this.keeper.behind === null && !this.keeper.removed) this.align()
    else {
      this.aligned = false
      void this.reading.then(() => this.requests.run())
    }
  }

  lost(): void {
    this.aligned = false
    this.backlog.clear()
    this.requests.abort()
    this.past.stop()
    this.whole.stop()
  }

  /** The databases are open now, later than this chat was: it is painted from its copy, unless the network was faster. */
  copiesOpened(): void {
    if (this.cursor === null && this.wanted()) this.reading = this.read()
    void this.flush()
    if (this.aligned) this.whole.start()
  }

  /** Asks what changed, also without a stream. */
  refresh(): void {
    void this.requests.run()
  }

  /** The page says now that it is offline: what is shown is a copy. */
  offline(): void {
    this.shown.offline()
  }

  /** Another store: what was shown is none of it. The page stays where it is and asks again. */
  restart(): void {
    this.lost()
    this.keeper.stop()
    this.shown.fresh = 'copy'
    this.keeper.from = null
    this.letGo()
    this.start()
  }

  frame(events: Event[]): void {
    if (!this.aligned) return this.backlog.add(events)
    if (!this.applyAll(events)) void this.requests.run()
  }

  moved(cursor: Cursor): void {
    if (this.aligned) this.cursor = cursor
  }

  reset(): void {
    this.aligned = false
    void this.requests.run()
  }

  private applyAll(events: Event[]): boolean {
    for (const [n, event] of events.entries()) {
      const missed = this.shown.value.missed
      const applied = apply(this.shown.value, event)
      if (applied.state === 'gap') {
        this.aligned = false
        this.backlog.keep(events.slice(n))
        return false
      }
      if (applied.state === 'old') continue
      if (this.shown.value.missed !== missed && event.type !== 'rows.retracted') this.patchLater()
      this.changed(applied.touched, event.type === 'run.settled')
      if (this.shown.value.deleted) {
        this.leave('absent')
        return true
      }
    }
    return true
  }

  private changed(touched: Touched, settled: boolean): void {
    this.keeper.note(touched)
    if (settled) void this.keeper.flush()
    this.shown.tell({ type: 'touched', touched })
  }

  /**
   * An event named something before what is in memory. The copy may hold it, or be about to, when an older window is under way: it learns of it by a
   * catch-up of its own.
   */
  private patchLater(): void {
    if (this.keeper.from === null) return
    this.keeper.behind ??= this.cursor
    this.patch()
  }

  private patch(): void {
    this.cancelPatch ??= this.shared.clock.after(PATCH_MS, () => {
      this.cancelPatch = null
      void this.requests.run()
    })
  }

  /** Another tab may have written a copy that begins later: its past is brought again. */
  private saved(): void {
    this.on.saved()
    if (this.aligned && !this.closed) this.whole.start()
  }

  /** Another tab may know more than this one. Only an answer that is asked for from now on says that there is still something to keep. */
  private copyRemoved(): void {
    this.whole.stop()
    this.requests.abort()
    void this.requests.run()
  }

  since(): Cursor | null {
    return this.keeper.behind ?? this.cursor
  }

  /** Copy and memory may each reach further back than the other. */
  reach(): string {
    return this.keeper.deeper() ? this.keeper.from! : this.shown.value.from
  }

  letGo(): void {
    this.cursor = null
    this.keeper.behind = null
  }

  take(answer: Changes, window: boolean, anew: boolean): boolean {
    const whole = window || answer.reset === true
    const setBack = (answer.reset === true || anew) && answer.seq < this.shown.value.seq
    // A window that was under way while the copy was read, and is older than that.
    if (window && !setBack && answer.seq < this.shown.value.seq) return false
    // A window takes the place of what is shown, also of something newer, when the server says that its log was set back.
    const merged = merge(this.shown.value, whole ? { ...answer, reset: true } : answer, whole ? 'window' : 'after')
    if (merged.state === 'stale') return false
    const since = this.since()
    this.cursor = answer.cursor
    this.shown.confirmed()
    if (whole) this.keeper.window(merged.state === 'applied' ? merged.touched : untouched(), answer.from, setBack ? 'set_back' : 'window')
    else {
      this.keeper.answer(answer, since)
      if (merged.state === 'applied') this.keeper.note(merged.touched)
    }
    const first = this.shown.answered(whole ? { type: 'value' } : merged.state === 'applied' ? { type: 'touched', touched: merged.touched } : null)
    if (first) {
      void this.keeper.flush()
      this.shown.tell({ type: 'state' })
    }
    return true
  }

  drain(): boolean {
    const events = this.backlog.take()
    if (!events || !this.applyAll(events)) return false
    this.align()
    return true
  }

  private align(): void {
    this.aligned = true
    this.shown.live()
    this.whole.start()
  }

  /** The server's word about this chat. Only when it is gone does its copy leave. */
  refuse(verdict: 'gone' | 'other_profile'): void {
    this.leave(verdict === 'gone' ? 'absent' : 'other_profile')
  }

  unreachable(): void {
    this.shown.unreachable()
  }

  private leave(phase: 'absent' | 'other_profile'): void {
    if (this.shown.state === phase) return
    this.shown.state = phase
    // An answer that was read before the end must not bring the chat back.
    this.requests.abort()
    this.keeper.stop()
    this.whole.stop()
    if (phase === 'absent') this.on.gone()
    this.shown.tell({ type: 'state' })
  }

  async older(): Promise<boolean> {
    return this.wanted() && this.past.older()
  }

  /** Writes what is not written, before the page may be frozen. */
  async flush(): Promise<void> {
    if (this.shown.state !== 'ready') return
    if (this.aligned) this.keeper.confirm()
    await this.keeper.flush()
  }

  close(): void {
    if (this.closed) return
    void this.flush()
    this.closed = true
    this.requests.stop()
    this.past.stop()
    this.cancelPatch?.()
    this.whole.stop()
    this.shown.end()
    this.on.closed()
  }
}
