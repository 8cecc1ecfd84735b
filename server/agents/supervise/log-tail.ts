import { withoutKeys } from '../../models/words'

/** How much of a program's error stream is kept, bytes (spec/agents.md §4). */
export const TAIL = 64 * 1024

/** The end of what a program wrote to its error stream, with the secrets taken out when it is read. */
export class LogTail {
  #bytes: Buffer = Buffer.alloc(0)
  #cut = false
  #secrets: readonly string[] = []

  begin(secrets: readonly string[]): void {
    this.#bytes = Buffer.alloc(0)
    this.#cut = false
    this.#secrets = secrets
  }

  add(bytes: Buffer): void {
    if (bytes.length === 0) return
    const all = Buffer.concat([this.#bytes, bytes])
    this.#cut ||= all.length > TAIL
    this.#bytes = all.length > TAIL ? Buffer.from(all.subarray(all.length - TAIL)) : all
  }

  /** Whole lines: half of one at the cut could be half of a secret, which nobody would know again. */
  text(): string {
    const text = this.#bytes.toString('utf8')
    return withoutKeys(this.#cut ? text.slice(text.indexOf('\n') + 1 || text.length) : text, this.#secrets)
  }

  /** The last thing that it said; for words about why it ended. */
  lastLine(): string | undefined {
    return this.text().trimEnd().split('\n').at(-1)?.trim().slice(0, 400) || undefined
  }
}
