import type { Event } from '../contract/events'
import type { TurnSource } from '../contract/rows'
import type { Run } from '../contract/session'
import { lastRun } from '../contract/session'
import type { Committed, SessionState } from '../store/port'
import { encodeFrame } from './frames'
import type { Outlet } from './outlet'
import { openView } from './view'
import type { ViewParts } from './view'

export interface SessionReader {
  outlet: Outlet
  session: string
  /** How many messages the reader has; absent: it did not say. */
  known?: number
  /** The chat as it is; null when it is gone. */
  load(): Promise<SessionState | null>
}

/** Why a run began that no client asked for by `chat/start`. */
type ServerSource = Exclude<TurnSource, 'person'> | 'reattached'

/**
 * The original's stream of one chat (features.md §3.3): runs that began without a `chat/start`, so that nobody has their stream id yet, and `session-updated` for a
 * reader that has fewer messages than there are. A run that is being stopped is never offered: its reader would attach, read its end, come back and be offered it again
 * (settlement.md §2.7).
 */
export async function tellSession(parts: ViewParts, { outlet, session, known: told, load }: SessionReader): Promise<void> {
  const view = openView(parts, outlet)
  // What is committed while the chat is read waits here: registered first, nothing falls between the two.
  const entries: Committed[] = []
  const unwatch = parts.feed.watch(session, (entry) => {
    entries.push(entry)
    view.signal()
  })
  const sources = new Map<string, TurnSource>()
  let known = told
  const send = (name: string, data: Record<string, unknown>) => outlet.send(encodeFrame(name, { session_id: session, ...data }))
  const began = (run: Pick<Run, 'id' | 'startedAt'>, source: ServerSource, recovered: boolean) =>
    send('server_turn_started', { stream_id: run.id, pending_started_at: run.startedAt / 1000, source, ...(recovered ? { recovered } : {}) })
  const updated = (count: number, source: string) => {
    if (known === undefined || count <= known) return
    send('session-updated', { message_count: count, known_count: known, source })
    known = count
  }

  try {
    const state = await load()
    if (!state || state.deleted) return
    let { count } = state.head
    let { seq } = state
    send('initial', {})
    const turn = [...state.tail.turns.values()].pop()
    const run = turn && lastRun(turn)
    const source = run && serverSource(run.cause, turn.source)
    if (run?.state === 'running' && source) began(run, source, true)
    else updated(count, 'subscribe')

    const take = (event: Event, entry: Committed) => {
      if (event.seq <= seq) return
      seq = event.seq
      if (event.type === 'turn.admitted') sources.set(event.turn, event.source)
      else if (event.type === 'run.started') {
        const why = serverSource(event.cause, sources.get(event.turn) ?? 'person')
        if (why) began({ id: event.run, startedAt: event.at }, why, false)
      } else if (event.type === 'run.settled') {
        sources.delete(event.turn)
        count = entry.entry?.count ?? count
        updated(count, 'settled')
      } else if (event.type === 'session.deleted') view.finish()
    }
    while (!view.over) {
      for (const entry of entries.splice(0)) {
        count = entry.entry?.count ?? count
        for (const event of entry.events) take(event, entry)
      }
      await outlet.drained()
      await view.news()
    }
  } finally {
    unwatch()
    view.close()
  }
}

function serverSource(cause: Run['cause'], source: TurnSource): ServerSource | null {
  if (cause === 'reattached') return 'reattached'
  return cause === 'sent' && source !== 'person' ? source : null
}
