import type { Clock } from '../contract/ids'
import type { Cursor } from '../contract/wire'
import { Group, type Timers } from './group'
import type { Link } from './link'
import type { Append, Committed, Store, StoreStats } from './port'
import type { BatchAnswer, READS, WRITES } from './protocol'
import type { ReadMark } from './write/mark'

export interface ThreadedOptions {
  /** One more reader, for what takes long. */
  startReader(): Promise<Link<typeof READS>>
  clock: Clock
  timers: Timers
  interval: number
}

/** The port over one writing thread and some that read. It knows no SQL and no file. */
export class ThreadedStore implements Store {
  readonly id: string
  readonly #group: Group
  readonly #numbers = { commits: 0, events: 0, lastCommitMs: 0, bytes: 0 }
  #listener: (batch: Committed[]) => void = () => {}
  /** What the listener has been told of. */
  #head: number
  #ahead: { rev: number; go: () => void }[] = []
  #turn = 0
  #closing: Promise<void> | null = null
  #checking: ReturnType<Store['check']> | null = null

  constructor(
    private readonly writer: Link<typeof WRITES>,
    private readonly readers: Link<typeof READS>[],
    private readonly opts: ThreadedOptions,
  ) {
    this.id = writer.opened.store
    this.#head = writer.opened.rev
    this.#group = new Group({
      timers: opts.timers,
      interval: opts.interval,
      commit: (entries) => this.#commit(entries),
      committed: (batch, answer) => this.#committed(batch, answer),
    })
  }

  append: Store['append'] = (append) => this.#group.append(append)
  hasten: Store['hasten'] = () => this.#group.hasten()
  load: Store['load'] = (session) => this.#reader.call('load', session)
  window: Store['window'] = (session, opts) => this.#told(this.#reader.call('window', session, opts))
  changes: Store['changes'] = (session, opts) => this.#told(this.#reader.call('changes', session, opts))
  list: Store['list'] = (opts) => this.#told(this.#reader.call('list', opts))
  events: Store['events'] = (session, opts) => this.#reader.call('events', session, opts)
  imported: Store['imported'] = (session, seq) => this.#reader.call('imported', session, seq)
  foreign: Store['foreign'] = (session, among) => this.#reader.call('foreign', session, among)
  since: Store['since'] = (opts) => this.#reader.call('since', opts)
  head: Store['head'] = () => Promise.resolve(this.#head)
  run: Store['run'] = (id) => this.#reader.call('run', id)
  unsettled: Store['unsettled'] = () => this.#reader.call('unsettled')
  queued: Store['queued'] = () => this.#reader.call('queued')
  markRead: Store['markRead'] = (session, seq) => this.#group.mark({ session, read: seq })
  prune: Store['prune'] = (opts) => this.writer.call('prune', opts)
  receipt: Store['receipt'] = (scope) => this.#reader.call('receipt', scope, this.opts.clock())
  context: Store['context'] = (session) => this.#reader.call('context', session)
  noteProcess: Store['noteProcess'] = (process) => this.writer.call('noteProcess', process)
  forgetProcess: Store['forgetProcess'] = (pid) => this.writer.call('forgetProcess', pid)
  processes: Store['processes'] = () => this.#reader.call('processes')
  stats: Store['stats'] = (): StoreStats => ({ ...this.#numbers, waiting: this.#group.waiting })
  onCommit: Store['onCommit'] = (listener) => {
    this.#listener = listener
  }
  /** In a thread of its own, so that no other reader waits for it; who asks meanwhile gets the same answer, so that there is never more than one. */
  check: Store['check'] = () => (this.#checking ??= this.#check().finally(() => (this.#checking = null)))
  /** Commits what waits; then ends the readers, and last the writer, which lets the lock go. */
  close: Store['close'] = () => (this.#closing ??= this.#close())

  /** Readers take turns. */
  get #reader(): Link<typeof READS> {
    return this.readers[this.#turn++ % this.readers.length]!
  }

  async #commit(entries: (Append | ReadMark)[]): Promise<BatchAnswer> {
    try {
      return await this.writer.call('commit', entries, this.opts.clock())
    } catch (error) {
      this.#release(Infinity)
      throw error
    }
  }

  #committed(batch: Committed[], { ms, bytes }: BatchAnswer): void {
    if (bytes !== undefined) this.#numbers.bytes = bytes
    const last = batch.at(-1)
    if (!last) return
    this.#numbers.commits++
    this.#numbers.events += batch.reduce((sum, { events }) => sum + events.length, 0)
    this.#numbers.lastCommitMs = ms
    this.#head = last.rev
    this.#release(last.rev)
    this.#listener(batch)
  }

  /** A reader's snapshot may hold a commit of which the writer's word is still on its way: no cursor leaves before the listener has been told of it. */
  async #told<T extends { cursor: Cursor } | null>(reading: Promise<T>): Promise<T> {
    const answer = await reading
    const rev = Number(answer?.cursor ?? 0)
    if (rev > this.#head) await new Promise<void>((go) => this.#ahead.push({ rev, go }))
    return answer
  }

  async #check(): ReturnType<Store['check']> {
    const reader = await this.opts.startReader()
    try {
      return await reader.call('check')
    } finally {
      await reader.close()
    }
  }

  #release(rev: number): void {
    const due = this.#ahead.filter((one) => one.rev <= rev)
    this.#ahead = this.#ahead.filter((one) => one.rev > rev)
    for (const one of due) one.go()
  }

  async #close(): Promise<void> {
    await this.#group.close()
    await Promise.all(this.readers.map((reader) => reader.close()))
    await this.writer.close()
  }
}
