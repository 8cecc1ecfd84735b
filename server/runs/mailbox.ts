/** A command that came after the mailbox was closed, or was still waiting then. */
export class MailboxClosed extends Error {
  constructor() {
    super('the run takes no more commands')
    this.name = 'MailboxClosed'
  }
}

/**
 * The ordered mailbox of one run (law 8): answers to questions reach the agent one after the other, in the order in which they were
 * taken. Stop closes it; what had not begun by then is refused and never reaches the agent.
 */
export class Mailbox {
  #closed = false
  #last: Promise<unknown> = Promise.resolve()

  get closed(): boolean {
    return this.#closed
  }

  /** Runs `work` after everything posted before. Rejects with `MailboxClosed` if the mailbox closes before it begins. */
  post<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(() => {
      if (this.#closed) throw new MailboxClosed()
      return work()
    })
    this.#last = mine.catch(() => undefined)
    return mine
  }

  close(): void {
    this.#closed = true
  }
}
