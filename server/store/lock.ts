import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { isBusy, openBare, type Connection } from './driver'
import { StoreUnopened } from './port'

/** A process that is just ending may hold the lock a moment longer, ms. */
const PATIENCE = 500

/**
 * One process per state folder (spec/log.md §5): an exclusive transaction on `lock.sqlite`, open as long as the store is. The system drops it with the
 * process, however that ends, so there is no stale lock to clean up.
 */
export function takeLock(folder: string): Connection {
  const path = join(folder, 'lock.sqlite')
  const lock = openBare(path, PATIENCE)
  try {
    chmodSync(path, 0o600)
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if (isBusy(error)) {
      throw new StoreUnopened('in_use', `${folder} is in use by another Talaria. Stop that one first, or start this one with another folder: --state <folder>.`)
    }
    throw error
  }
}
