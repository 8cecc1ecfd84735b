import { createEffect, createSignal, on, onCleanup, type Accessor } from 'solid-js'
import type { ListEntry } from '../server/contract/listing'
import { KEYS, quickGet, quickSet } from './app-parts'
import type { QuickShelf } from './composer/drafts'
import { firstMarks, isUnread, markSeen, parseMarks } from './sessions/read-marks'
import type { ChatList } from './sync/port'

/** Follows which answers were seen here: what is open in a visible page counts as seen. Returns whether a chat is unread. */
export function createMarks(quick: QuickShelf, list: Accessor<ChatList>, open: () => ListEntry | undefined): (entry: ListEntry) => boolean {
  const [marks, setMarks] = createSignal(parseMarks(quickGet(quick, KEYS.marks)))
  createEffect(() => {
    if (list().state === 'ready') setMarks((now) => firstMarks(now, list().entries.values()))
  })
  const see = () => {
    const entry = open()
    if (entry && document.visibilityState === 'visible') setMarks((now) => markSeen(now, entry.id, entry.lastAt))
  }
  createEffect(see)
  document.addEventListener('visibilitychange', see)
  onCleanup(() => document.removeEventListener('visibilitychange', see))
  createEffect(on(marks, (now) => quickSet(quick, KEYS.marks, now.base < 0 ? null : JSON.stringify(now)), { defer: true }))
  return (entry) => isUnread(entry, marks())
}
