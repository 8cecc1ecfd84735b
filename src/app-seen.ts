import { createEffect, createSignal, on, onCleanup, type Accessor } from 'solid-js'
import type { Attention, ListEntry } from '../server/contract/listing'
import { KEYS, quickGet, quickSet, type AppParts } from './app-parts'
import { ProblemError } from './backend/port'
import { attentionHere, confirmed, markSeen, parseSeen } from './sessions/seen'
import type { ChatList } from './sync/port'
import type { ChatFacts } from './sync/reactive'

export interface SeenParts {
  parts: AppParts
  list: Accessor<ChatList>
  /** The open chat, and its entry in the list. */
  facts: Accessor<ChatFacts | null>
  entry: () => ListEntry | undefined
  connected: () => boolean
}

/**
 * Tells the server what a person has seen: the settlement that the open chat shows in a visible page. Without the network it is remembered, the
 * highest of each chat, and told later. Returns why a chat asks for a look.
 */
export function createSeen({ parts, list, facts, entry, connected }: SeenParts): (entry: ListEntry) => Attention | null {
  const [seen, setSeen] = createSignal(parseSeen(quickGet(parts.quick, KEYS.seen)))
  /** What is on its way, or was taken and is not told by the list yet. */
  const sent = new Map<string, number>()
  const see = () => {
    const [open, shown] = [entry(), facts()]
    // Each of its runs moves this one.
    shown?.run()
    const settled = open?.settled
    if (!settled || document.visibilityState !== 'visible' || shown?.state() !== 'ready' || shown.chat.session !== open.id || shown.chat.value().seq < settled) return
    if (settled > (open.read ?? 0)) setSeen((marks) => markSeen(marks, open.id, settled))
  }
  createEffect(see)
  document.addEventListener('visibilitychange', see)
  onCleanup(() => document.removeEventListener('visibilitychange', see))

  const tell = async (session_id: string, seq: number) => {
    sent.set(session_id, seq)
    try {
      await parts.backend.call('POST /api/session/read', { session_id, seq })
      if (!list().entries.has(session_id)) setSeen((marks) => confirmed(marks, session_id, seq))
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'session_not_found') setSeen((marks) => confirmed(marks, session_id, seq))
      else if (sent.get(session_id) === seq) sent.delete(session_id)
    }
  }
  createEffect(() => {
    const { entries, state } = list()
    if (state !== 'ready' || !connected()) return
    for (const [id, seq] of Object.entries(seen())) {
      if ((entries.get(id)?.read ?? 0) >= seq) {
        sent.delete(id)
        setSeen((marks) => confirmed(marks, id, seq))
      } else if ((sent.get(id) ?? 0) < seq) void tell(id, seq)
    }
  })
  // Other windows keep theirs in the same place: the higher mark counts.
  createEffect(
    on(
      seen,
      (marks, before = {}) => {
        let all = parseSeen(quickGet(parts.quick, KEYS.seen))
        for (const [id, seq] of Object.entries(before)) if (!(id in marks)) all = confirmed(all, id, seq)
        for (const [id, seq] of Object.entries(marks)) all = markSeen(all, id, seq)
        quickSet(parts.quick, KEYS.seen, Object.keys(all).length ? JSON.stringify(all) : null)
      },
      { defer: true },
    ),
  )
  return (one) => attentionHere(one, seen())
}

/** How many chats ask for a look, on the icon of an installed app, where the browser has such a thing. */
export function createBadge(count: Accessor<number>): void {
  createEffect(
    on(count, (n, before) => {
      if (!('setAppBadge' in navigator) || (n === 0 && !before)) return
      void (n ? navigator.setAppBadge(n) : navigator.clearAppBadge()).catch(() => undefined)
    }),
  )
}
