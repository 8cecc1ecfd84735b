import type { ListEntry } from '../../server/contract/listing'
import { lastRun } from '../../server/contract/session'
import type { PageRecord } from '../cache/schema'
import type { Shared } from './shared'

/** How many chats are looked at when a connection begins: those that a person is likely to look for. */
const NEWEST = 50

export interface CopyRefreshParts {
  entries(): ReadonlyMap<string, ListEntry>
  /** It has a copy, and is not the one that is open, which keeps its own. */
  kept(session: string): boolean
  /** Brings one copy up to date; never rejects. */
  refresh(session: string): Promise<void>
}

/**
 * Keeps the copies of chats that are not open: what was opened once and went on elsewhere, or behind one's back, is readable offline as it
 * ended. One chat at a time, in idle time, and only when its last turn has come to rest.
 */
export class CopyRefresh {
  private readonly waiting = new Set<string>()
  private running = false
  private cancelNext: (() => void) | null = null

  constructor(
    private readonly shared: Shared,
    private readonly parts: CopyRefreshParts,
  ) {}

  /** An entry changed. */
  consider(entry: ListEntry): void {
    if (entry.state !== 'idle' || !this.parts.kept(entry.id)) return
    this.waiting.add(entry.id)
    this.next()
  }

  /** A connection begins: something may have changed that nobody told this device. */
  look(): void {
    const newest = [...this.parts.entries().values()].filter((entry) => this.parts.kept(entry.id)).sort((a, b) => b.lastAt - a.lastAt)
    for (const entry of newest.slice(0, NEWEST)) this.consider(entry)
  }

  stop(): void {
    this.cancelNext?.()
    this.cancelNext = null
    this.waiting.clear()
  }

  private next(): void {
    if (this.running || this.cancelNext || this.waiting.size === 0) return
    this.cancelNext = this.shared.clock.idle(() => {
      this.cancelNext = null
      this.running = true
      void this.one().finally(() => {
        this.running = false
        this.next()
      })
    })
  }

  private async one(): Promise<void> {
    const [session] = this.waiting
    if (session === undefined) return
    this.waiting.delete(session)
    const entry = this.parts.entries().get(session)
    if (!entry || !this.shared.connected() || !this.parts.kept(session)) return
    const held = await this.shared.copies()?.page(session)
    if (held?.ok && held.value && isOlder(held.value, entry)) await this.parts.refresh(session)
  }
}

/** The copy ends before the chat does: something was asked or answered since, or a run that it shows as going on has come to rest. */
function isOlder(record: PageRecord, entry: ListEntry): boolean {
  return record.head.lastAt < entry.lastAt || record.turns.some((turn) => lastRun(turn)?.state !== 'settled')
}
