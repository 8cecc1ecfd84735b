import type { Queue } from '../../contract/queue'
import type { Connection } from '../driver'
import type { Held } from './held'

/** Writes what changed of the waiting messages: the fold keeps the objects of those that did not. */
export function writeQueue(db: Connection, { record, tail }: Held, before: Queue, rev: number): void {
  const left = new Map(before.items.map((item, place) => [item.id, { item, place }]))
  tail.queue.items.forEach((item, place) => {
    const stood = left.get(item.id)
    left.delete(item.id)
    if (stood?.item === item && stood.place === place) return
    db.run('INSERT INTO queue (sid, id, place, rev, item) VALUES (?, ?, ?, ?, ?) ON CONFLICT (sid, id) DO UPDATE SET place = excluded.place, rev = excluded.rev, item = excluded.item',
      record.sid, item.id, place, rev, JSON.stringify(item))
  })
  for (const id of left.keys()) db.run('DELETE FROM queue WHERE sid = ? AND id = ?', record.sid, id)
  record.queueSeq = tail.queue.seq
  record.queueRev = rev
}
