import { addTouched, untouched, type Touched } from '../../server/contract/fold'
import type { Row } from '../../server/contract/rows'
import type { Transcript, Turn } from '../../server/contract/session'
import type { Changes, Cursor } from '../../server/contract/wire'
import type { PageRecord } from '../cache/schema'
import type { ChatSave } from '../cache/port'
import { lastOf } from './page-record'
import type { Shared } from './shared'

/** Growth is written together this long after the first change, ms. What has no copy yet gets one at once: a page that is left in that second would leave nothing. */
const WRITE_MS = 1000

/**
 * Writes one open chat into its copy. The copy may reach further back than what is in memory: what events name there is not known here, so
 * the copy's cursor stays `behind` until a catch-up has brought it.
 */
export class ChatKeeper {
  /** The copy is complete from here on; null while nothing is saved. */
  from: string | null = null
  behind: Cursor | null = null
  /** Another tab has removed the copy, as of a chat that was deleted: nothing is written until an answer has said that the chat is there. */
  removed = false
  private touched = untouched()
  private readonly outside = { rows: new Map<string, Row>(), turns: new Map<string, Turn>() }
  /** What has left since the chat was opened: an answer that was read before must not bring it back. */
  private readonly gone = new Set<string>()
  private replaces: ChatSave['replace']
  private dirty = false
  /** Nothing was written yet, and none was there. */
  private first = true
  private cancelWrite: (() => void) | null = null
  private writing: Promise<void> = Promise.resolve()

  constructor(
    private readonly shared: Shared,
    private readonly session: string,
    private readonly value: () => Transcript,
    private readonly cursor: () => Cursor | null,
    private readonly on: {
      saved(): void
      /** The copy was found removed: the server is to be asked. */
      removed(): void
      /** The copy lacks what happened further back: a catch-up since `behind` is to be asked for. */
      behind(): void
    },
  ) {}

  /** The copy was read. */
  loaded(record: PageRecord): void {
    this.from = record.from
    this.behind = record.behind ? record.cursor : null
    this.first = false
  }

  note(touched: Touched): void {
    addTouched(this.touched, touched)
    for (const id of touched.removed) {
      this.gone.add(id)
      this.outside.rows.delete(id)
      this.outside.turns.delete(id)
    }
    this.soon()
  }

  /** A window replaced what was held, and takes the place of the copy. */
  window(touched: Touched, from: string, replaces: 'window' | 'set_back'): void {
    this.from = from
    this.behind = null
    this.removed = false
    this.replaces = replaces
    this.outside.rows.clear()
    this.outside.turns.clear()
    this.touched = untouched()
    this.note(touched)
  }

  /**
   * A catch-up: keeps what lies before memory, but within the copy. It brings the copy up to date only when it reaches as far back as the copy does by
   * now, and was read no earlier than the last event that named something there. `since`: the cursor it was asked with.
   */
  answer(changes: Changes, since: Cursor | null): void {
    const { from, missed = 0 } = this.value()
    for (const row of changes.rows) if (row.pos < from && !this.gone.has(row.id)) this.outside.rows.set(row.id, row)
    for (const turn of changes.turns) if (turn.pos < from && !this.gone.has(turn.id)) this.outside.turns.set(turn.id, turn)
    if (this.from !== null && changes.from > this.from) this.behind ??= since
    else if (this.behind !== null) this.behind = changes.seq < missed ? changes.cursor : null
    if (this.behind !== null) this.on.behind()
    this.removed = false
    this.soon()
  }

  /** The copy reaches further back than memory. */
  deeper(): boolean {
    return this.from !== null && this.from < this.value().from
  }

  /** Nothing changed, but what is held was true until now. */
  confirm(): void {
    this.dirty = true
  }

  private soon(): void {
    this.dirty = true
    this.cancelWrite ??= this.shared.clock.after(this.first ? 0 : WRITE_MS, () => void this.flush())
  }

  /** Writes what is not written; resolves when all is. */
  flush(): Promise<void> {
    this.cancelWrite?.()
    this.cancelWrite = null
    this.writing = this.writing.then(() => this.write())
    return this.writing
  }

  private async write(): Promise<void> {
    const copies = this.shared.copies()
    const save = this.dirty ? this.save() : null
    if (!copies || !save) return
    this.first = false
    this.dirty = false
    this.replaces = undefined
    this.touched = untouched()
    this.outside.rows.clear()
    this.outside.turns.clear()
    const done = await copies.saveChat(save)
    if (copies !== this.shared.copies()) return
    this.shared.wrote(done)
    if (!done.ok) return this.failed()
    if (done.value.gone) {
      this.failed()
      this.removed = true
      this.on.removed()
      return
    }
    this.from = done.value.from
    this.on.saved()
  }

  /** A write was lost, so the copy has a hole: the next one writes all that is in memory, as a new copy. */
  private failed(): void {
    const value = this.value()
    this.replaces ??= 'window'
    this.from = value.from
    this.behind = null
    for (const id of value.rows.keys()) this.touched.rows.add(id)
    for (const id of value.turns.keys()) this.touched.turns.add(id)
  }

  /** Another tab moved the copy: how far does it reach now? */
  async reread(): Promise<void> {
    const held = await this.shared.copies()?.page(this.session)
    if (!held?.ok || !held.value) return
    this.from = held.value.from
    if (!held.value.behind) return
    // It took over what it lacked as well.
    this.behind ??= held.value.cursor
    this.on.behind()
  }

  private save(): ChatSave | null {
    const value = this.value()
    const cursor = this.behind ?? this.cursor()
    if (this.removed || !value.session || cursor === null) return null
    const { touched, outside } = this
    const rows = [...touched.rows, ...touched.grew.keys()].flatMap((id) => value.rows.get(id) ?? [])
    const turns = [...touched.turns].flatMap((id) => value.turns.get(id) ?? [])
    return {
      session: this.session, head: value.session, rows: [...rows, ...outside.rows.values()], turns: [...turns, ...outside.turns.values()],
      removed: [...touched.removed], ...lastOf(value), queue: value.queue, from: this.from ?? value.from, missed: value.missed ?? 0, cursor,
      behind: this.behind !== null,
      seq: value.seq, savedAt: this.shared.lastGood() || this.shared.clock.now(), ...(this.replaces ? { replace: this.replaces } : {}),
    }
  }

  stop(): void {
    this.cancelWrite?.()
    this.cancelWrite = null
  }
}
