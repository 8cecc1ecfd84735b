import type { ListEntry } from '../../server/contract/listing'

/** Groups of the chat list in their order (design/LANGUAGE.md §8); a chat stands in the first that fits. The last two serve offline. */
export const GROUPS = ['needs', 'working', 'pinned', 'today', 'yesterday', 'thisWeek', 'lastWeek', 'earlier', 'here', 'notHere'] as const
export type GroupId = (typeof GROUPS)[number]

export interface Group { id: GroupId; entries: ListEntry[] }

export interface Around {
  /** ms, on the clock that `lastAt` is measured against. */
  now: number
  /** Offline: what can be read is told apart from what cannot, and nothing claims to work or to wait. */
  offline: boolean
  saved: (session: string) => boolean
}

/** Start of the local day that lies `days` before that of `at`. */
function dayStart(at: number, days = 0): number {
  const date = new Date(at)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - days).getTime()
}

/** Start of the local week (Monday) that lies `weeks` before that of `at`. */
function weekStart(at: number, weeks = 0): number {
  return dayStart(at, ((new Date(at).getDay() + 6) % 7) + 7 * weeks)
}

export function groupOf(entry: ListEntry, around: Around): GroupId {
  if (around.offline) return around.saved(entry.id) ? 'here' : 'notHere'
  if (entry.state === 'asking' || entry.questions > 0) return 'needs'
  if (entry.state === 'working' || entry.state === 'stopping') return 'working'
  if (entry.pinned) return 'pinned'
  if (entry.lastAt >= dayStart(around.now)) return 'today'
  if (entry.lastAt >= dayStart(around.now, 1)) return 'yesterday'
  if (entry.lastAt >= weekStart(around.now)) return 'thisWeek'
  if (entry.lastAt >= weekStart(around.now, 1)) return 'lastWeek'
  return 'earlier'
}

/** Newest first within a group; archived chats are not in the list. */
export function groupsOf(entries: Iterable<ListEntry>, around: Around): Group[] {
  const by = new Map<GroupId, ListEntry[]>()
  for (const entry of entries) {
    if (entry.archived) continue
    const id = groupOf(entry, around)
    const group = by.get(id)
    if (group) group.push(entry)
    else by.set(id, [entry])
  }
  const newest = (a: ListEntry, b: ListEntry) => b.lastAt - a.lastAt || (a.id < b.id ? 1 : -1)
  return GROUPS.flatMap((id) => {
    const found = by.get(id)
    return found ? [{ id, entries: found.sort(newest) }] : []
  })
}

/**
 * The list holds still under the pointer: chats that were there keep group and place with their new content, those that left leave, and
 * new ones enter where they belong.
 */
export function holdStill(before: Group[], next: Group[]): Group[] {
  const fresh = new Map(next.flatMap((group) => group.entries.map((entry) => [entry.id, { entry, group: group.id }] as const)))
  const known = new Set(before.flatMap((group) => group.entries.map((entry) => entry.id)))
  return GROUPS.flatMap((id) => {
    const stayed = (before.find((group) => group.id === id)?.entries ?? []).flatMap((entry) => fresh.get(entry.id)?.entry ?? [])
    const arrived = (next.find((group) => group.id === id)?.entries ?? []).filter((entry) => !known.has(entry.id))
    const entries = [...arrived, ...stayed]
    return entries.length ? [{ id, entries }] : []
  })
}
