import type { OutputOf } from '../../server/contract/routes'
import type { Clock } from './clock'

/** A hidden page asks so often, ms, and once at once (spec/frontend.md §2.3). */
export const HIDDEN_POLL_MS = 6000

type Status = OutputOf<'GET /api/session/status'>

export interface HiddenPollParts {
  clock: Clock
  ask(session: string): Promise<Status>
  /** The server itself said 404 or 410. */
  isFinal(error: unknown): boolean
  /** Something is different from the answer before. */
  onNews(session: string): void
  onFinal(session: string): void
}

/**
 * What a hidden page knows of its chat without a stream. Only a 404 or 410 for the chat that is still bound ends it; everything else that can
 * go wrong is a tick without an answer.
 */
export interface HiddenPoll {
  /** Binds it to a chat, in place of any other, and asks at once. */
  start(session: string): void
  stop(): void
  bound(): string | null
}

export function makeHiddenPoll(parts: HiddenPollParts): HiddenPoll {
  let bound: string | null = null
  let cancel = (): void => undefined
  let last = ''

  async function tick(session: string): Promise<void> {
    cancel = parts.clock.after(HIDDEN_POLL_MS, () => void tick(session))
    try {
      const status = await parts.ask(session)
      if (bound !== session) return
      const now = digest(status)
      if (last !== '' && now !== last) parts.onNews(session)
      last = now
    } catch (error) {
      if (bound !== session || !parts.isFinal(error)) return
      stop()
      parts.onFinal(session)
    }
  }

  function stop(): void {
    cancel()
    bound = null
    last = ''
  }

  return {
    start(session) {
      stop()
      bound = session
      void tick(session)
    },
    stop,
    bound: () => bound,
  }
}

/** What of a status a person would notice. */
function digest(status: Status): string {
  return JSON.stringify([status.active_stream_id, status.agent_running, status.message_count, status.last_message_at, status.attention, status.queued, status.title])
}
