import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openForReading, openForWriting } from '../../../../server/store/database'
import { isBusy, isConstraint, isDriverError, isFull, openBare, openConnection, type Connection } from '../../../../server/store/driver'
import type { ThreadData } from '../../../../server/store/protocol'
import { freshFolder } from '../../../support/store-thread'

/** What the store relies on in whatever driver stands behind `store/driver.ts`. */
describe('the driver', () => {
  let folder: string
  let open: { close(): void }[]
  beforeEach(() => {
    folder = freshFolder('driver')
    open = []
  })
  afterEach(() => {
    for (const one of open.reverse()) one.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const keep = <T extends { close(): void }>(one: T): T => {
    open.push(one)
    return one
  }
  const connect = (name = 'a.sqlite'): Connection => keep(openConnection(join(folder, name)))
  const fails = (work: () => void): unknown => {
    try {
      work()
    } catch (error) {
      return error
    }
    throw new Error('nothing was thrown')
  }
  const pragmas = (db: Connection) => ['journal_mode', 'synchronous', 'busy_timeout', 'foreign_keys'].map((name) => Object.values(db.get<object>(`PRAGMA ${name}`)!)[0])

  test('sets WAL, synchronous FULL, patience and foreign keys on every connection of the store', () => {
    const data: ThreadData = { role: 'writer', folder, now: 1, fresh: 'x', version: '1', store: '' }
    const { db, close } = openForWriting(data)
    open.push({ close })
    const reader = keep(openForReading(folder))
    expect(pragmas(db)).toEqual(['wal', 2, 5000, 1])
    expect(pragmas(reader)).toEqual(['wal', 2, 5000, 1])
    expect(fails(() => reader.exec('DELETE FROM meta'))).toSatisfy(isDriverError)
  })

  test('gives back what it was given, by column name', () => {
    const db = connect()
    db.exec('CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c REAL) STRICT')
    db.run('INSERT INTO t VALUES (?, ?, ?)', 9_007_199_254_740_991, '雪 "', 0.5)
    db.run('INSERT INTO t VALUES (?, ?, ?)', 2, null, null)
    expect(db.all('SELECT * FROM t ORDER BY a')).toEqual([{ a: 2, b: null, c: null }, { a: 9_007_199_254_740_991, b: '雪 "', c: 0.5 }])
    expect(db.get('SELECT a FROM t WHERE a = ?', 3)).toBeUndefined()
  })

  test('undoes a savepoint alone, and says whether a transaction is open', () => {
    const db = connect()
    db.exec('CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT; BEGIN IMMEDIATE; INSERT INTO t VALUES (1); SAVEPOINT one; INSERT INTO t VALUES (2)')
    expect(db.inTransaction).toBe(true)
    db.exec('ROLLBACK TO one; RELEASE one; COMMIT')
    expect(db.inTransaction).toBe(false)
    expect(db.all('SELECT a FROM t')).toEqual([{ a: 1 }])
  })

  test('lets a reader keep its snapshot while another connection writes', () => {
    const writer = connect()
    writer.exec('CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT')
    const reader = connect()
    reader.exec('BEGIN')
    expect(reader.get('SELECT count(*) AS n FROM t')).toEqual({ n: 0 })
    writer.run('INSERT INTO t VALUES (1)')
    expect(reader.get('SELECT count(*) AS n FROM t')).toEqual({ n: 0 })
    reader.exec('COMMIT')
    expect(reader.get('SELECT count(*) AS n FROM t')).toEqual({ n: 1 })
  })

  test('tells a full disk, a lock, a broken rule and other faults apart', () => {
    const db = connect()
    db.exec('CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) STRICT')
    db.run('INSERT INTO t VALUES (1, ?)', 'x')
    const constraint = fails(() => db.run('INSERT INTO t VALUES (1, ?)', 'y'))
    db.exec('PRAGMA max_page_count = 3')
    const full = fails(() => db.run('INSERT INTO t VALUES (2, ?)', 'y'.repeat(100_000)))
    const lock = keep(openBare(join(folder, 'lock.sqlite'), 0))
    lock.exec('BEGIN EXCLUSIVE')
    const busy = fails(() => keep(openBare(join(folder, 'lock.sqlite'), 0)).exec('BEGIN EXCLUSIVE'))
    const other = fails(() => db.exec('SELECT nothing FROM nowhere'))
    const kinds = (error: unknown) => [isFull(error), isBusy(error), isConstraint(error), isDriverError(error)]
    expect([full, busy, constraint, other, new Error('x')].map(kinds)).toEqual([
      [true, false, false, true], [false, true, false, true], [false, false, true, true], [false, false, false, true], [false, false, false, false],
    ])
  })

  test('holds foreign keys, and takes children with their parents where asked', () => {
    const db = connect()
    db.exec('CREATE TABLE p (a INTEGER PRIMARY KEY) STRICT; CREATE TABLE c (a INTEGER REFERENCES p ON DELETE CASCADE) STRICT')
    expect(fails(() => db.exec('INSERT INTO c VALUES (1)'))).toSatisfy(isConstraint)
    db.exec('INSERT INTO p VALUES (1); INSERT INTO c VALUES (1); DELETE FROM p')
    expect(db.all('SELECT * FROM c')).toEqual([])
  })
})
