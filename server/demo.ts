import { SCRIPTED_MODEL } from './agents/scripted'
import type { Models } from './models/port'

/** For `--demo`: new chats are answered by the script, whatever is connected; nothing is kept of it. */
export function withDemo(models: Models): Models {
  return {
    ...models,
    status: async (profile) => ({ ...(await models.status(profile)), completed: true, default: SCRIPTED_MODEL, default_source: 'scripted' }),
    defaultModel: () => Promise.resolve(SCRIPTED_MODEL),
  }
}
