import type { Event } from '../contract/events'
import { encodeFrame } from './frames'
import type { Outlet } from './outlet'
import { openView } from './view'
import type { ViewParts } from './view'

export interface AskedReader {
  outlet: Outlet
  session: string
  /** Name of the frames after the first, and the first word of the events that they follow. */
  kind: 'approval' | 'clarify'
  /** What is pending now; null when the chat is gone. */
  read(): Promise<unknown>
}

/** The original's streams of pending questions (features.md §3.3): `initial`, then one frame for each change of what is pending. */
export async function tellAsked(parts: ViewParts, { outlet, session, kind, read }: AskedReader): Promise<void> {
  const view = openView(parts, outlet)
  const unwatch = parts.feed.watch(session, (entry) => {
    if (entry.removed || entry.events.some((event) => concerns(event, kind))) view.signal()
  })
  try {
    for (let told = ''; !view.over; await view.news()) {
      const pending = await read()
      if (pending === null) break
      const text = JSON.stringify(pending)
      if (text === told) continue
      outlet.send(encodeFrame(told === '' ? 'initial' : kind, pending))
      told = text
      await outlet.drained()
    }
  } finally {
    unwatch()
    view.close()
  }
}

function concerns(event: Event, kind: string): boolean {
  return event.type.startsWith(`${kind}.`)
}
