import type { Store } from '../../../../server/store/port'
import { emptyDisk } from '../../../support/model-disk'
import { ModelStore } from '../../../support/model-store'
import { storeContract } from './contract'

storeContract('the model in memory', async () => {
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
})
