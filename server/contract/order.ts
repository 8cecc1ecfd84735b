import type { Row } from './rows'
import type { Transcript } from './session'

/** Display order: `pos` by code unit. Ids only break a tie that a sound log never has, so that every reader breaks it alike. */
export function compareRows(a: Row, b: Row): number {
  if (a.pos !== b.pos) return a.pos < b.pos ? -1 : 1
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

/** Takes a row that is not held yet into the rows and their order: at once at the end, else by binary search. */
export function insertRow(value: Transcript, row: Row): void {
  const last = value.order[value.order.length - 1]
  if (last === undefined || compareRows(value.rows.get(last)!, row) < 0) value.order.push(row.id)
  else value.order.splice(placeOf(value, row), 0, row.id)
  value.rows.set(row.id, row)
}

/** Takes rows out; costs what lies behind the first of them, so removing the end of a transcript costs only what is removed. */
export function removeRows(value: Transcript, ids: Iterable<string>): void {
  const leaving = new Set<string>()
  let first = value.order.length
  for (const id of ids) {
    const row = value.rows.get(id)
    if (!row) continue
    leaving.add(id)
    first = Math.min(first, placeOf(value, row))
  }
  let kept = first
  for (let i = first; i < value.order.length; i++) {
    const id = value.order[i]!
    if (!leaving.has(id)) value.order[kept++] = id
  }
  value.order.length = kept
  for (const id of leaving) value.rows.delete(id)
}

/** Index of the first row in order that does not stand before `row`. */
function placeOf(value: Transcript, row: Row): number {
  let low = 0
  let high = value.order.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareRows(value.rows.get(value.order[middle]!)!, row) < 0) low = middle + 1
    else high = middle
  }
  return low
}
