import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openBare, openConnection, type Connection } from '../../../../server/store/driver'
import { migrate } from '../../../../server/store/migrate'
import { MIGRATIONS, type Migration } from '../../../../server/store/schema'
import { Chat } from '../../../support/chat'
import { startInline } from '../../../support/store-inline'
import { freshFolder, openTestStore } from '../../../support/store-thread'

describe('migrations', () => {
  let folder: string
  let path: string
  let open: Connection[]
  beforeEach(() => {
    folder = freshFolder('migrate')
    path = join(folder, 'talaria.sqlite')
    open = []
  })
  afterEach(() => {
    for (const db of open) db.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const connect = (file = path): Connection => {
    const db = openConnection(file)
    open.push(db)
    return db
  }
  const version = (db: Connection) => db.get<{ user_version: number }>('PRAGMA user_version')!.user_version
  const newest = MIGRATIONS.at(-1)!.to
  const next: Migration = { to: newest + 1, up: (db) => db.exec('ALTER TABLE list ADD COLUMN muted INTEGER NOT NULL DEFAULT 0') }

  /** A store of the schema of today, with one chat in it. */
  async function older(): Promise<void> {
    const store = await openTestStore({ folder, start: startInline })
    const chat = new Chat('ses_a')
    await store.append(chat.created({ title: 'Kept' }))
    await store.close()
  }

  test('are numbered without gaps', () => {
    expect(MIGRATIONS.map(({ to }) => to)).toEqual(MIGRATIONS.map((_, i) => i + 1))
  })

  test('make a new file without a backup, once', () => {
    const db = connect()
    expect(migrate(db, { path, now: 7 })).toBeNull()
    expect(version(db)).toBe(newest)
    expect(migrate(db, { path, now: 8 })).toBeNull()
    expect(readdirSync(folder).filter((name) => name.includes('before'))).toEqual([])
  })

  test('of an older schema keep its data, and a whole copy as it was beside it', async () => {
    await older()
    const db = connect()
    const backup = migrate(db, { path, now: 1234, migrations: [...MIGRATIONS, next] })!
    expect(backup).toBe(join(folder, `talaria.before-${newest + 1}.1234.sqlite`))
    expect(statSync(backup).mode & 0o777).toBe(0o600)
    expect(version(db)).toBe(newest + 1)
    expect(db.get('SELECT id, muted FROM list')).toEqual({ id: 'ses_a', muted: 0 })
    const copy = connect(backup)
    expect(version(copy)).toBe(newest)
    expect(copy.get('SELECT id FROM list')).toEqual({ id: 'ses_a' })
    expect(copy.get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' })
  })

  test('that fail leave the older schema as it was', async () => {
    await older()
    const db = connect()
    const broken: Migration = { to: newest + 2, up: (at) => at.exec('ALTER TABLE nowhere ADD COLUMN x') }
    expect(() => migrate(db, { path, now: 1, migrations: [...MIGRATIONS, next, broken] })).toThrow()
    expect(version(db)).toBe(newest)
    expect(() => db.get('SELECT muted FROM list')).toThrow()
    expect(db.inTransaction).toBe(false)
  })

  test('refuse a newer schema with words that name the newer program, and touch nothing', async () => {
    await older()
    const db = connect()
    migrate(db, { path, now: 1, migrations: [...MIGRATIONS, next] })
    db.run(`UPDATE meta SET value = '9.9.9' WHERE name = 'version'`)
    open.pop()!.close()
    await expect(openTestStore({ folder, start: startInline })).rejects.toMatchObject({ name: 'StoreUnopened', why: 'newer_schema', message: expect.stringMatching(/newer Talaria \(9\.9\.9\).*Nothing was changed/) as string })
    const after = connect()
    expect(version(after)).toBe(newest + 1)
    expect(after.get(`SELECT value FROM meta WHERE name = 'version'`)).toEqual({ value: '9.9.9' })
  })

  test('refuse the database of another program', async () => {
    const foreign = openBare(path, 0)
    foreign.exec('CREATE TABLE theirs (a)')
    foreign.close()
    await expect(openTestStore({ folder, start: startInline })).rejects.toMatchObject({ why: 'unreadable', message: expect.stringContaining('another program') as string })
    const db = openBare(path, 0)
    open.push(db)
    expect(db.all('SELECT name FROM sqlite_schema')).toEqual([{ name: 'theirs' }])
  })
})
