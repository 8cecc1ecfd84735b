import { rmSync } from 'node:fs'
import type { Store } from '../../../../server/store/port'
import { freshFolder, openTestStore } from '../../../support/store-thread'
import { storeContract, type Harness } from './contract'
import { controlContract } from './control'
import { importContract } from './imported'

async function make(): Promise<Harness> {
  const folder = freshFolder('contract')
  const clock = { now: 1_700_000_000_000 }
  const opened: Store[] = []
  return {
    clock,
    open: async () => {
      const store = await openTestStore({ folder, clock: () => clock.now })
      opened.push(store)
      return store
    },
    dispose: async () => {
      for (const store of opened) await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

storeContract('SQLite in threads', make)
controlContract('SQLite in threads', make)
importContract('SQLite in threads', make)
