import type { ApprovalState } from './approvals'
import type { EventOf } from './events'
import { insertRow, removeRows } from './order'
import { present } from './present'
import type { QuestionRow, Row, RowBase, ToolHead, ToolRow } from './rows'
import type { Transcript } from './session'
import type { Touched } from './touched'

/**
 * Effects of row events on the value. Each answers false when the event does not fit what is held, and has then changed nothing:
 * the reader has missed something. A part that is newer than the event (`seq`) is left as it is.
 */
type RowEvent = EventOf<'row.grew' | 'row.cut' | 'row.changed' | 'row.closed' | 'approval.raised' | 'approval.decided' | 'approval.retired'>

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
    state: event.state ?? (event.kind === 'notice' ? 'done' : 'live'), text: event.text ?? '',
  } as RowBase)
  if (event.kind === 'tool') return { ...base, kind: 'tool', tool: present(event.tool) }
  if (event.kind === 'notice') return { ...base, kind: 'notice', notice: present(event.notice) }
  return { ...base, kind: event.kind }
}

/** Text is joined by `+` and only its length is read: an engine keeps the pieces and joins them when somebody reads. */
export function growRow(value: Transcript, event: EventOf<'row.grew'>, touched: Touched): boolean {
  return change(value, event, (row) => {
    if (row.state !== 'live' || row.text.length !== event.at0) return null
    touched.grew.set(row.id, event.text)
    return { ...row, text: row.text + event.text }
  })
}

export function cutRow(value: Transcript, event: EventOf<'row.cut'>, touched: Touched): boolean {
  return change(value, event, (row) => {
    if (row.text.length < event.keep) return null
    touched.rows.add(row.id)
    return { ...row, text: row.text.slice(0, event.keep) }
  })
}

export function changeRow(value: Transcript, event: EventOf<'row.changed'>, touched: Touched): boolean {
  return change(value, event, (row) => {
    if (row.kind !== 'tool') return null
    touched.rows.add(row.id)
    return { ...row, tool: patchedTool(row.tool, event.tool) }
  })
}

export function closeRow(value: Transcript, event: EventOf<'row.closed'>, touched: Touched): boolean {
  return change(value, event, (row) => {
    if (row.state !== 'live') return null
    touched.rows.add(row.id)
    const closed = { ...row, state: event.state, duration: event.duration }
    return closed.kind === 'tool' && event.tool ? { ...closed, tool: patchedTool(closed.tool, event.tool) } : closed
  })
}

export function raiseApproval(value: Transcript, event: EventOf<'approval.raised'>, touched: Touched): boolean {
  return change(value, event, (row) => {
    if (!asks(row) || row.state !== 'live' || row.approval?.state === 'open') return null
    touched.rows.add(row.id)
    return { ...row, approval: { ...present(event.request), state: 'open', id: event.approval, row: row.id, run: event.run, raisedAt: event.at } }
  })
}

/** An answer that did not reach the agent is retired after it was decided (spec/log.md §9); nothing follows a retirement. */
export function endApproval(value: Transcript, event: EventOf<'approval.decided'> | EventOf<'approval.retired'>, touched: Touched): boolean {
  return change(value, event, (row) => {
    if (!asks(row) || row.approval?.id !== event.approval || row.approval.state === 'retired') return null
    if (event.type === 'approval.decided' && row.approval.state !== 'open') return null
    touched.rows.add(row.id)
    const end: ApprovalState =
      event.type === 'approval.decided'
        ? { state: 'decided', choice: event.choice, kind: event.kind, by: event.by, decidedAt: event.at }
        : { state: 'retired', why: event.why }
    return { ...row, approval: { ...row.approval, ...end } }
  })
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

function change(value: Transcript, event: RowEvent, next: (row: Row) => Row | null): boolean {
  const row = value.rows.get(event.row)
  if (!row) return value.from !== '' && outside(value, event.seq)
  if (event.seq <= row.seq) return true
  const changed = next(row)
  if (!changed) return false
  changed.seq = event.seq
  value.rows.set(row.id, changed)
  return true
}

function asks(row: Row): row is ToolRow | QuestionRow {
  return row.kind === 'tool' || row.kind === 'question'
}

/** What a change of a tool row makes of its head. */
export function patchedTool(tool: ToolHead, patch: Partial<ToolHead>): ToolHead {
  return { ...tool, ...present(patch) }
}
