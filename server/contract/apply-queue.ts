import { withAttachments } from './attachments'
import type { EventOf } from './events'
import { present } from './present'
import type { QueueItem } from './queue'
import type { Transcript } from './session'
import type { Touched } from './touched'

/** Effects of `queue.*` on the value; same promise as in `apply-rows.ts`. Also a part holds the whole queue, so an unknown item never fits. */
export type QueueEvent = EventOf<'queue.added' | 'queue.changed' | 'queue.moved' | 'queue.combined' | 'queue.removed' | 'queue.taken'>

export function changeQueue(value: Transcript, event: QueueEvent, touched: Touched): boolean {
  if (event.seq <= value.queue.seq) return true
  const items = itemsAfter(value.queue.items, event)
  if (!items) return false
  value.queue = { items, seq: event.seq }
  touched.queue = true
  return true
}

/** Costs the length of the queue, which is bounded (`QUEUE_LIMIT`). Null when the event names an item that does not wait. */
export function itemsAfter(items: readonly QueueItem[], event: QueueEvent): QueueItem[] | null {
  const held = (id: string): QueueItem | undefined => items.find((item) => item.id === id)
  switch (event.type) {
    case 'queue.added': {
      if (held(event.item)) return null
      const { item: id, text, by, before, send, key, attachments, at: addedAt } = event
      return placed(items, present({ id, text, addedAt, by, send, key, ...withAttachments(attachments) } as QueueItem), before)
    }
    case 'queue.changed': return held(event.item) ? items.map((item) => (item.id === event.item ? carrying({ ...item, text: event.text }, event.attachments ?? item.attachments) : item)) : null
    case 'queue.moved': {
      const item = held(event.item)
      if (!item) return null
      const moved: QueueItem = event.send ? { ...item, send: true } : item
      if (event.before === item.id) return items.map((other) => (other === item ? moved : other))
      return placed(items.filter((other) => other !== item), moved, event.before)
    }
    case 'queue.combined': return combined(items, event)
    case 'queue.removed': return event.items.every(held) ? items.filter(({ id }) => !event.items.includes(id)) : null
    case 'queue.taken': return held(event.item) ? items.filter(({ id }) => id !== event.item) : null
  }
}

/** `before` absent or gone: at the end. */
function placed(items: readonly QueueItem[], item: QueueItem, before: string | undefined): QueueItem[] {
  const at = before === undefined ? -1 : items.findIndex(({ id }) => id === before)
  return at < 0 ? [...items, item] : items.toSpliced(at, 0, item)
}

/** What one of them was to do at once, the joined one does. */
function combined(items: readonly QueueItem[], event: EventOf<'queue.combined'>): QueueItem[] | null {
  const joined = items.filter(({ id }) => event.items.includes(id))
  const first = joined.find(({ id }) => id === event.items[0])
  if (!first || joined.length !== new Set(event.items).size) return null
  const next: QueueItem = { ...carrying({ ...first, text: event.text }, event.attachments), ...(joined.some(({ send }) => send) ? { send: true } : {}) }
  return items.filter((item) => item === first || !joined.includes(item)).map((item) => (item === first ? next : item))
}

function carrying({ attachments: _, ...item }: QueueItem, attachments: QueueItem['attachments']): QueueItem {
  return { ...item, ...withAttachments(attachments) }
}
