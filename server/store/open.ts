import { chmodSync, mkdirSync } from 'node:fs'
import type { Clock, Random } from '../contract/ids'
import { Group, type Timers } from './group'
import { startThread, type Link, type StartThread } from './link'
import type { Committed, Store, StoreStats } from './port'
import type { READS, ThreadData, WRITES } from './protocol'

export interface StoreOptions {
  /** `<state>/talaria`; made when absent, closed to other accounts (0700). */
  folder: string
  clock: Clock
  random: Random
  /** The program's version, told to an older program that meets a newer schema. */
  version: string
  timers?: Timers
  /** How long growth waits for company, ms. */
  interval?: number
  /** How many threads read beside the one that writes. */
  readers?: number
  /** The size that the database may have; beyond it the store is full as on a full disk. */
  maxBytes?: number
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
  mkdirSync(opts.folder, { recursive: true, mode: 0o700 })
  chmodSync(opts.folder, 0o700)
  const url = opts.threadUrl ?? new URL('./thread.js', import.meta.url)
  const data: ThreadData = {
    role: 'writer', folder: opts.folder, now: opts.clock(), fresh: freshId(opts.random), version: opts.version, store: '',
    ...(opts.maxBytes !== undefined && { maxBytes: opts.maxBytes }),
  }
  const start = opts.start ?? ((role: ThreadData) => startThread(url, role))
  const writer = (await start(data)) as Link<typeof WRITES>
  const store = writer.opened.store
  try {
    const readers = await Promise.all(Array.from({ length: opts.readers ?? 1 }, () => start({ ...data, role: 'reader', store })))
    return new ThreadedStore(store, writer, readers as Link<typeof READS>[], opts)
  } catch (error) {
    await writer.close()
    throw error
  }
}

/** 20 characters of base 36: about 100 bits. */
function freshId(random: Random): string {
  return Array.from({ length: 20 }, () => Math.floor(random() * 36).toString(36)).join('')
}

class ThreadedStore implements Store {
  readonly #group: Group
  readonly #numbers = { commits: 0, events: 0, lastCommitMs: 0, bytes: 0 }
  #listener: (batch: Committed[]) => void = () => {}
  #head: number
  #turn = 0
  #closing: Promise<void> | null = null

  constructor(
    readonly id: string,
    private readonly writer: Link<typeof WRITES>,
    private readonly readers: Link<typeof READS>[],
    private readonly opts: StoreOptions,
  ) {
    this.#head = writer.opened.rev
    this.#group = new Group({
      timers: opts.timers ?? wallTimers,
      interval: opts.interval ?? 30,
      commit: (entries) => writer.call('commit', entries, opts.clock()),
      committed: (batch, { ms, bytes }) => {
        if (batch.length === 0) return
        this.#numbers.commits++
        this.#numbers.events += batch.reduce((sum, entry) => sum + entry.events.length, 0)
        this.#numbers.lastCommitMs = ms
        this.#numbers.bytes = bytes
        this.#head = batch[batch.length - 1]!.rev
        this.#listener(batch)
      },
    })
  }

  /** Readers take turns. */
  get #reader(): Link<typeof READS> {
    return this.readers[this.#turn++ % this.readers.length]!
  }

  append: Store['append'] = (append) => this.#group.append(append)
  hasten: Store['hasten'] = () => this.#group.hasten()
  load: Store['load'] = (session) => this.#reader.call('load', session)
  window: Store['window'] = (session, opts) => this.#reader.call('window', session, opts)
  changes: Store['changes'] = (session, opts) => this.#reader.call('changes', session, opts)
  list: Store['list'] = (opts) => this.#reader.call('list', opts)
  events: Store['events'] = (session, opts) => this.#reader.call('events', session, opts)
  since: Store['since'] = (opts) => this.#reader.call('since', opts)
  /** What the listener has been told of: a reader that registered before misses nothing above it. */
  head: Store['head'] = () => Promise.resolve(this.#head)
  run: Store['run'] = (id) => this.#reader.call('run', id)
  unsettled: Store['unsettled'] = () => this.#reader.call('unsettled')
  receipt: Store['receipt'] = (scope) => this.#reader.call('receipt', scope, this.opts.clock())
  context: Store['context'] = (session) => this.#reader.call('context', session)
  noteProcess: Store['noteProcess'] = (process) => this.writer.call('noteProcess', process)
  forgetProcess: Store['forgetProcess'] = (pid) => this.writer.call('forgetProcess', pid)
  processes: Store['processes'] = () => this.#reader.call('processes')
  onCommit: Store['onCommit'] = (listener) => {
    this.#listener = listener
  }
  stats: Store['stats'] = (): StoreStats => ({ ...this.#numbers, waiting: this.#group.waiting })
  check: Store['check'] = () => this.#reader.call('check')
  /** Commits what waits; then the readers, and last the writer, which lets the lock go. */
  close: Store['close'] = () => (this.#closing ??= this.#close())

  async #close(): Promise<void> {
    await this.#group.close()
    await Promise.all(this.readers.map((reader) => reader.close()))
    await this.writer.close()
  }
}
