import { emptyTranscript } from '../../server/contract/fold'
import type { PageRecord } from '../cache/schema'
import { transcriptOf } from './page-record'
import type { ChatNews, OpenChat } from './port'
import type { Shared } from './shared'

/** What surfaces see of one open chat, and who is told when it moves. */
export class ChatShown {
  value = emptyTranscript()
  state: ReturnType<OpenChat['state']> = 'loading'
  fresh: 'copy' | 'live' = 'copy'
  /** When the copy was last known to be true, ms. */
  private copyAt: number | null = null
  private readonly listeners = new Set<(news: ChatNews) => void>()

  constructor(private readonly shared: Shared) {}

  savedAt(): number | null {
    return this.fresh === 'live' ? this.shared.lastGood() || null : this.copyAt
  }

  subscribe(listener: (news: ChatNews) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  tell(news: ChatNews): void {
    for (const listener of this.listeners) listener(news)
  }

  /** Nobody looks any more. */
  end(): void {
    this.listeners.clear()
  }

  /** The server did not say that it is gone, or another profile's. */
  wanted(): boolean {
    return this.state !== 'absent' && this.state !== 'other_profile'
  }

  /** From the copy of this device. */
  paint(record: PageRecord): void {
    this.value = transcriptOf(record)
    this.copyAt = record.savedAt
    this.state = 'ready'
    this.tell({ type: 'value' })
    this.tell({ type: 'state' })
  }

  /** An answer of the server was merged just now. True: it is the first that there is to show. */
  answered(news: ChatNews | null): boolean {
    const first = this.state !== 'ready'
    this.state = 'ready'
    if (news) this.tell(news)
    return first
  }

  /** What is shown was true at this moment. */
  confirmed(): void {
    this.copyAt = this.shared.clock.now()
  }

  /** Frames follow without a gap. */
  live(): void {
    if (this.fresh === 'live') return
    this.fresh = 'live'
    this.tell({ type: 'state' })
  }

  /** What is shown is a copy from here on. */
  offline(): void {
    if (this.fresh === 'copy' && this.state !== 'loading') return
    this.fresh = 'copy'
    this.copyAt = this.shared.lastGood() || this.copyAt
    if (this.state === 'loading') this.state = 'not_here'
    this.tell({ type: 'state' })
  }

  /** There is no copy, and nobody to ask. */
  unreachable(): void {
    if (this.state === 'loading') this.become('not_here')
  }

  /** Shows another state, and tells it. */
  become(state: ReturnType<OpenChat['state']>): void {
    this.state = state
    this.tell({ type: 'state' })
  }
}
