import type { AgentEvent } from '../agents/port'
import type { Draft } from '../contract/events'
import { boundTool } from './bound'
import type { Ledger } from './ledger'
import type { LiveRow, LiveRows } from './live-rows'

type Started = Extract<AgentEvent, { type: 'tool.started' }>
type Changed = Extract<AgentEvent, { type: 'tool.changed' }>
type Closed = Extract<AgentEvent, { type: 'tool.closed' }>

/** The tools that an agent runs, by its own ids of the calls. */
export class ToolRows {
  #calls = new Map<string, LiveRow>()
  /** Rows of all calls so far: a sub-agent may go on after the call that sent it has ended, and its steps still stand under that one. */
  #rows = new Map<string, string>()

  constructor(private readonly rows: LiveRows, private readonly p: { ledger: Ledger; generation: number }) {}

  /** True while one runs. */
  get any(): boolean {
    return this.#calls.size > 0
  }

  /** The row of a running call. */
  get(call: string | undefined): LiveRow | undefined {
    return call === undefined ? undefined : this.#calls.get(call)
  }

  /** Null for a call that runs already. */
  started(event: Started): Draft | null {
    if (this.#calls.has(event.call)) return null
    const parent = event.parent === undefined ? undefined : this.#rows.get(event.parent)
    const { type: _, parent: __, ...head } = event
    const { row, draft } = this.rows.open({ kind: 'tool', tool: boundTool(head), ...(parent === undefined ? {} : { parent }) })
    this.#calls.set(event.call, row)
    this.#rows.set(event.call, row.id)
    return draft
  }

  changed(event: Changed): void {
    const row = this.#calls.get(event.call)
    if (row) this.p.ledger.change(row.id, this.rows.run, this.p.generation, boundTool(event.change))
  }

  /** None for a call that does not run. */
  closing(event: Closed): Draft[] {
    const row = this.#calls.get(event.call)
    if (!row) return []
    this.#calls.delete(event.call)
    const { type: _, call: __, state, ...more } = event
    return this.rows.closing(row.id, state, { tool: boundTool(more) })
  }

  /** One of the run before still runs. */
  resume(row: LiveRow): void {
    if (row.call !== undefined) this.#calls.set(row.call, row)
  }

  /** A call of an earlier run of the turn: what it sent may still report. */
  recall(call: string, row: string): void {
    this.#rows.set(call, row)
  }
}
