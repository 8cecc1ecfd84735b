import type { Copies } from '../cache/port'
import type { Clock } from '../sync/clock'

/** How long a draft waits for the database to open, ms. */
const OPEN_MS = 1000

/** What a person has typed and not sent, as the device's database keeps it. Both verbs reject where it cannot. */
export interface DraftShelf {
  /** Empty when there is none. */
  read(chat: string): Promise<string>
  /** An empty text removes it. `at`: ms. */
  write(chat: string, text: string, at: number): Promise<void>
}

/** Drafts lie beside the copies, in the database of the store; `use` is called when one is open. */
export function makeDraftShelf(clock: Clock): DraftShelf & { use(copies: Copies): void } {
  let copies: Copies | null = null
  let opened = (): void => undefined
  const opening = new Promise<void>((resolve) => {
    opened = resolve
  })

  async function open(): Promise<Copies> {
    if (!copies) {
      const cancel = clock.after(OPEN_MS, opened)
      await opening
      cancel()
    }
    if (!copies) throw new Error('no database is open')
    return copies
  }

  return {
    use(next) {
      copies = next
      opened()
    },
    async read(chat) {
      const found = await (await open()).draft(chat)
      if (!found.ok) throw new Error(`the draft could not be read: ${found.why}`)
      return found.value
    },
    async write(chat, text, at) {
      const done = await (await open()).saveDraft(chat, text, at)
      if (!done.ok) throw new Error(`the draft could not be kept: ${done.why}`)
    },
  }
}
