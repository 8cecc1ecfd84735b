import type { ListEntry } from '../../server/contract/listing'
import type { Cursor, Frames, ListChanges } from '../../server/contract/wire'
import type { SavedList } from '../cache/port'
import type { ChatList } from './port'
import type { Asked } from './link'
import { OneRequest } from './one-request'
import type { Shared } from './shared'

/** How many entries one answer brings. */
const LIST_PAGE = 100
/** The list is asked for again this long after a failure on a connection that stands, ms. */
const AGAIN_MS = 1000
/** Changes of the list are written together, ms. */
const WRITE_MS = 300

/**
 * The list of chats, kept in step with the server: entries from the copy, then what changed, then live. An entry is replaced only by one with a
 * higher revision, so frames and answers may overlap in any way.
 */
export class ListPart {
  private readonly entries = new Map<string, ListEntry>()
  private state: ChatList['state'] = 'loading'
  private more = false
  /** The entry behind which the next page begins. */
  private pagedTo: string | null = null
  private aligned = false
  /** What frames said while an answer was awaited: it may have been read before them. */
  private readonly during = new Map<string, ListEntry | null>()
  private readonly request: OneRequest
  private dirty = new Map<string, ListEntry | null>()
  private replaced = false
  private cancelWrite: (() => void) | null = null
  private cancelAgain = (): void => undefined
  cursor: Cursor | null = null

  constructor(
    private readonly shared: Shared,
    private readonly changed: () => void,
    /** The server named chats that are deleted. */
    private readonly gone: (sessions: string[]) => void,
    private readonly renewed: (entry: ListEntry) => void,
  ) {
    this.request = new OneRequest(shared.clock)
  }

  value(): ChatList {
    const list: ChatList = { state: this.state, entries: this.entries, more: this.more }
    if (this.more) list.loadMore = () => this.loadMore()
    return list
  }

  /** Takes the copy, unless the network was faster. */
  load(saved: SavedList): void {
    if (this.cursor !== null) return
    for (const entry of saved.entries) this.put(entry)
    this.cursor = saved.cursor
    this.more = saved.more
    this.dirty.clear()
    this.state = 'ready'
    this.pagedTo = lowest(this.entries.values())
    this.changed()
  }

  /** Another store: nothing of the old list is true of it. */
  restart(): void {
    this.stop()
    this.entries.clear()
    this.dirty.clear()
    this.cursor = null
    this.aligned = false
    this.state = 'loading'
    this.more = false
    this.pagedTo = null
    this.changed()
  }

  registered(asked: Asked): void {
    this.aligned = this.cursor !== null && asked.after === this.cursor
    this.request.abortIfHanging()
    if (!this.aligned) void this.catchUp()
  }

  lost(): void {
    this.aligned = false
    this.request.abort()
  }

  frame(frame: Frames['change']): void {
    if (this.request.under() && (frame.entry || frame.removed)) this.during.set(frame.session, frame.removed ? null : frame.entry!)
    if (frame.entry) this.put(frame.entry)
    if (frame.removed) this.drop([frame.session])
    if (frame.entry || frame.removed) this.news()
  }

  /** Every frame up to this cursor has been taken. */
  moved(cursor: Cursor): void {
    if (this.aligned) this.cursor = cursor
  }

  reset(): void {
    this.aligned = false
    this.cursor = null
    void this.catchUp()
  }

  async catchUp(): Promise<void> {
    const signal = this.request.begin()
    if (!signal) return
    this.cancelAgain()
    const epoch = this.shared.epoch()
    try {
      for (;;) {
        this.during.clear()
        const input = this.cursor === null ? { limit: LIST_PAGE } : { after: this.cursor, limit: LIST_PAGE }
        const { output } = await this.shared.backend.ask('GET /api/sessions/changes', input, { fresh: true, signal })
        if (signal.aborted || !this.shared.accepts(output.store)) return
        const whole = this.cursor === null || output.reset === true
        this.take(output, whole)
        if (whole || !output.more) break
      }
      this.aligned = this.shared.connected() && epoch === this.shared.epoch()
    } catch {
      if (this.shared.connected()) this.cancelAgain = this.shared.clock.after(AGAIN_MS, () => void this.catchUp())
      return
    } finally {
      this.request.end(signal)
    }
    // What was asked before the stream registered says nothing of what happened in between.
    if (!this.aligned && this.shared.connected()) void this.catchUp()
  }

  private take(answer: ListChanges, whole: boolean): void {
    if (whole) {
      this.entries.clear()
      this.dirty.clear()
      this.replaced = true
      this.more = answer.more
      this.pagedTo = answer.entries[answer.entries.length - 1]?.id ?? null
    }
    for (const entry of answer.entries) this.put(entry)
    this.drop(answer.removed)
    for (const [id, entry] of this.during) {
      if (entry) this.put(entry)
      else this.drop([id])
    }
    this.cursor = answer.cursor
    this.state = 'ready'
    this.news()
  }

  private async loadMore(): Promise<void> {
    if (this.pagedTo === null || !this.more) return
    const { output } = await this.shared.backend.ask('GET /api/sessions/changes', { before: this.pagedTo, limit: LIST_PAGE }, { fresh: true })
    if (!this.shared.accepts(output.store)) return
    for (const entry of output.entries) this.put(entry)
    this.more = output.more
    this.pagedTo = output.entries[output.entries.length - 1]?.id ?? this.pagedTo
    this.news()
  }

  private put(entry: ListEntry): void {
    const held = this.entries.get(entry.id)
    if (held && held.rev >= entry.rev) return
    this.entries.set(entry.id, entry)
    this.dirty.set(entry.id, entry)
    this.renewed(entry)
  }

  private drop(ids: string[]): void {
    for (const id of ids) {
      this.entries.delete(id)
      this.dirty.set(id, null)
    }
    if (ids.length > 0) this.gone(ids)
  }

  private news(): void {
    this.cancelWrite ??= this.shared.clock.after(WRITE_MS, () => void this.write())
    this.changed()
  }

  /** Writes what changed since the last write; also when nothing did, so that the time of the copy moves. */
  async write(): Promise<void> {
    this.cancelWrite?.()
    this.cancelWrite = null
    const copies = this.shared.copies()
    if (!copies || this.cursor === null) return
    const entries: ListEntry[] = []
    const removed: string[] = []
    for (const [id, entry] of this.dirty) if (entry) entries.push(entry)
      else removed.push(id)
    this.dirty.clear()
    const replace = this.replaced
    this.replaced = false
    const done = await copies.saveList({ entries, removed, cursor: this.cursor, more: this.more, savedAt: this.shared.lastGood(), ...(replace ? { replace } : {}) })
    if (copies !== this.shared.copies()) return
    this.shared.wrote(done)
    if (done.ok) return
    // What was not written is written with the next change, from all that is held.
    this.replaced = true
    for (const [id, entry] of this.entries) this.dirty.set(id, entry)
  }

  stop(): void {
    this.request.abort()
    this.cancelAgain()
    this.cancelWrite?.()
    this.cancelWrite = null
  }
}

function lowest(entries: Iterable<ListEntry>): string | null {
  let last: ListEntry | null = null
  for (const entry of entries) if (!last || entry.lastAt < last.lastAt) last = entry
  return last?.id ?? null
}
