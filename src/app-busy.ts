import { t } from '../i18n/queue'
import type { SteerFallback } from '../server/contract/routes'
import { ProblemError, type Backend } from './backend/port'
import type { BusyWay, Delivered, Way } from './composer/way'
import { reasonOf } from './shell/reason'

export interface BusySend {
  backend: Backend
  session: string
  /** The live run as the page saw it when the message was sent: stop-and-send stops this one alone. */
  run?: string | undefined
  text: string
  /** The key of the message, the same on every way: each route keeps receipts of its own. */
  key: string
  going: (way: Way) => void
  /** Files that go with it; never into a run. */
  attachments?: { id: string }[]
}

/** Answers to a steer that mean: not into this run, but nothing speaks against the next turn (spec/settlement.md §6.1). */
const NEXT_TURN: SteerFallback[] = ['agent_lacks_steer', 'gateway_steer_queued', 'no_cached_agent']

/**
 * Sends a message into a chat in which a run is live. `busy`: it was to begin a turn, and the chat had begun one meanwhile. Rejects when nobody knows
 * whether it was taken; a steer that fails never stops anything.
 */
export async function sendBusy(send: BusySend, way: BusyWay | 'busy'): Promise<Delivered> {
  if (way === 'steer' && !send.attachments) return steer(send)
  const item = await enqueue(send)
  if (way === 'busy') return { taken: true, say: t('queue.wasBusy') }
  if (way === 'interrupt') return stopAndSend(send, item)
  return { taken: true }
}

async function steer(send: BusySend): Promise<Delivered> {
  const answer = await send.backend.call('POST /api/chat/steer', { session_id: send.session, text: send.text, key: send.key })
  if (answer.accepted) return { taken: true }
  const why = answer.fallback ?? 'steer_error'
  if (!NEXT_TURN.includes(why)) return { taken: false, why: t(`steer.not.${why as Exclude<SteerFallback, 'agent_lacks_steer' | 'gateway_steer_queued' | 'no_cached_agent'>}`) }
  await enqueue(send)
  return { taken: true, say: t('steer.queued') }
}

/** The item it became. */
async function enqueue(send: BusySend): Promise<string | undefined> {
  send.going('queue')
  const answer = await send.backend.call('POST /api/chat/queue', { session_id: send.session, message: send.text, key: send.key, ...(send.attachments ? { attachments: send.attachments } : {}) })
  return answer.item
}

/** It stands in the queue already, so it is not lost whatever becomes of the stop. */
async function stopAndSend({ backend, session, run }: BusySend, item: string | undefined): Promise<Delivered> {
  if (item === undefined) return { taken: true, say: t('queue.stop.failed', { reason: t('problem.server') }) }
  try {
    await backend.call('POST /api/chat/queue/send', { session_id: session, item, stop: true, ...(run === undefined ? {} : { run }) })
    return { taken: true }
  } catch (error) {
    // It went by itself in between.
    if (error instanceof ProblemError && error.code === 'queue_item_not_found') return { taken: true }
    return { taken: true, say: t('queue.stop.failed', { reason: reasonOf(error) }) }
  }
}
