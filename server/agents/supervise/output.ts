import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

/** Most of a file that is read at once, bytes. */
const CHUNK = 256 * 1024

/**
 * What a program writes, in a file and not in a pipe: a program that outlives us goes on writing, and a pipe without a reader would fail it in mid-turn
 * (or, full, hold it up). The file is emptied while it is read, so it does not grow.
 */
export class Output {
  #at = 0
  #handle: FileHandle | null = null
  /** One after the other: two at once would read the same twice. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(private readonly path: string) {}

  /** Begins an empty file, and gives what the program is to write to. The caller closes it once the program has it. */
  async begin(): Promise<FileHandle> {
    // Append: after it was emptied the program goes on at its new end.
    const file = await open(this.path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND, 0o600)
    await this.resume()
    return file
  }

  /** Takes up a file that is there, from its beginning. */
  async resume(): Promise<void> {
    await this.close()
    await this.#next(async () => {
      this.#at = 0
      this.#handle = await open(this.path, constants.O_RDWR).catch(() => null)
    })
  }

  /** What was written since the last call; empty where there is no file. Of more than `most` bytes only the end is read. */
  fresh(most = CHUNK): Promise<Buffer> {
    return this.#next(async () => {
      const handle = this.#handle
      if (!handle) return Buffer.alloc(0)
      const { size } = await handle.stat()
      if (size < this.#at) this.#at = 0
      const from = Math.max(this.#at, size - most)
      const buffer = Buffer.alloc(size - from)
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, from)
      this.#at = from + bytesRead
      return buffer.subarray(0, bytesRead)
    })
  }

  /** Empties a file that has more than `most` bytes. What was not read is lost. */
  empty(most: number): Promise<void> {
    return this.#next(async () => {
      if (this.#at <= most || !this.#handle) return
      await this.#handle.truncate(0)
      this.#at = 0
    })
  }

  close(): Promise<void> {
    return this.#next(async () => {
      const handle = this.#handle
      this.#handle = null
      await handle?.close().catch(() => undefined)
    })
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => undefined)
    return done
  }
}
