import { DatabaseSync } from '@photostructure/sqlite'

/**
 * The only file that knows the SQLite driver (DESIGN §9): what the store needs of it and nothing more, so that Node's own `node:sqlite`,
 * whose interface this is, replaces it on a newer Node. Synchronous, and therefore only for the store's threads.
 */
export type Value = string | number | null
type Statement = ReturnType<InstanceType<typeof DatabaseSync>['prepare']>

/** Set on every connection and read back by the contract test: they are properties of a connection, not of the file. */
export const PRAGMAS = { journal_mode: 'wal', synchronous: 2, busy_timeout: 5000, foreign_keys: 1 } as const

export interface Connection {
  /** Statements without parameters or results. */
  exec(sql: string): void
  run(sql: string, ...values: Value[]): void
  /** The first row, as columns by name, or undefined. */
  get<T>(sql: string, ...values: Value[]): T | undefined
  all<T>(sql: string, ...values: Value[]): T[]
  /** Whether a transaction is open; SQLite ends one by itself after some faults (a full disk). */
  readonly inTransaction: boolean
  close(): void
}

/** A connection as it comes: for the lock, and for looking at a file before it is trusted. */
export function openBare(path: string, busyTimeout: number): Connection {
  const db = new DatabaseSync(path, { timeout: busyTimeout })
  const statements = new Map<string, Statement>()
  // A statement is compiled once per connection: compiling in a loop costs more than running, and holds memory.
  const prepared = (sql: string) => {
    const known = statements.get(sql)
    if (known) return known
    const fresh = db.prepare(sql)
    statements.set(sql, fresh)
    return fresh
  }
  return {
    exec: (sql) => db.exec(sql),
    run: (sql, ...values) => void prepared(sql).run(...values),
    get: <T>(sql: string, ...values: Value[]) => prepared(sql).get(...values) as T | undefined,
    all: <T>(sql: string, ...values: Value[]) => prepared(sql).all(...values) as T[],
    get inTransaction() { return db.isTransaction },
    close: () => {
      statements.clear()
      db.close()
    },
  }
}

/** A connection with the store's pragmas. */
export function openConnection(path: string): Connection {
  const db = openBare(path, PRAGMAS.busy_timeout)
  for (const [name, value] of Object.entries(PRAGMAS)) db.exec(`PRAGMA ${name} = ${value}`)
  return db
}

/** SQLite's primary result code of an error that the driver threw; undefined for any other error. */
function resultCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

/** Comes from SQLite, not from a fault in our own code. */
export function isDriverError(error: unknown): boolean {
  return resultCode(error) !== undefined
}

/** The disk, or the size that the database may have, is used up. */
export function isFull(error: unknown): boolean {
  return resultCode(error) === 13
}

/** Another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === 5
}

/** A row that was written does not fit the tables: the fault of who wrote it, not of the disk. */
export function isConstraint(error: unknown): boolean {
  return resultCode(error) === 19
}
