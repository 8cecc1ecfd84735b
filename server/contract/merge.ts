import { compareRows, insertRow, removeRows } from './order'
import { EMPTY_QUEUE } from './queue'
import type { Row } from './rows'
import type { Transcript, Turn } from './session'
import { untouched, type Touched } from './touched'
import type { Changes } from './wire'

/** `old`: nothing in it is new. `stale`: it was read before something this reader already knows of, or for another `from`: ask again. */
export type Merged = { state: 'applied'; touched: Touched } | { state: 'old' } | { state: 'stale' }

/**
 * Merges an answer of `changes` into the value (spec/log.md §1, §6); its maps and `order` may be new objects afterwards. Each part is taken
 * only if its `seq` is higher than what is held.
 * - `window`: the newest rows, or any answer with `reset`. It replaces what was held; ids that it does not name have left.
 * - `older`: the rows before the reader's `from`, asked with `before=from`. The value keeps its `seq`: a part that is newer than that
 *   lets the events pass that it already holds.
 * - `after`: what changed since the reader's cursor.
 */
export function merge(value: Transcript, changes: Changes, kind: 'window' | 'older' | 'after'): Merged {
  if (kind === 'window' || changes.reset) return replace(value, changes)
  if (value.deleted) return { state: 'old' }
  return kind === 'older' ? takeOlder(value, changes) : takeAfter(value, changes)
}

function replace(value: Transcript, changes: Changes): Merged {
  const reset = changes.reset === true || value.session?.id !== changes.session.id
  if (!reset && changes.seq < value.seq) return { state: 'stale' }
  const touched = untouched()
  const rows = new Map(changes.rows.map((row) => [row.id, row]))
  const turns = new Map(changes.turns.map((turn) => [turn.id, turn]))
  for (const id of value.rows.keys()) if (!rows.has(id)) touched.removed.add(id)
  for (const id of value.turns.keys()) if (!turns.has(id)) touched.removed.add(id)
  for (const row of changes.rows) if (reset || value.rows.get(row.id)?.seq !== row.seq) touched.rows.add(row.id)
  for (const turn of changes.turns) if (reset || value.turns.get(turn.id)?.seq !== turn.seq) touched.turns.add(turn.id)
  const queue = changes.queue ?? EMPTY_QUEUE
  touched.head = reset || value.session?.seq !== changes.session.seq
  touched.queue = reset ? value.queue.items.length + queue.items.length > 0 : value.queue.seq !== queue.seq
  value.session = changes.session
  value.deleted = false
  value.turns = turns
  value.rows = rows
  value.order = [...rows.values()].sort(compareRows).map((row) => row.id)
  value.queue = queue
  value.seq = changes.seq
  value.from = changes.from
  delete value.missed
  return { state: 'applied', touched }
}

function takeOlder(value: Transcript, changes: Changes): Merged {
  if (changes.from >= value.from) return { state: 'old' }
  if (changes.seq < (value.missed ?? 0)) return { state: 'stale' }
  const touched = untouched()
  takeHead(value, changes, touched)
  for (const turn of changes.turns) takeTurn(value, turn, touched)
  const fresh: Row[] = []
  for (const row of changes.rows) if (!value.rows.has(row.id) && row.pos < value.from) fresh.push(row)
  fresh.sort(compareRows)
  for (const row of fresh) {
    value.rows.set(row.id, row)
    touched.rows.add(row.id)
  }
  value.order = [...fresh.map((row) => row.id), ...value.order]
  value.from = changes.from
  return { state: 'applied', touched }
}

function takeAfter(value: Transcript, changes: Changes): Merged {
  if (changes.seq < value.seq) return { state: 'old' }
  // The answer leaves out rows before its `from`; if the reader has grown backwards since it asked, it would miss their changes.
  if (changes.from > value.from) return { state: 'stale' }
  const touched = untouched()
  takeHead(value, changes, touched)
  removeRows(value, changes.retracted)
  for (const id of changes.retracted) {
    value.turns.delete(id)
    touched.removed.add(id)
  }
  for (const turn of changes.turns) takeTurn(value, turn, touched)
  for (const row of changes.rows) takeRow(value, row, touched)
  if (changes.seq > value.seq && value.from !== '') value.missed = changes.seq
  value.seq = changes.seq
  return { state: 'applied', touched }
}

/** The head and the queue: what every answer may bring, whichever rows it holds. */
function takeHead(value: Transcript, changes: Changes, touched: Touched): void {
  if (changes.queue && changes.queue.seq > value.queue.seq) {
    value.queue = changes.queue
    touched.queue = true
  }
  if (value.session && value.session.seq >= changes.session.seq) return
  value.session = changes.session
  touched.head = true
}

function takeTurn(value: Transcript, turn: Turn, touched: Touched): void {
  const held = value.turns.get(turn.id)
  if (held && held.seq >= turn.seq) return
  value.turns.set(turn.id, turn)
  touched.turns.add(turn.id)
}

function takeRow(value: Transcript, row: Row, touched: Touched): void {
  const held = value.rows.get(row.id)
  if (row.pos < value.from || (held && held.seq >= row.seq)) return
  if (held) value.rows.set(row.id, row)
  else insertRow(value, row)
  touched.rows.add(row.id)
}
