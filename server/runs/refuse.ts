import { Refusal } from '../contract/problems'
import { StoreFault, StoreRefusal } from '../store/port'
import { keyReused } from './receipt'

/** What a failed append means to the one who asked for it: nothing was changed. Refusals pass through. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof StoreFault) {
    if (error.kind === 'full') return new Refusal('store_full', 'The disk is full. Nothing was saved.', { words: error.message, retryable: true })
    if (error.kind === 'closed') return new Refusal('shutting_down', 'The server is stopping.', { retryable: true })
    return new Refusal('store_failed', 'The store did not take it. Nothing was saved.', { words: error.message, retryable: true })
  }
  if (error instanceof StoreRefusal) {
    if (error.why === 'key_reused') return keyReused()
    if (error.why === 'deleted' || error.why === 'unknown_session') return sessionNotFound()
    return new Refusal('store_failed', 'The chat changed meanwhile. Nothing was saved.', { words: error.message, retryable: true })
  }
  return error
}

/** For an id that names no chat, or one that was deleted. */
export function sessionNotFound(): Refusal {
  return new Refusal('session_not_found', 'This chat does not exist.')
}

/** While a run of the chat is live, or its agent has not ended. */
export function sessionBusy(session: string, run: string): Refusal {
  return new Refusal('session_busy', 'This chat already has a running turn.', { session_id: session, active_stream_id: run })
}

/** Once the server has been told to end. */
export function shuttingDown(): Refusal {
  return new Refusal('shutting_down', 'The server is stopping.', { retryable: true })
}
