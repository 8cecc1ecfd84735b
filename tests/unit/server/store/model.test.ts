import type { Store } from '../../../../server/store/port'
import { emptyDisk } from '../../../support/model-disk'
import { ModelStore } from '../../../support/model-store'
import { storeContract, type Harness } from './contract'
import { controlContract } from './control'
import { importContract } from './imported'

async function make(): Promise<Harness> {
  const disk = emptyDisk()
  const clock = { now: 1_700_000_000_000 }
  const opened: Store[] = []
  return {
    clock,
    open: async () => {
      const store = new ModelStore({ disk, clock: () => clock.now })
      opened.push(store)
      return store
    },
    dispose: async () => {
      for (const store of opened) await store.close()
    },
  }
}

storeContract('the model in memory', make)
controlContract('the model in memory', make)
importContract('the model in memory', make)
