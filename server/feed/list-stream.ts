import type { Event } from '../contract/events'
import type { Committed } from '../store/port'
import { encodeFrame } from './frames'
import type { Outlet } from './outlet'
import { openView } from './view'
import type { ViewParts } from './view'

/** One change of the list as the original tells it; without a chat it is about the whole list. */
export interface ListNews { type: 'sessions_changed'; version: number; reason: string; profile?: string; session_id?: string }

/**
 * The original's stream of the list (features.md §3.3): that it changed, and why; what it is now is asked for. One frame at most waits for a reader: news of one chat take
 * the place of older ones of it, news of several become one of the whole list.
 */
export async function tellList(parts: ViewParts, { outlet, profile }: { outlet: Outlet; profile: string }): Promise<void> {
  const view = openView(parts, outlet)
  let waiting: ListNews | null = null
  const unwatch = parts.feed.watchProfile(profile, (entry) => {
    const reason = reasonOf(entry)
    if (reason === null) return
    waiting = joined(waiting, { type: 'sessions_changed', version: entry.rev, reason, profile, session_id: entry.session })
    view.signal()
  })
  try {
    while (!view.over) {
      await outlet.drained()
      if (waiting) outlet.send(encodeFrame('sessions_changed', waiting))
      waiting = null
      await view.news()
    }
  } finally {
    unwatch()
    view.close()
  }
}

/** What waits and what comes, as one. */
export function joined(waiting: ListNews | null, news: ListNews): ListNews {
  if (!waiting) return news
  if (waiting.session_id === news.session_id) return { ...news, reason: waiting.reason === 'session_new' ? waiting.reason : news.reason }
  return { type: news.type, version: news.version, reason: 'session_changed' }
}

/** Null for what the original's list does not show, such as the steps of a run. */
export function reasonOf(entry: Pick<Committed, 'events' | 'entry' | 'removed'>): string | null {
  if (entry.removed) return 'session_delete'
  if (!entry.entry) return null
  // A mark that it was read is no event.
  if (entry.events.length === 0) return 'session_changed'
  const reasons = entry.events.flatMap((event) => eventReason(event) ?? [])
  return ORDER.find((reason) => reasons.includes(reason)) ?? null
}

/** Of several in one append the first that stands here. */
const ORDER = ['session_new', 'attention_pending', 'attention_resolved', 'attention_cleared', 'session_rename', 'session_archive', 'session_pin', 'session_changed']

function eventReason(event: Event): string | null {
  switch (event.type) {
    case 'session.created': return 'session_new'
    case 'approval.raised': case 'clarify.raised': case 'secret.raised': return 'attention_pending'
    case 'approval.decided': case 'clarify.answered': case 'secret.answered': return 'attention_resolved'
    case 'approval.retired': case 'clarify.retired': case 'secret.retired': return 'attention_cleared'
    case 'session.changed': {
      if (event.title !== undefined && event.titleBy === 'person') return 'session_rename'
      if (event.archived !== undefined) return 'session_archive'
      return event.pinned === undefined ? 'session_changed' : 'session_pin'
    }
    case 'turn.admitted': case 'run.started': case 'run.stopping': case 'run.settled': case 'rows.retracted': return 'session_changed'
    default: return event.type.startsWith('queue.') ? 'session_changed' : null
  }
}
