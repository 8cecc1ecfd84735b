import { StoreFault, StoreUnopened } from '../../server/store/port'
import type { StartThread } from '../../server/store/link'
import { openRole } from '../../server/store/role'

/**
 * The store's own work on this thread, for tests that open it thousands of times: real SQLite and real files, only the threads are left out. Answers are copied as between threads.
 */
export const startInline = async (...given: Parameters<typeof openRole>): ReturnType<StartThread> => {
  const role = openRole(...given)
  if ('unopened' in role) throw new StoreUnopened(role.unopened.why, role.unopened.words)
  let open = true
  return {
    opened: role.opened,
    call: async (verb, ...args) => {
      if (!open) throw new StoreFault('closed', 'the store is closed')
      const { value, error } = structuredClone(role.answer(structuredClone({ id: 0, verb, args: args as unknown[] })))
      if (error) throw new StoreFault(error.kind, error.words)
      return value as never
    },
    close: async () => {
      if (open) role.close()
      open = false
    },
    died: new Promise(() => {}),
  }
}
