import { openDB } from 'idb'
import { makeCopies, noCopies } from './copies'
import { unheld } from './held'
import type { Copies, Shelf } from './port'
import { COPY_VERSION, copyName, migrate, type CopySchema } from './schema'

/** Whose copies are meant. In this issue there is one user; the profile is the launch profile. */
export interface Owner { user: string; profile: string }

/** How long a database may stay blocked by another page of ours before this one goes on without, ms. */
const BLOCKED_MS = 3000

/**
 * Opens databases, one for each store. A connection closes when a newer page wants to change the schema, or when the database is deleted: this
 * page then goes on from the network. `after` runs something later and gives what calls it off.
 */
export function openShelf(owner: Owner, after: (ms: number, run: () => void) => () => void): Shelf {
  return {
    last: () => lastStore(),
    open(store) {
      void rememberStore(store)
      return openCopies(store, owner, after)
    },
  }
}

async function openCopies(store: string, owner: Owner, after: (ms: number, run: () => void) => () => void): Promise<Copies> {
  try {
    const opening = openDB<CopySchema>(copyName(store, owner.user, owner.profile), COPY_VERSION, {
      upgrade: (database, from) => migrate(database, from),
      blocking: (_current, _blocked, event) => (event.target as IDBDatabase).close(),
    })
    const database = await within(BLOCKED_MS, after, opening)
    if (database) return makeCopies(store, database)
    // Whenever it opens after all, nobody waits for it any more; left open it would block others.
    opening.then((late) => late.close(), () => undefined)
    return noCopies(store, 'blocked')
  } catch (error) {
    return noCopies(store, unheld(error))
  }
}

function within<T>(ms: number, after: (ms: number, run: () => void) => () => void, work: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const cancel = after(ms, () => resolve(null))
    work.then(
      (value) => {
        cancel()
        resolve(value)
      },
      (error: unknown) => {
        cancel()
        reject(error instanceof Error ? error : new Error('the database could not be opened'))
      },
    )
  })
}

/** A database of one record, apart from the copies, because it must be read before one knows whose copies to open. */
const DEVICE = 'talaria'

async function device<T>(use: (database: Awaited<ReturnType<typeof openDB>>) => Promise<T>): Promise<T | null> {
  try {
    const database = await openDB(DEVICE, 1, {
      upgrade: (fresh) => void fresh.createObjectStore('device'),
      blocking: (_current, _blocked, event) => (event.target as IDBDatabase).close(),
    })
    try {
      return await use(database)
    } finally {
      database.close()
    }
  } catch {
    return null
  }
}

async function lastStore(): Promise<string | null> {
  const store: unknown = await device((database) => database.get('device', 'store'))
  return typeof store === 'string' ? store : null
}

async function rememberStore(store: string): Promise<void> {
  await device((database) => database.put('device', store, 'store'))
}
