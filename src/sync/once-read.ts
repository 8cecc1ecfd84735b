import type { Clock } from './clock'
import type { OpenChat } from './port'

/** What waits for a chat waits no longer than this, ms. */
const WAITS_MS = 1000

/** Runs something once the chat is no longer being loaded and the page has drawn it, or when that takes too long. */
export function onceRead(chat: OpenChat, clock: Clock, run: () => void): void {
  let due = true
  const go = (): void => {
    if (!due) return
    due = false
    cancel()
    end()
    run()
  }
  const cancel = clock.after(WAITS_MS, go)
  const end = chat.subscribe(() => {
    if (chat.state() !== 'loading') clock.idle(go)
  })
}
