import type { IDBPTransaction } from 'idb'
import type { Row } from '../../server/contract/rows'
import type { Turn } from '../../server/contract/session'
import type { ChatSave, OlderRows } from './port'
import type { CopyDatabase, CopySchema, PageRecord } from './schema'

/**
 * Copies of chats. Several tabs of one browser write the same database, so every write looks at what is held first: a row is replaced only by
 * one with the same or a higher `seq`, a page record only by one that has seen as much. Nothing foreign is awaited inside a transaction.
 */
type Parts = ['pages', 'rows', 'turns']
const PARTS: Parts = ['pages', 'rows', 'turns']
type Writing = IDBPTransaction<CopySchema, Parts, 'readwrite'>

export async function saveChat(database: CopyDatabase, save: ChatSave): Promise<{ from: string; gone?: true }> {
  const tx = database.transaction(PARTS, 'readwrite')
  const held = await tx.objectStore('pages').get(save.session)
  // What changed since the last write is no copy by itself: another tab has removed the rest, as of a chat that was deleted.
  if (!held && !save.replace) {
    await tx.done
    return { from: save.from, gone: true }
  }
  if (held && held.seq > save.seq && save.replace !== 'set_back') {
    await tx.done
    return { from: held.from }
  }
  const { session } = save
  if (save.replace) dropChat(tx, session)
  const from = held && !save.replace ? reach(held, save) : save.from
  const work: Promise<unknown>[] = save.removed.flatMap((id) => [tx.objectStore('rows').delete([session, id]), tx.objectStore('turns').delete([session, id])])
  work.push(...putRows(tx, session, save.rows), ...putTurns(tx, session, save.turns))
  const record: PageRecord = {
    session, head: save.head, rows: save.last, rowsFrom: save.lastFrom, turns: save.lastTurns, queue: save.queue, from, cursor: save.cursor, behind: save.behind,
    seq: save.seq, savedAt: save.savedAt,
  }
  work.push(tx.objectStore('pages').put(record))
  await Promise.all([...work, tx.done])
  return { from }
}

/**
 * Where the copy begins after a save. Only the record knows: another tab may have begun it anew, or fetched more of the past, which stands unless
 * something may have changed there that the other tab had not seen, or had not yet brought when it wrote.
 */
function reach(held: PageRecord, save: ChatSave): string {
  if (held.from < save.from && (held.behind || save.missed > held.seq)) return save.from
  return held.from
}

export async function saveOlder(database: CopyDatabase, session: string, older: OlderRows & { upTo: string }): Promise<'saved' | 'moved'> {
  const tx = database.transaction(PARTS, 'readwrite')
  const record = await tx.objectStore('pages').get(session)
  if (!record || record.from !== older.upTo) {
    await tx.done
    return 'moved'
  }
  const kept = new Set(older.rows.map((row) => row.id))
  const stale = await tx.objectStore('rows').index('place').getAllKeys(IDBKeyRange.bound([session, older.from], [session, older.upTo], false, true))
  const work: Promise<unknown>[] = stale.filter(([, id]) => !kept.has(id)).map((key) => tx.objectStore('rows').delete(key))
  work.push(...putRows(tx, session, older.rows), ...putTurns(tx, session, older.turns), tx.objectStore('pages').put({ ...record, from: older.from }))
  await Promise.all([...work, tx.done])
  return 'saved'
}

export async function before(database: CopyDatabase, session: string, pos: string, limit: number): Promise<OlderRows | null> {
  const tx = database.transaction(PARTS, 'readonly')
  const record = await tx.objectStore('pages').get(session)
  if (!record || record.from >= pos) return null
  const rows: Row[] = []
  const range = IDBKeyRange.bound([session, record.from], [session, pos], false, true)
  let cursor = await tx.objectStore('rows').index('place').openCursor(range, 'prev')
  while (cursor && rows.length < limit) {
    rows.push(cursor.value.row)
    cursor = await cursor.continue()
  }
  const from = cursor ? rows[rows.length - 1]!.pos : record.from
  rows.reverse()
  const ids = [...new Set(rows.map((row) => row.turn))]
  const turns = await Promise.all(ids.map((id) => tx.objectStore('turns').get([session, id])))
  return { rows, turns: turns.flatMap((saved) => (saved ? [saved.turn] : [])), from }
}

export async function forgetChats(database: CopyDatabase, sessions: string[]): Promise<void> {
  const tx = database.transaction(['pages', 'rows', 'turns', 'entries', 'drafts'], 'readwrite')
  for (const session of sessions) {
    for (const store of ['pages', 'entries', 'drafts'] as const) void tx.objectStore(store).delete(session)
    for (const store of ['rows', 'turns'] as const) void tx.objectStore(store).delete(wholeOf(session))
  }
  await tx.done
}

function dropChat(tx: Writing, session: string): void {
  void tx.objectStore('pages').delete(session)
  void tx.objectStore('rows').delete(wholeOf(session))
  void tx.objectStore('turns').delete(wholeOf(session))
}

/** The keys of all parts of one chat. */
function wholeOf(session: string): IDBKeyRange {
  return IDBKeyRange.bound([session, ''], [session, '\uffff'])
}

function putRows(tx: Writing, session: string, rows: Row[]): Promise<unknown>[] {
  const store = tx.objectStore('rows')
  return rows.map(async (row) => {
    const held = await store.get([session, row.id])
    if (!held || held.row.seq <= row.seq) await store.put({ session, id: row.id, pos: row.pos, row })
  })
}

function putTurns(tx: Writing, session: string, turns: Turn[]): Promise<unknown>[] {
  const store = tx.objectStore('turns')
  return turns.map(async (turn) => {
    const held = await store.get([session, turn.id])
    if (!held || held.turn.seq <= turn.seq) await store.put({ session, id: turn.id, turn })
  })
}
