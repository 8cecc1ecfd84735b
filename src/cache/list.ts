import type { ListSave, SavedList } from './port'
import type { CopyDatabase } from './schema'

/** The copy of the chat list. An entry is replaced only by one with the same or a higher revision, since several tabs write. */
export async function loadList(database: CopyDatabase): Promise<SavedList | null> {
  const tx = database.transaction(['entries', 'notes'], 'readonly')
  const [note, entries] = await Promise.all([tx.objectStore('notes').get('list'), tx.objectStore('entries').getAll()])
  return note ? { entries, cursor: note.cursor, more: note.more, savedAt: note.savedAt } : null
}

export async function saveList(database: CopyDatabase, save: ListSave): Promise<void> {
  const tx = database.transaction(['entries', 'notes'], 'readwrite')
  const entries = tx.objectStore('entries')
  const work: Promise<unknown>[] = []
  if (save.replace) work.push(entries.clear())
  work.push(...save.removed.map((id) => entries.delete(id)))
  work.push(
    ...save.entries.map(async (entry) => {
      const held = await entries.get(entry.id)
      if (!held || held.rev <= entry.rev) await entries.put(entry)
    }),
  )
  work.push(tx.objectStore('notes').put({ key: 'list', cursor: save.cursor, more: save.more, savedAt: save.savedAt }))
  await Promise.all([...work, tx.done])
}
