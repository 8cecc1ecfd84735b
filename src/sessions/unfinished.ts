import type { ListEntry } from '../../server/contract/listing'

/** The newest chat that broke off or was stopped; null when there is none. */
export function unfinishedOf(entries: Iterable<ListEntry>): ListEntry | null {
  return [...entries].filter((one) => one.state === 'idle' && (one.outcome === 'interrupted' || one.outcome === 'cancelled')).sort((a, b) => b.lastAt - a.lastAt)[0] ?? null
}
