import { isConstraint, isDriverError, isFull, type Connection } from '../driver'
import { StoreRefusal, type Append, type Receipt, type RefusalWhy, type StoreFault, type ToolProcess } from '../port'
import { readRev } from '../read/records'
import { appendEntry, type Accepted } from './append'
import { HeldSessions } from './held'
import { markRead, type ReadMark } from './mark'

/** What became of one entry of a batch. */
export type Verdict =
  | { state: 'accepted'; accepted: Accepted }
  /** A mark that stood there already: nothing was written. */
  | { state: 'still' }
  | { state: 'refused'; why: RefusalWhy; receipt?: Receipt }
  | { state: 'fault'; kind: StoreFault['kind']; words: string }

/** The one writer: joins a batch into one transaction, and checks each entry by itself. */
export class Writer {
  readonly #sessions: HeldSessions

  constructor(private readonly db: Connection, keep?: { sessions: number; rows: number }) {
    this.#sessions = new HeldSessions(db, keep)
  }

  /** After a fault of disk or database nothing of the batch is there, and what was held in memory is read again. */
  commit(entries: readonly (Append | ReadMark)[], now: number): Verdict[] {
    try {
      // Left open by a rollback that failed itself.
      if (this.db.inTransaction) this.db.exec('ROLLBACK')
      this.db.exec('BEGIN IMMEDIATE')
      const before = readRev(this.db)
      let rev = before
      const verdicts = entries.map((entry) => {
        const verdict = this.#entry(entry, rev + 1, now)
        if (verdict.state === 'accepted') rev++
        return verdict
      })
      if (rev > before) this.db.run('UPDATE head SET rev = ?', rev)
      this.db.exec('COMMIT')
      return verdicts
    } catch (error) {
      this.#undo()
      return entries.map(() => faultOf(error))
    }
  }

  noteProcess(process: ToolProcess): void {
    const { pid, startTime, bootId, session, run } = process
    this.db.run('INSERT OR REPLACE INTO processes (pid, start_time, boot_id, session, run) VALUES (?, ?, ?, ?, ?)', pid, startTime, bootId, session, run)
  }

  forgetProcess(pid: number): void {
    this.db.run('DELETE FROM processes WHERE pid = ?', pid)
  }

  #entry(entry: Append | ReadMark, rev: number, now: number): Verdict {
    this.db.exec('SAVEPOINT entry')
    try {
      const accepted = 'read' in entry ? markRead(this.db, this.#sessions, entry, rev) : appendEntry(this.db, this.#sessions, entry, rev, now)
      this.db.exec('RELEASE entry')
      const held = this.#sessions.get(entry.session)
      if (held) this.#sessions.trim(held)
      return accepted ? { state: 'accepted', accepted } : { state: 'still' }
    } catch (error) {
      // A fault of the disk may have ended the whole transaction: that is for the batch to say.
      if (!this.db.inTransaction || (isDriverError(error) && !isConstraint(error))) throw error
      this.db.exec('ROLLBACK TO entry')
      this.db.exec('RELEASE entry')
      this.#sessions.drop(entry.session)
      return error instanceof StoreRefusal ? { state: 'refused', why: error.why, ...(error.receipt && { receipt: error.receipt }) } : faultOf(error)
    }
  }

  #undo(): void {
    this.#sessions.clear()
    try {
      if (this.db.inTransaction) this.db.exec('ROLLBACK')
    } catch {
      // The next commit begins with it; until then nothing of the batch can be seen.
    }
  }
}

function faultOf(error: unknown): Verdict {
  return { state: 'fault', kind: isFull(error) ? 'full' : 'failed', words: error instanceof Error ? error.message : String(error) }
}
