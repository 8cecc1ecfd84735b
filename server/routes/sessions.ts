import type { ListEntry } from '../contract/listing'
import type { CompactSession } from '../contract/routes'
import type { Store } from '../store/port'
import { isOn } from './parse'
import { compactOf, seconds } from './compact'
import { attentionOf, openIn } from './pending'
import type { Handlers } from './call'
import type { Parts } from './parts'

const PAGE = 60
const PAGE_MAX = 500

/** The list of chats: the original's form, and ours with a cursor. */
export function sessionList({ store, timers }: Pick<Parts, 'store' | 'timers'>): Handlers<'GET /api/sessions' | 'GET /api/sessions/changes'> {
  return {
    async 'GET /api/sessions'({ input, profile }) {
      const all = await everyEntry(store, profile.name)
      const archived = all.filter((entry) => entry.archived)
      const shown = all.filter((entry) => !entry.archived)
      const from = input.archived_offset ?? 0
      const kept = isOn(input.include_archived) ? archived.slice(from, from + (input.archived_limit ?? archived.length)) : []
      return {
        sessions: await Promise.all([...shown, ...kept].map((entry) => compactEntry(store, entry))),
        sidebar_reference_sessions: [],
        cli_count: 0,
        cli_session_count: 0,
        webui_session_count: all.length,
        archived_count: archived.length,
        active_profile: profile.name,
        other_profile_count: 0,
        server_time: seconds(timers.now()),
        server_tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
      }
    },
    'GET /api/sessions/changes': ({ input, profile }) =>
      store.list({ profile: profile.name, limit: pageSize(input.limit), ...(input.after === undefined ? {} : { after: input.after }), ...(input.before === undefined ? {} : { before: input.before }) }),
  }
}

/** Entries or rows of one answer: 60 unless asked otherwise, never more than 500. */
export function pageSize(limit: number | undefined): number {
  return Math.min(Math.max(limit ?? PAGE, 1), PAGE_MAX)
}

/** The original's answer has no pages, so all of them are read; ours is the other route. */
export async function everyEntry(store: Store, profile: string): Promise<ListEntry[]> {
  const entries: ListEntry[] = []
  for (let before: string | undefined; ; before = entries[entries.length - 1]!.id) {
    const page = await store.list({ profile, limit: PAGE_MAX, ...(before === undefined ? {} : { before }) })
    entries.push(...page.entries)
    if (!page.more || page.entries.length === 0) return entries
  }
}

/** Which kind is asked stands in no entry, so it is looked up for those few chats that ask. */
async function compactEntry(store: Store, entry: ListEntry): Promise<CompactSession> {
  const state = entry.questions > 0 ? await store.load(entry.id) : null
  return compactOf(entry, state && attentionOf(openIn(state.tail)))
}
