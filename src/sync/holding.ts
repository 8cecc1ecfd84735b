import type { Held } from '../cache/held'
import type { Copies, Shelf } from '../cache/port'
import type { Keeping } from './port'

/** The store that is synced with, and what this device holds of it. */
export interface Holding {
  /** Identity of the store; null until one is known. */
  store(): string | null
  /** The copies of that store; null until their databases are open. */
  copies(): Copies | null
  /** The first store that this page hears of. What it shows already came from there. */
  adopt(named: string): void
  /** Resolves when the databases of the store that was adopted are open. */
  adopted(): Promise<void> | null
  /** Another store: other databases. Resolves to false when it is not the store any more, or the page was closed. */
  change(named: string): Promise<boolean>
  saved(session: string): boolean
  add(session: string): void
  /** The copy of a chat leaves. */
  forget(session: string): void
  keeping(): Keeping
  /** How a write went. */
  wrote(done: Held<unknown>): void
  /** Nothing is opened any more; the caller closes the copies that it was handed. */
  end(): void
}

/** `opened`: the databases are open. `known`: it is known which chats are in them. */
export function makeHolding(shelf: Shelf, on: { opened(): void; known(): void }): Holding {
  let store: string | null = null
  let copies: Copies | null = null
  let adopting: Promise<void> | null = null
  let chats = new Set<string>()
  let keeping: Keeping = 'ok'
  let ended = false

  async function open(named: string): Promise<void> {
    const opened = await shelf.open(named)
    if (ended || store !== named) return opened.close()
    copies = opened
    on.opened()
    const saved = await opened.saved()
    // The server may have got another store meanwhile: what this one holds is not of that one.
    if (ended || store !== named) return
    if (saved.ok) for (const id of saved.value) chats.add(id)
    on.known()
  }

  return {
    store: () => store,
    copies: () => copies,
    adopt(named) {
      store = named
      adopting = open(named)
    },
    adopted: () => adopting,
    async change(named) {
      copies?.close()
      copies = null
      store = named
      chats = new Set()
      await open(named)
      return !ended && store === named
    },
    saved: (session) => chats.has(session),
    add: (session) => void chats.add(session),
    forget(session) {
      chats.delete(session)
      void copies?.forget([session])
    },
    keeping: () => keeping,
    wrote(done) {
      keeping = done.ok ? 'ok' : done.why === 'full' ? 'full' : 'none'
    },
    end() {
      ended = true
    },
  }
}
