import type { Timers } from '../port'
import type { Running } from '../supervise/port'
import type { Contact } from '../supervise/supervisor'
import type { Heard } from './protocol/events'
import { METHODS } from './protocol/methods'
import { Wire } from './wire'

export interface LinkParts {
  timers: Timers
  /** Events of the owner socket. */
  event(heard: Heard): void
  /** The owner socket was lost; it is being made again. */
  lost(): void
}

/** Both sockets to one running program: `owner` holds the sessions and gets their events; `control` never moves them, and is not behind what is slow (spec/hermes-rpc.md §1.3). */
export class Link {
  readonly owner: Wire
  readonly control: Wire

  constructor(readonly running: Running<Contact>, { timers, event, lost }: LinkParts) {
    const { contact } = running
    this.owner = new Wire({ contact, timers, event, lost })
    this.control = new Wire({ contact, timers, event: () => undefined, lost: () => undefined })
  }

  /** Both stand. Rejects with `lost`. */
  async ready(within: number): Promise<void> {
    await Promise.all([this.owner.ready(within), this.control.ready(within)])
  }

  /** Monotonic ms of the last frame on either. */
  get heard(): number {
    return Math.max(this.owner.heard, this.control.heard)
  }

  /** Live ids of sessions in which something is under way. */
  async busy(within: number): Promise<string[]> {
    const answer = await this.control.call('session.active_list', {}, within)
    return (METHODS['session.active_list'].result.parse(answer).sessions ?? []).filter(({ status }) => status !== 'idle').map(({ id }) => id)
  }

  /** Interrupts what is under way, and waits until nothing is, for at most so long. Never rejects. */
  async interrupt(within: number, timers: Timers): Promise<void> {
    const running = await this.busy(within).catch(() => [])
    await Promise.all(running.map((session_id) => this.control.call('session.interrupt', { session_id }, within).catch(() => undefined)))
    if (running.length > 0) await this.idle(within, timers).catch(() => false)
  }

  /** Whether nothing is under way any more after at most so long. Rejects when it does not answer at all. */
  async idle(within: number, timers: Timers): Promise<boolean> {
    const end = timers.monotonic() + within
    let busy = await this.busy(within)
    while (busy.length > 0 && timers.monotonic() < end) {
      await new Promise<void>((resolve) => void timers.after(LOOK, resolve))
      // What has answered once and is slow now still does what it did.
      busy = await this.busy(within).catch(() => busy)
    }
    return busy.length === 0
  }

  end(): void {
    this.owner.end()
    this.control.end()
  }
}

/** ms between two looks at what is under way. */
const LOOK = 100
