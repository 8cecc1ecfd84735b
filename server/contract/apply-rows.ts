import type { EventOf } from './events'
import { insertRow, removeRows } from './order'
import { present } from './present'
import type { Row, RowBase, SteerRow, ToolHead } from './rows'
import type { Transcript } from './session'
import type { Touched } from './touched'

/**
 * Effects of row events on the value. Each answers false when the event does not fit what is held, and has then changed nothing:
 * the reader has missed something. A part that is newer than the event (`seq`) is left as it is.
 */

export function openRow(value: Transcript, event: EventOf<'row.opened'>, touched: Touched): boolean {
  if (value.rows.has(event.row)) return event.seq <= value.rows.get(event.row)!.seq
  if (event.pos < value.from) return outside(value, event.seq)
  if (!value.turns.has(event.turn)) return false
  insertRow(value, rowOf(event))
  touched.rows.add(event.row)
  return true
}

function rowOf(event: EventOf<'row.opened'>): Row {
  const base: RowBase = present({
    id: event.row, n: event.n, turn: event.turn, run: event.run, parent: event.parent, pos: event.pos, seq: event.seq, at: event.at,
    state: event.state ?? (event.kind === 'notice' || event.kind === 'divider' ? 'done' : 'live'), text: event.text ?? '',
  } as RowBase)
  if (event.kind === 'tool') return { ...base, kind: 'tool', tool: present(event.tool) }
  if (event.kind === 'notice') return { ...base, kind: 'notice', notice: present(event.notice) }
  if (event.kind === 'divider') return { ...base, kind: 'divider', divider: present(event.divider) }
  if (event.kind === 'plan') return { ...base, kind: 'plan', plan: event.plan.map((entry) => present(entry)), plannedAt: event.at }
  // Its id comes with `steer.accepted`, which stands in the same append.
  if (event.kind === 'steer') return { ...base, kind: 'steer', steer: { id: '', state: 'accepted' } }
  return { ...base, kind: event.kind }
}

/** Text is joined by `+` and only its length is read: an engine keeps the pieces and joins them when somebody reads. */
export function growRow(value: Transcript, event: EventOf<'row.grew'>, touched: Touched): boolean {
  return changeHeld(value, event, (row) => {
    if (row.state !== 'live' || row.text.length !== event.at0) return null
    touched.grew.set(row.id, event.text)
    return { ...row, text: row.text + event.text }
  })
}

export function cutRow(value: Transcript, event: EventOf<'row.cut'>, touched: Touched): boolean {
  return changeHeld(value, event, (row) => {
    if (row.text.length < event.keep) return null
    touched.rows.add(row.id)
    return { ...row, text: row.text.slice(0, event.keep) }
  })
}

export function changeRow(value: Transcript, event: EventOf<'row.changed'>, touched: Touched): boolean {
  return changeHeld(value, event, (row) => {
    if (row.kind !== 'tool') return null
    touched.rows.add(row.id)
    return { ...row, tool: patchedTool(row.tool, event.tool) }
  })
}

export function closeRow(value: Transcript, event: EventOf<'row.closed'>, touched: Touched): boolean {
  return changeHeld(value, event, (row) => {
    if (row.state !== 'live') return null
    touched.rows.add(row.id)
    const closed = { ...row, state: event.state, duration: event.duration }
    return closed.kind === 'tool' && event.tool ? { ...closed, tool: patchedTool(closed.tool, event.tool) } : closed
  })
}

export function replacePlan(value: Transcript, event: EventOf<'plan.replaced'>, touched: Touched): boolean {
  return changeHeld(value, event, (row) => {
    if (row.kind !== 'plan') return null
    touched.rows.add(row.id)
    return { ...row, plan: event.plan.map((entry) => present(entry)), plannedAt: Math.max(row.plannedAt, event.at) }
  })
}

/** A word into a run ends once: as delivered or as given back. What a restart has given back may be with the agent again (`reopenRows`). */
export function changeSteer(value: Transcript, event: EventOf<'steer.accepted' | 'steer.delivered' | 'steer.returned'>, touched: Touched): boolean {
  return changeHeld(value, event, (row) => {
    if (row.kind !== 'steer' || row.steer.state !== 'accepted' || row.steer.id !== (event.type === 'steer.accepted' ? '' : event.steer)) return null
    touched.rows.add(row.id)
    return { ...row, steer: steerAfter(event) }
  })
}

function steerAfter(event: EventOf<'steer.accepted' | 'steer.delivered' | 'steer.returned'>): SteerRow['steer'] {
  if (event.type === 'steer.accepted') return { id: event.steer, state: 'accepted' }
  if (event.type === 'steer.delivered') return { id: event.steer, state: 'delivered', evidence: event.evidence }
  return { id: event.steer, state: 'returned', to: event.to, ...(event.item === undefined ? {} : { item: event.item }) }
}

/** Whether rows that a re-attached run names may be re-opened by it: they are closed and of its turn. What a part does not hold is not for it to judge. */
export function reopenable(value: Transcript, { turn, reopens = [], seq }: EventOf<'run.started'>): boolean {
  return reopens.every((id) => {
    const row = value.rows.get(id)
    if (!row) return value.from !== ''
    if (row.turn !== turn || row.kind === 'user') return false
    return seq <= row.seq || (row.state !== 'live' && (row.kind !== 'steer' || isInDraft(row)))
  })
}

/** A word that was used stays used, and one that waits in the queue is sent from there. */
function isInDraft({ steer }: SteerRow): boolean {
  return steer.state === 'returned' && steer.to === 'draft'
}

/** They are live again and belong to the new run (spec/log.md §3, §9). */
export function reopenRows(value: Transcript, event: EventOf<'run.started'>, touched: Touched): void {
  for (const id of event.reopens ?? []) {
    changeHeld(value, { row: id, seq: event.seq }, ({ duration: _, ...row }) => {
      touched.rows.add(id)
      const live = { ...row, state: 'live', run: event.run } as Row
      return live.kind === 'steer' ? { ...live, steer: { id: live.steer.id, state: 'accepted' } } : live
    })
  }
}

/** Rows leave, and with them the turns that have none left. The head's count is the business of the caller. */
export function retractRows(value: Transcript, event: EventOf<'rows.retracted'>, touched: Touched): void {
  if (event.rows.some((id) => !value.rows.has(id))) outside(value, event.seq)
  removeRows(value, event.rows)
  for (const id of event.turns) value.turns.delete(id)
  for (const id of event.rows) touched.removed.add(id)
  for (const id of event.turns) touched.removed.add(id)
}

/** Something was named that this part does not hold: remembered, because an older window must not be older than that. */
export function outside(value: Transcript, seq: number): true {
  if (value.from !== '') value.missed = seq
  return true
}

/** A new row in place of the held one, unless that is newer than the event. `next` answers null when the event does not fit. */
export function changeHeld(value: Transcript, event: { row: string; seq: number }, next: (row: Row) => Row | null): boolean {
  const row = value.rows.get(event.row)
  if (!row) return value.from !== '' && outside(value, event.seq)
  if (event.seq <= row.seq) return true
  const changed = next(row)
  if (!changed) return false
  changed.seq = event.seq
  value.rows.set(row.id, changed)
  return true
}

/** What a change of a tool row makes of its head. */
export function patchedTool(tool: ToolHead, patch: Partial<ToolHead>): ToolHead {
  return { ...tool, ...present(patch) }
}
