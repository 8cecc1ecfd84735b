import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { openConnection, type Connection } from './driver'
import { takeLock } from './lock'
import { migrate } from './migrate'
import type { ThreadData } from './protocol'
import { readRev } from './read/records'

export interface OpenDatabase { db: Connection; store: string; rev: number; close: () => void }

/** The writer's side of opening: lock, file, schema, identity. Throws `StoreUnopened` or the driver's error. */
export function openForWriting(data: ThreadData): OpenDatabase {
  const lock = takeLock(data.folder)
  let db: Connection | undefined
  const close = () => {
    db?.close()
    lock.close()
  }
  try {
    const path = fileIn(data.folder)
    db = openConnection(path)
    // Before anything of worth is in it; the files beside it take its mode.
    chmodSync(path, 0o600)
    migrate(db, { path, now: data.now })
    if (data.maxBytes !== undefined) db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(data.maxBytes / pageSize(db)))}`)
    return { db, ...identify(db, data), rev: readRev(db), close }
  } catch (error) {
    close()
    throw error
  }
}

/** A new database gets its identity once; the program that used it last leaves its version for older ones to name. */
function identify(db: Connection, { fresh, version }: ThreadData): { store: string } {
  db.run(`INSERT OR IGNORE INTO meta (name, value) VALUES ('store', ?)`, fresh)
  db.run(`INSERT INTO meta (name, value) VALUES ('version', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`, version)
  return { store: db.get<{ value: string }>(`SELECT value FROM meta WHERE name = 'store'`)!.value }
}

function pageSize(db: Connection): number {
  return db.get<{ page_size: number }>('PRAGMA page_size')!.page_size
}

/** A reader's connection; it cannot write. */
export function openForReading(folder: string): Connection {
  const db = openConnection(fileIn(folder))
  db.exec('PRAGMA query_only = 1')
  return db
}

export function fileIn(folder: string): string {
  return join(folder, 'talaria.sqlite')
}
