import { chmodSync } from 'node:fs'
import type { Clock, Random } from '../contract/ids'
import { makeFolder } from '../folder'
import type { Timers } from './group'
import { startThread, type Link, type StartThread } from './link'
import type { Store } from './port'
import type { READS, ThreadData, WRITES } from './protocol'
import { ThreadedStore } from './threaded-store'

export interface StoreOptions {
  /** `<state>/talaria`; made when absent, closed to other accounts (0700). */
  folder: string
  clock: Clock
  random: Random
  /** The program's version, told to an older program that meets a newer schema. */
  version: string
  timers?: Timers
  /** Told once when one of its threads has ended by itself: nothing can be written or read any more, and only a new start of the process helps. */
  died?: (words: string) => void
  /** How long growth waits for company, ms: 25–50 (spec/log.md §5). */
  interval?: number
  /** How many threads read beside the one that writes. */
  readers?: number
  /** The size that the database may have; beyond it the store is full as on a full disk. */
  maxBytes?: number
  /** How much the writer remembers between appends; the default fits a machine of one person. */
  keep?: ThreadData['keep']
  /** The built thread; beside this file in the built server. */
  threadUrl?: URL
  /** How a thread is started; real ones unless said otherwise. */
  start?: StartThread
}

const wallTimers: Timers = { set: (run, ms) => setTimeout(run, ms), clear: (timer) => clearTimeout(timer as NodeJS.Timeout) }

/**
 * Opens the store of a state folder (spec/log.md §5): SQLite in threads of its own, one writing, the others reading; this thread never calls the driver. Rejects with `StoreUnopened`
 * when another process has it, when its schema is newer than this program, or when it cannot be read.
 */
export async function openStore(opts: StoreOptions): Promise<Store> {
  await makeFolder(opts.folder, 0o700)
  chmodSync(opts.folder, 0o700)
  const url = opts.threadUrl ?? new URL('./thread.js', import.meta.url)
  const start = opts.start ?? ((role: ThreadData) => startThread(url, role))
  const data: ThreadData = {
    role: 'writer', folder: opts.folder, now: opts.clock(), fresh: freshId(opts.random), version: opts.version, store: '',
    ...(opts.maxBytes !== undefined && { maxBytes: opts.maxBytes }), ...(opts.keep && { keep: opts.keep }),
  }
  const writer = (await start(data)) as Link<typeof WRITES>
  const { store } = writer.opened
  const startReader = () => start({ ...data, role: 'reader', store }) as Promise<Link<typeof READS>>
  try {
    const readers = await Promise.all(Array.from({ length: opts.readers ?? 1 }, startReader))
    if (opts.died) void Promise.race([writer, ...readers].map((link) => link.died)).then(opts.died)
    return new ThreadedStore(writer, readers, { startReader, clock: opts.clock, timers: opts.timers ?? wallTimers, interval: opts.interval ?? 30 })
  } catch (error) {
    await writer.close()
    throw error
  }
}

/** 20 characters of base 36: about 100 bits. */
function freshId(random: Random): string {
  return Array.from({ length: 20 }, () => Math.floor(random() * 36).toString(36)).join('')
}
