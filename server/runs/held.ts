import type { Timers } from '../agents/port'
import type { Draft } from '../contract/events'
import { Refusal } from '../contract/problems'
import type { QueueItem } from '../contract/queue'
import type { SessionHead } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { SessionState, Store } from '../store/port'
import { Ledger } from './ledger'
import type { Entry } from './ledger'
import { waitingAfter } from './queue'
import { sessionNotFound } from './refuse'
import { mayTitle, shorten, TITLE_LENGTH } from './title'

export interface Open { ledger: Ledger; state: SessionState }

/**
 * What an actor knows of its session: a copy of the store's state with what was claimed since, and the ledger that goes on from there. After a failed append
 * and after each run it is read anew.
 */
export class Held {
  #open: Open | null = null

  constructor(private readonly session: string, private readonly store: Store, private readonly timers: Timers, private readonly onBroken: () => void) {}

  /** What waits in the queue, as claimed. */
  get waiting(): readonly QueueItem[] {
    return this.#open?.state.tail.queue.items ?? []
  }

  async of(profile: ProfileContext): Promise<Open> {
    if (this.#open === null || this.#open.ledger.broken) {
      const state = owned(await this.store.load(this.session), profile)
      this.#open = { state, ledger: new Ledger(this.store, this.session, state, this.timers.now, this.onBroken) }
    }
    owned(this.#open.state, profile)
    return this.#open
  }

  forget(): void {
    this.#open = null
  }

  /** The head as stored; it is the known one from now on. */
  async reread(): Promise<SessionHead> {
    const state = await this.store.load(this.session)
    if (!state || state.deleted) throw sessionNotFound()
    if (this.#open) this.#open.state = { ...this.#open.state, head: state.head }
    return state.head
  }

  /** Claims and appends; resolves after the commit. */
  write(ledger: Ledger, drafts: Draft[], more: Pick<Entry, 'generation' | 'at' | 'receipt'> = {}): Promise<void> {
    this.claim(drafts)
    return ledger.write({ drafts, ...more })
  }

  /** What is on its way already counts: an agent's title must not come over a person's, and an item that is sent cannot be changed. */
  claim(drafts: Draft[]): void {
    if (!this.#open || drafts.length === 0) return
    const { state } = this.#open
    let { head } = state
    for (const draft of drafts) if (draft.type === 'session.changed' && draft.titleBy) head = { ...head, title: draft.title ?? '', titleBy: draft.titleBy }
    const queue = { ...state.tail.queue, items: waitingAfter(state.tail.queue.items, drafts, this.timers.now()) }
    this.#open.state = { ...state, head, tail: { ...state.tail, queue } }
  }

  /** A title of the agent, unless a better one stands. */
  title(ledger: Ledger, text: string): void {
    const title = shorten(text, TITLE_LENGTH)
    const head = this.#open?.state.head
    if (!head || title === '' || title === head.title || !mayTitle(head, 'agent')) return
    const drafts: Draft[] = [{ type: 'session.changed', title, titleBy: 'agent' }]
    this.claim(drafts)
    ledger.push({ drafts })
  }
}

/** Law 9: unknown and deleted are 404; a chat of another profile is named as such. */
export function owned(state: SessionState | null, profile: ProfileContext): SessionState {
  if (!state || state.deleted) throw sessionNotFound()
  if (state.head.profile !== profile.name) {
    throw new Refusal('session_profile_mismatch', 'This chat belongs to another profile.', { session_id: state.head.id, profile: state.head.profile })
  }
  return state
}
