import { EMPTY_QUEUE } from '../../server/contract/queue'
import type { Row } from '../../server/contract/rows'
import type { Transcript, Turn } from '../../server/contract/session'
import { PAGE_ROWS, type PageRecord } from '../cache/schema'
import type { ChatSave } from '../cache/port'

/** A page record stays small enough to be read within a frame or two: beyond this many characters it holds fewer rows. */
const PAGE_WEIGHT = 200_000
const PAGE_LEAST = 8

/** What a page record shows: the end of a chat. The copy may know more of what lies before. */
export function transcriptOf(record: PageRecord): Transcript {
  const { rows, turns } = record
  return {
    session: record.head, deleted: false, turns: new Map(turns.map((turn) => [turn.id, turn])), rows: new Map(rows.map((row) => [row.id, row])),
    order: rows.map((row) => row.id), queue: record.queue ?? EMPTY_QUEUE, seq: record.seq, from: record.rowsFrom, missed: record.seq,
  }
}

/** The part of a transcript that a page record holds. */
export function lastOf(value: Transcript): Pick<ChatSave, 'last' | 'lastFrom' | 'lastTurns'> {
  let first = value.order.length
  let weight = 0
  while (first > 0 && value.order.length - first < PAGE_ROWS) {
    const row = value.rows.get(value.order[first - 1]!)!
    weight += weightOf(row)
    if (weight > PAGE_WEIGHT && value.order.length - first >= PAGE_LEAST) break
    first -= 1
  }
  const last = value.order.slice(first).map((id) => value.rows.get(id)!)
  const ids = new Set(last.map((row) => row.turn))
  // The newest turn may have lost its rows to another attempt, and new ones will come.
  let newest: Turn | null = null
  for (const turn of value.turns.values()) if (!newest || turn.pos > newest.pos) newest = turn
  if (newest) ids.add(newest.id)
  const lastTurns = [...ids].flatMap((id) => value.turns.get(id) ?? [])
  return { last, lastFrom: first === 0 ? value.from : last[0]!.pos, lastTurns }
}

function weightOf(row: Row): number {
  const tool = row.kind === 'tool' ? (row.tool.output?.length ?? 0) + (row.tool.result?.length ?? 0) + (row.tool.diff?.length ?? 0) : 0
  return 500 + row.text.length + tool
}
