import type { EntryFields, ListEntry } from '../../contract/listing'
import type { Cursor, ListChanges } from '../../contract/wire'
import type { Connection } from '../driver'
import { inSnapshot, readRev } from './records'
import { revision } from './window'

interface ListRecord { id: string; rev: number; last_at: number; removed: number; read: number | null; entry: string }
const COLUMNS = 'id, rev, last_at, removed, read, entry'

/** `Store.list`: one snapshot, O(page) or O(what changed). */
export function list(db: Connection, store: string, opts: { profile: string; limit: number; after?: Cursor; before?: string }): ListChanges {
  return inSnapshot(db, () => {
    const limit = Math.max(1, opts.limit)
    const rev = readRev(db)
    if (opts.after === undefined) return page(db, store, opts.profile, limit, rev, opts.before)
    const after = revision(opts.after)
    if (after === null || after > rev) return { ...page(db, store, opts.profile, limit, rev), reset: true as const }
    return changed(db, store, opts.profile, limit, rev, after)
  })
}

/** Newest first; ties of the clock are broken by id, so that paging neither repeats nor skips. An unknown `before` starts again. */
function page(db: Connection, store: string, profile: string, limit: number, rev: number, before?: string): ListChanges {
  const place = before === undefined ? undefined : db.get<ListRecord>(`SELECT ${COLUMNS} FROM list WHERE id = ? AND profile = ?`, before, profile)
  const found = place
    ? db.all<ListRecord>(`SELECT ${COLUMNS} FROM list WHERE profile = ? AND removed = 0 AND (last_at, id) < (?, ?) ORDER BY last_at DESC, id DESC LIMIT ?`, profile, place.last_at, place.id, limit + 1)
    : db.all<ListRecord>(`SELECT ${COLUMNS} FROM list WHERE profile = ? AND removed = 0 ORDER BY last_at DESC, id DESC LIMIT ?`, profile, limit + 1)
  const more = found.length > limit
  if (more) found.pop()
  const answer: ListChanges = { store, entries: found.map(entryFrom), removed: [], cursor: String(rev), more }
  return before !== undefined && !place ? { ...answer, reset: true } : answer
}

function changed(db: Connection, store: string, profile: string, limit: number, rev: number, after: number): ListChanges {
  const found = db.all<ListRecord>(`SELECT ${COLUMNS} FROM list WHERE profile = ? AND rev > ? ORDER BY rev LIMIT ?`, profile, after, limit + 1)
  const more = found.length > limit
  if (more) found.pop()
  return {
    store,
    entries: found.filter((record) => !record.removed).map(entryFrom),
    removed: found.filter((record) => record.removed).map((record) => record.id),
    cursor: String(more ? found[found.length - 1]!.rev : rev),
    more,
  }
}

function entryFrom(record: ListRecord): ListEntry {
  return listed(JSON.parse(record.entry) as EntryFields, record.rev, record.read)
}

/** An entry is what the fold says, and beside it its revision and how far a person has read. */
export function listed(fields: EntryFields, rev: number, read: number | null): ListEntry {
  return { ...fields, rev, ...(read !== null && { read }) }
}

/** The entry of a session if exactly this revision moved it; one that moved again later is told by that revision. */
export function entryAt(db: Connection, rev: number, profile: string): { entry?: ListEntry; removed?: true; session: string } | undefined {
  const found = db.get<ListRecord>(`SELECT ${COLUMNS} FROM list WHERE profile = ? AND rev = ?`, profile, rev)
  return found && (found.removed ? { session: found.id, removed: true } : { session: found.id, entry: entryFrom(found) })
}
