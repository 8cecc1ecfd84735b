import { apply, emptyTranscript, merge, type Touched } from '../../server/contract/fold'
import type { Event } from '../../server/contract/events'
import type { Transcript } from '../../server/contract/session'
import type { Changes, Cursor } from '../../server/contract/wire'
import { ProblemError } from '../backend/port'
import type { PageRecord } from '../cache/schema'
import { verdictOf } from './answers'
import { ChatKeeper } from './chat-keeper'
import { ChatPast } from './chat-past'
import type { ChatNews, OpenChat } from './port'
import type { Asked } from './link'
import { OneRequest } from './one-request'
import { transcriptOf } from './page-record'
import { WINDOW_ROWS, type Shared } from './shared'
import { WholeFetch } from './whole-fetch'

/** On a connection that stands, a failed request about this chat is made again after, ms. */
const AGAIN_MS = 1000
/** What waits for a catch-up at most; beyond it the events are left to a second catch-up. */
const BACKLOG = 2000
/** What the copy misses further back is asked for this long after it was noticed, ms. */
const PATCH_MS = 1000

/**
 * One open chat: from the copy, then caught up, then live. It holds to one rule: its state is contiguous with the frames (`aligned`) only when
 * it was caught up by a request that was sent after the stream had registered, or when the stream was opened from its very cursor.
 */
export class ChatPart implements OpenChat {
  private current = emptyTranscript()
  private phase: ReturnType<OpenChat['state']> = 'loading'
  private fresh: 'copy' | 'live' = 'copy'
  private copyAt: number | null = null
  private aligned = false
  private backlog: Event[] = []
  private overflowed = false
  private readonly request: OneRequest
  private closed = false
  private reading: Promise<void> = Promise.resolve()
  private readonly listeners = new Set<(news: ChatNews) => void>()
  private readonly keeper: ChatKeeper
  private readonly whole: WholeFetch
  private readonly past: ChatPast
  private cancelAgain = (): void => undefined
  private cancelPatch: (() => void) | null = null
  cursor: Cursor | null = null

  constructor(
    private readonly shared: Shared,
    readonly session: string,
    private readonly on: { gone(): void; closed(): void; saved(): void },
  ) {
    this.request = new OneRequest(shared.clock)
    this.keeper = new ChatKeeper(shared, session, () => this.current, () => this.cursor, on.saved)
    this.whole = new WholeFetch(shared, session, this.keeper, () => this.current)
    this.past = new ChatPast(shared, session, this.keeper, () => this.current, () => this.tell({ type: 'value' }))
  }

  state(): ReturnType<OpenChat['state']> {
    return this.phase
  }
  value(): Transcript {
    return this.current
  }
  freshness(): 'copy' | 'live' {
    return this.fresh
  }
  savedAt(): number | null {
    return this.fresh === 'live' ? this.shared.lastGood() || null : this.copyAt
  }
  subscribe(listener: (news: ChatNews) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Frames of this chat are wanted: it was not refused. */
  wanted(): boolean {
    return !this.closed && this.phase !== 'absent' && this.phase !== 'other_profile'
  }

  /** Reads the copy, then asks the server. Never waits for the network to paint. */
  start(): void {
    this.reading = this.read()
    void this.reading.then(() => this.catchUp())
  }

  /** Brings the copy up to date without a stream, and closes. For a chat that nobody looks at. */
  async refreshCopy(): Promise<void> {
    await this.read()
    if (this.phase === 'ready') await this.catchUp()
    await this.flush()
    this.close()
  }

  private async read(): Promise<void> {
    const copies = this.shared.copies()
    const found = await copies?.page(this.session)
    if (!this.wanted() || this.cursor !== null || copies !== this.shared.copies()) return
    if (found?.ok && found.value) this.paint(found.value)
  }

  private paint(record: PageRecord): void {
    this.current = transcriptOf(record)
    this.cursor = record.cursor
    this.copyAt = record.savedAt
    this.keeper.loaded(record)
    this.phase = 'ready'
    this.tell({ type: 'value' })
    this.tell({ type: 'state' })
  }

  registered(asked: Asked): void {
    this.backlog = []
    this.overflowed = false
    this.request.abortIfHanging()
    const contiguous = asked.session === this.session && this.cursor !== null && asked.after === this.cursor
    if (contiguous && this.keeper.behind === null) this.align()
    else {
      this.aligned = false
      void this.reading.then(() => this.catchUp())
    }
  }

  lost(): void {
    this.aligned = false
    this.backlog = []
    this.request.abort()
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
    void this.catchUp()
  }

  /** The page says now that it is offline: what is shown is a copy. */
  offline(): void {
    if (this.fresh === 'copy' && this.phase !== 'loading') return
    this.fresh = 'copy'
    this.copyAt = this.shared.lastGood() || this.copyAt
    if (this.phase === 'loading') this.phase = 'not_here'
    this.tell({ type: 'state' })
  }

  /** Another store: what was shown is none of it. The page stays where it is and asks again. */
  restart(): void {
    this.lost()
    this.keeper.stop()
    this.fresh = 'copy'
    this.cursor = null
    this.keeper.from = null
    this.keeper.behind = null
    this.start()
  }

  frame(events: Event[]): void {
    if (!this.aligned) {
      if (this.backlog.length + events.length > BACKLOG) {
        this.backlog = []
        this.overflowed = true
      } else this.backlog.push(...events)
      return
    }
    if (!this.applyAll(events)) void this.catchUp()
  }

  moved(cursor: Cursor): void {
    if (this.aligned) this.cursor = cursor
  }

  reset(): void {
    this.aligned = false
    void this.catchUp()
  }

  private applyAll(events: Event[]): boolean {
    for (const [n, event] of events.entries()) {
      const missed = this.current.missed
      const applied = apply(this.current, event)
      if (applied.state === 'gap') {
        this.aligned = false
        this.backlog = events.slice(n)
        return false
      }
      if (applied.state === 'old') continue
      if (this.current.missed !== missed && event.type !== 'rows.retracted') this.patchLater()
      this.changed(applied.touched, event.type === 'run.settled')
      if (this.current.deleted) {
        this.leave('absent')
        return true
      }
    }
    return true
  }

  private changed(touched: Touched, settled: boolean): void {
    this.keeper.note(touched)
    if (settled) void this.keeper.flush()
    this.tell({ type: 'touched', touched })
  }

  /**
   * An event named something before what is in memory. The copy may hold it, or be about to, when an older window is under way: it learns of it by a
   * catch-up of its own.
   */
  private patchLater(): void {
    if (this.keeper.from === null) return
    this.keeper.behind ??= this.cursor
    this.cancelPatch ??= this.shared.clock.after(PATCH_MS, () => {
      this.cancelPatch = null
      void this.catchUp()
    })
  }

  private async catchUp(): Promise<void> {
    if (this.closed || !this.wanted()) return
    const signal = this.request.begin()
    if (!signal) return
    this.cancelAgain()
    try {
      // Each turn of the loop costs one answer; a gap that stays after three is a sign of a copy that does not fit.
      for (let turn = 0; ; turn++) {
        const epoch = this.shared.epoch()
        if (turn === 3) {
          this.cursor = null
          this.keeper.behind = null
        }
        const taken = await this.askOnce(signal, turn >= 3)
        if (taken === 'stop') return
        if (taken === 'stale') continue
        if (epoch !== this.shared.epoch()) continue
        if (!this.shared.hears(this.session) || this.drain()) return
      }
    } catch (error) {
      if (!signal.aborted || isTimeout(signal)) this.failed(error, isTimeout(signal) ? 0 : AGAIN_MS)
    } finally {
      this.request.end(signal)
    }
  }

  /** `stop`: the answer was of another store, or nobody waits for it. `stale`: it does not fit what has come to be known meanwhile. */
  private async askOnce(signal: AbortSignal, anew: boolean): Promise<'taken' | 'stale' | 'stop'> {
    const after = this.keeper.behind ?? this.cursor
    const asked = after === null ? { session_id: this.session, limit: WINDOW_ROWS } : { session_id: this.session, after, from: this.reach(), limit: WINDOW_ROWS }
    const { output } = await this.shared.backend.ask('GET /api/session/changes', asked, { fresh: true, signal })
    if (signal.aborted || !this.shared.accepts(output.store)) return 'stop'
    return this.take(output, after === null, anew) ? 'taken' : 'stale'
  }

  /** From where on changes are of interest: copy and memory may each reach further back than the other. */
  private reach(): string {
    return this.keeper.deeper() ? this.keeper.from! : this.current.from
  }

  private take(answer: Changes, window: boolean, anew: boolean): boolean {
    const whole = window || answer.reset === true
    const setBack = (answer.reset === true || anew) && answer.seq < this.current.seq
    // A window that was under way while the copy was read, and is older than that.
    if (window && !setBack && answer.seq < this.current.seq) return false
    // A window takes the place of what is shown, also of something newer, when the server says that its log was set back.
    const merged = merge(this.current, whole ? { ...answer, reset: true } : answer, whole ? 'window' : 'after')
    if (merged.state === 'stale') return false
    this.cursor = answer.cursor
    this.copyAt = this.shared.clock.now()
    if (whole) this.keeper.window(merged.state === 'applied' ? merged.touched : emptyTouched(), answer.from, setBack ? 'set_back' : 'window')
    else {
      this.keeper.answer(answer)
      if (merged.state === 'applied') this.keeper.note(merged.touched)
    }
    const first = this.phase !== 'ready'
    this.phase = 'ready'
    if (whole) this.tell({ type: 'value' })
    else if (merged.state === 'applied') this.tell({ type: 'touched', touched: merged.touched })
    if (first) {
      void this.keeper.flush()
      this.tell({ type: 'state' })
    }
    return true
  }

  /** Applies what came while an answer was awaited. True: from here on frames follow without a gap. */
  private drain(): boolean {
    const events = this.backlog
    this.backlog = []
    const lossless = !this.overflowed
    this.overflowed = false
    if (!lossless || !this.applyAll(events)) return false
    this.align()
    return true
  }

  private align(): void {
    this.aligned = true
    if (this.fresh !== 'live') {
      this.fresh = 'live'
      this.tell({ type: 'state' })
    }
    this.whole.start()
  }

  private failed(error: unknown, again: number): void {
    if (error instanceof ProblemError && error.store !== null && !this.shared.accepts(error.store)) return
    const verdict = verdictOf(error, this.shared.store())
    if (verdict === 'gone') this.leave('absent')
    else if (verdict === 'other_profile') this.leave('other_profile')
    else {
      if (this.shared.connected()) {
        this.cancelAgain = this.shared.clock.after(again, () => void this.catchUp())
      } else if (this.phase === 'loading') {
        this.phase = 'not_here'
        this.tell({ type: 'state' })
      }
    }
  }

  /** The server's word about this chat. Only when it is gone does its copy leave. */
  refuse(verdict: 'gone' | 'other_profile'): void {
    this.leave(verdict === 'gone' ? 'absent' : 'other_profile')
  }

  private leave(phase: 'absent' | 'other_profile'): void {
    if (this.phase === phase) return
    this.phase = phase
    // An answer that was read before the end must not bring the chat back.
    this.request.abort()
    this.keeper.stop()
    this.whole.stop()
    if (phase === 'absent') this.on.gone()
    this.tell({ type: 'state' })
  }

  async older(): Promise<boolean> {
    return this.wanted() && this.past.older()
  }

  /** Writes what is not written, before the page may be frozen. */
  async flush(): Promise<void> {
    if (this.phase !== 'ready') return
    if (this.aligned) this.keeper.confirm()
    await this.keeper.flush()
  }

  close(): void {
    if (this.closed) return
    void this.flush()
    this.closed = true
    this.request.abort()
    this.past.stop()
    this.cancelAgain()
    this.cancelPatch?.()
    this.whole.stop()
    this.listeners.clear()
    this.on.closed()
  }

  private tell(news: ChatNews): void {
    for (const listener of this.listeners) listener(news)
  }
}

function isTimeout(signal: AbortSignal): boolean {
  return signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
}

function emptyTouched(): Touched {
  return { head: false, turns: new Set(), rows: new Set(), grew: new Map(), removed: new Set() }
}
