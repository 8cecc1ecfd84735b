import type { PlanEntry } from '../contract/rows'
import { boundPlan } from './bound'
import type { LiveRow, LiveRows } from './live-rows'

/** The agent's plan: one row a run, replaced in place. An empty plan is a plan: it says that nothing is left. */
export class PlanRow {
  #row: LiveRow | null = null

  constructor(private readonly rows: LiveRows) {}

  replace(entries: readonly PlanEntry[]): void {
    const plan = boundPlan(entries)
    if (this.#row) return this.rows.push([{ type: 'plan.replaced', row: this.#row.id, run: this.rows.run, plan }], 'soon')
    const { row, draft } = this.rows.open({ kind: 'plan', plan })
    this.#row = row
    this.rows.push([draft])
  }

  /** The plan of the run before goes on. */
  resume(row: LiveRow): void {
    this.#row = row
  }
}
