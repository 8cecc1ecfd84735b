import { createMemo, createSignal, untrack, type Accessor } from 'solid-js'
import type { TurnCell } from './model'

/** Rows that stand at once when a chat opens, that are added at a time, and that may stand in all (DESIGN §7). */
export const FIRST_ROWS = 60
export const STEP_ROWS = 30
export const MOST_ROWS = 480

/** Which turns stand in the document: a stretch that ends with the newest one, or with one further up while the reader is far from it. */
export interface TurnWindow {
  shown: Accessor<readonly TurnCell[]>
  /** Turns before the first shown one; they are here but not mounted. */
  before: Accessor<number>
  /** True when the newest turn is shown. */
  atEnd: Accessor<boolean>
  /** Adds a step of older turns; false when none is left. Far ones below leave when there are too many. */
  older: () => boolean
  /** Adds a step of newer turns below; far ones above leave when there are too many. */
  newer: () => boolean
  /** The newest rows again. */
  reset: () => void
  /** Makes sure that a turn is shown; what is between it and the shown ones is shown too, within the limit. */
  include: (turn: string) => boolean
  /** Lets turns at the far head go when there are too many; called while the end is followed. */
  trim: () => void
}

export function createTurnWindow(turns: Accessor<readonly TurnCell[]>): TurnWindow {
  const [first, setFirst] = createSignal<string | null>(null)
  const [last, setLast] = createSignal<string | null>(null)
  const place = (id: string | null) => (id === null ? -1 : turns().findIndex((turn) => turn.id === id))
  const range = createMemo<{ from: number; to: number }>((before) => {
    const all = turns()
    const end = place(last())
    const to = end < 0 ? all.length : end + 1
    const start = place(first())
    const from = start < 0 || start >= to ? back(all, to, FIRST_ROWS) : start
    return before && before.from === from && before.to === to ? before : { from, to }
  })
  // The head of the stretch stays where it is when turns are added at either end.
  const fix = () => {
    const turn = turns()[range().from]
    if (turn && first() === null) setFirst(turn.id)
  }
  const rowsOf = (from: number, to: number) => turns().slice(from, to).reduce((sum, turn) => sum + turn.size(), 0)
  return {
    shown: createMemo(() => {
      const { from, to } = range()
      return turns().slice(from, to)
    }),
    before: () => range().from,
    atEnd: () => range().to >= turns().length,
    older: () => untrack(() => {
      fix()
      const all = turns()
      const { from, to } = range()
      if (from === 0) return false
      const next = back(all, from, STEP_ROWS)
      setFirst(all[next]!.id)
      if (rowsOf(next, to) > MOST_ROWS) {
        let end = to
        while (end > next + 1 && rowsOf(next, end) > MOST_ROWS) end--
        setLast(all[end - 1]!.id)
      }
      return true
    }),
    newer: () => untrack(() => {
      const all = turns()
      const { from, to } = range()
      if (to >= all.length) return false
      let end = to
      for (let rows = 0; end < all.length && rows < STEP_ROWS; end++) rows += all[end]!.size()
      let begin = from
      while (begin < to && rowsOf(begin, end) > MOST_ROWS) begin++
      setFirst(all[begin]!.id)
      setLast(end >= all.length ? null : all[end - 1]!.id)
      return true
    }),
    reset: () => untrack(() => {
      setLast(null)
      setFirst(null)
      fix()
    }),
    include: (turn) => untrack(() => {
      const at = place(turn)
      if (at < 0) return false
      const { from, to } = range()
      if (at >= from && at < to) return true
      const all = turns()
      const begin = back(all, at + 1, FIRST_ROWS / 2)
      let end = at < from && rowsOf(begin, to) <= MOST_ROWS ? to : at + 1
      for (let rows = 0; end < all.length && rows < FIRST_ROWS; end++) rows += all[end]!.size()
      setFirst(all[begin]!.id)
      setLast(end >= all.length ? null : all[end - 1]!.id)
      return true
    }),
    trim: () => untrack(() => {
      fix()
      const all = turns()
      const { from, to } = range()
      if (rowsOf(from, to) <= MOST_ROWS) return
      setFirst(all[back(all, to, Math.floor(MOST_ROWS * 0.75))]!.id)
    }),
  }
}

/** The place from which at least `rows` rows stand before `to`. */
function back(turns: readonly TurnCell[], to: number, rows: number): number {
  let from = to
  for (let held = 0; from > 0 && held < rows; from--) held += turns[from - 1]!.size()
  return from
}
