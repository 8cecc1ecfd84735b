import { chmodSync, existsSync, rmSync } from 'node:fs'
import type { Connection } from './driver'
import { MIGRATIONS, type Migration } from './schema'
import { StoreUnopened } from './port'

/** Marks a SQLite file as ours ("Tala"), so that another program's database is never migrated. */
const APPLICATION = 0x54616c61

export interface MigrateOptions {
  /** Path of the file, for the backup beside it. */
  path: string
  /** Server's ms; part of the backup's name. */
  now: number
  migrations?: readonly Migration[]
}

/**
 * Brings a database to the newest schema. A new file gets every step; an older one is first copied beside itself (`talaria.before-<schema>.<ms>.sqlite`,
 * 0600), then takes the missing steps in one transaction; a newer one, or a file of another program, is refused untouched.
 * Answers the backup's path, if one was made.
 */
export function migrate(db: Connection, opts: MigrateOptions): string | null {
  const steps = opts.migrations ?? MIGRATIONS
  const newest = steps[steps.length - 1]!.to
  const at = number(db, 'user_version')
  const tables = db.get<{ n: number }>('SELECT count(*) AS n FROM sqlite_schema')!.n
  if (tables > 0 && number(db, 'application_id') !== APPLICATION) {
    throw new StoreUnopened('unreadable', `${opts.path} is a database of another program. Choose another state folder with --state.`)
  }
  if (at > newest) {
    const by = db.get<{ value: string }>(`SELECT value FROM meta WHERE name = 'version'`)?.value
    throw new StoreUnopened('newer_schema', `${opts.path} was last used by a newer Talaria${by ? ` (${by})` : ''}: its schema is ${at}, this program knows ${newest}. Nothing was changed. Install the newer version, or choose another state folder with --state.`)
  }
  if (at === newest) return null
  const backup = tables > 0 ? `${opts.path.replace(/\.sqlite$/, '')}.before-${newest}.${opts.now}.sqlite` : null
  if (backup) copyTo(db, backup)
  db.exec('BEGIN IMMEDIATE')
  try {
    for (const step of steps) if (step.to > at) step.up(db)
    db.exec(`PRAGMA application_id = ${APPLICATION}`)
    db.exec(`PRAGMA user_version = ${newest}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
  return backup
}

/** A copy that did not fit on the disk is no copy: what there is of it leaves. */
function copyTo(db: Connection, backup: string): void {
  const stood = existsSync(backup)
  try {
    db.run('VACUUM INTO ?', backup)
    chmodSync(backup, 0o600)
  } catch (error) {
    if (!stood) rmSync(backup, { force: true })
    throw error
  }
}

function number(db: Connection, pragma: 'user_version' | 'application_id'): number {
  return db.get<Record<string, number>>(`PRAGMA ${pragma}`)![pragma]!
}
