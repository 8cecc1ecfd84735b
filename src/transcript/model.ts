import { batch, createSignal, onCleanup, type Accessor } from 'solid-js'
import { comparePos } from '../../server/contract/ids'
import type { Row } from '../../server/contract/rows'
import type { Turn } from '../../server/contract/session'
import { addTouched, untouched, type Touched } from '../../server/contract/touched'
import type { OpenChat } from '../sync/port'

/** One row as the page follows it: the object is read by signal, growth comes by call, so that a delta never re-renders a row. */
export interface RowCell {
  readonly id: string
  /** Tells of every change but growth of text; its text may be behind. */
  readonly row: Accessor<Row>
  /** As it stands now, with all of its text; not followed. */
  current: () => Row
  /** Called with each piece of text that is added and the length with it. Returns what ends it. */
  onGrow: (listener: Growth) => () => void
}

export type Growth = (text: string, length: number) => void

/** A stretch of a turn: steps that follow each other, or one row that stands for itself. `id` is that of its first row. */
export type Part =
  | { kind: 'steps'; id: string; rows: Accessor<readonly RowCell[]> }
  | { kind: 'prose' | 'notice' | 'steer' | 'divider'; id: string; cell: RowCell }

export interface TurnCell {
  readonly id: string
  readonly turn: Accessor<Turn | undefined>
  readonly question: Accessor<RowCell | undefined>
  readonly parts: Accessor<readonly Part[]>
  /** How many rows it holds. */
  size: () => number
  /** UTF-16 units of what it shows while its steps are folded. */
  length: () => number
}

export interface TranscriptModel {
  /** In display order. */
  turns: Accessor<readonly TurnCell[]>
  /** True while older rows lie before what is held (`from`, spec/log.md §6). */
  partial: Accessor<boolean>
  /** The place of a turn, or -1. */
  indexOf: (turn: string) => number
  /** Takes in what has come at once instead of with the next frame. */
  flush: () => void
}

/** Calls back with the next frame; returns what calls it off. */
export type NextFrame = (run: () => void) => () => void

interface RowState extends RowCell { set: (row: Row) => void; listeners: Set<Growth> }
interface TurnState extends TurnCell { ids: string[]; setTurn: (turn: Turn | undefined) => void; rebuild: () => void; pos: string }

/**
 * The fold's value as signals, one per turn and row. News of a frame is taken in together; what was not touched is not looked at (law 14).
 * Ends with its owner.
 */
export function createTranscriptModel(chat: OpenChat, nextFrame: NextFrame): TranscriptModel {
  const rows = new Map<string, RowState>()
  const states = new Map<string, TurnState>()
  const [turns, setTurns] = createSignal<readonly TurnState[]>([], { equals: false })
  const [partial, setPartial] = createSignal(chat.value().from !== '')
  let pending: Touched | 'all' | null = null
  let callOff: (() => void) | null = null

  const makeRow = (first: Row): RowState => {
    const [row, set] = createSignal(first)
    const listeners = new Set<Growth>()
    const onGrow = (listener: Growth) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
    return { id: first.id, row, current: () => chat.value().rows.get(first.id) ?? row(), set: (next) => void set(next), listeners, onGrow }
  }
  const makeTurn = (id: string, pos: string): TurnState => {
    const [turn, setTurn] = createSignal(chat.value().turns.get(id))
    const [question, setQuestion] = createSignal<RowCell>()
    const [parts, setParts] = createSignal<readonly Part[]>([])
    const stretches = new Map<string, { part: Part; set?: (rows: readonly RowCell[]) => void }>()
    const ids: string[] = []
    const rebuild = () => {
      setQuestion(rows.get(ids.find((row) => rows.get(row)?.row().kind === 'user') ?? ''))
      const next = stretch(ids.map((row) => rows.get(row)).filter((row) => row !== undefined))
      const kept = new Set(next.map((part) => part.id))
      for (const old of stretches.keys()) if (!kept.has(old)) stretches.delete(old)
      setParts(next.map((found) => {
        const known = stretches.get(found.id)
        if (known && known.part.kind === found.kind && found.kind === 'steps') {
          known.set!(found.cells)
          return known.part
        }
        if (known && known.part.kind === found.kind) return known.part
        if (found.kind === 'steps') {
          const [cells, set] = createSignal<readonly RowCell[]>(found.cells, { equals: sameItems })
          const part: Part = { kind: 'steps', id: found.id, rows: cells }
          stretches.set(found.id, { part, set })
          return part
        }
        const part: Part = { kind: found.kind, id: found.id, cell: found.cells[0]! }
        stretches.set(found.id, { part })
        return part
      }))
    }
    return { id, pos, turn, setTurn: (next) => void setTurn(next), question, parts, ids, size: () => ids.length, length: () => ids.reduce((sum, row) => sum + shownLength(rows.get(row)?.current()), 0), rebuild }
  }
  const turnOf = (row: Row): TurnState => {
    let state = states.get(row.turn)
    if (!state) {
      state = makeTurn(row.turn, chat.value().turns.get(row.turn)?.pos ?? row.pos)
      states.set(row.turn, state)
      order = true
    }
    return state
  }
  let order = false

  const takeRow = (row: Row, dirty: Set<TurnState>) => {
    const known = rows.get(row.id)
    if (known) {
      known.set(row)
      return
    }
    rows.set(row.id, makeRow(row))
    const state = turnOf(row)
    let at = state.ids.length
    while (at > 0 && comparePos(rows.get(state.ids[at - 1]!)!.row().pos, row.pos) > 0) at--
    state.ids.splice(at, 0, row.id)
    dirty.add(state)
  }
  const dropRow = (id: string, dirty: Set<TurnState>) => {
    const known = rows.get(id)
    if (!known) return
    rows.delete(id)
    const state = states.get(known.row().turn)
    if (!state) return
    state.ids.splice(state.ids.indexOf(id), 1)
    dirty.add(state)
  }
  const settle = (dirty: Set<TurnState>) => {
    for (const state of dirty) {
      if (state.ids.length === 0) {
        states.delete(state.id)
        order = true
      } else state.rebuild()
    }
    if (order) {
      order = false
      setTurns([...states.values()].sort((a, b) => comparePos(a.pos, b.pos)))
    }
  }
  const takeAll = () => {
    const value = chat.value()
    setPartial(value.from !== '')
    const dirty = new Set<TurnState>()
    for (const id of rows.keys()) if (!value.rows.has(id)) dropRow(id, dirty)
    for (const id of value.order) takeRow(value.rows.get(id)!, dirty)
    for (const state of states.values()) {
      const turn = value.turns.get(state.id)
      if (turn && turn.pos !== state.pos) {
        state.pos = turn.pos
        order = true
      }
      state.setTurn(turn)
    }
    settle(dirty)
  }
  const takeTouched = (touched: Touched) => {
    const value = chat.value()
    const dirty = new Set<TurnState>()
    for (const id of touched.removed) dropRow(id, dirty)
    for (const id of touched.rows) {
      const row = value.rows.get(id)
      if (row) takeRow(row, dirty)
    }
    for (const id of touched.turns) states.get(id)?.setTurn(value.turns.get(id))
    for (const [id, text] of touched.grew) for (const listener of rows.get(id)?.listeners ?? []) listener(text, value.rows.get(id)?.text.length ?? 0)
    settle(dirty)
  }
  const flush = () => {
    callOff?.()
    callOff = null
    const news = pending
    pending = null
    if (news) batch(() => (news === 'all' ? takeAll() : takeTouched(news)))
  }
  const later = () => {
    callOff ??= nextFrame(flush)
  }
  const stop = chat.subscribe((news) => {
    if (news.type === 'state') return
    if (news.type === 'value') pending = 'all'
    else if (pending !== 'all') {
      pending ??= untouched()
      addTouched(pending, news.touched)
    }
    later()
  })
  onCleanup(() => {
    stop()
    callOff?.()
  })
  batch(takeAll)
  return { turns, partial, indexOf: (turn) => turns().findIndex((state) => state.id === turn), flush }
}

function shownLength(row: Row | undefined): number {
  return row && (row.kind === 'user' || row.kind === 'answer') ? row.text.length : 0
}

interface Stretch { kind: Part['kind']; id: string; cells: RowState[] }

function stretch(cells: readonly RowState[]): Stretch[] {
  const found: Stretch[] = []
  /** In which stretch a row stands: a step of a sub-agent stays with the step that sent it, also when words came in between. */
  const places = new Map<string, Stretch>()
  for (const cell of cells) {
    const { kind, parent } = cell.row()
    if (kind === 'user') continue
    const home = parent === undefined ? undefined : places.get(parent)
    if (home) {
      home.cells.push(cell)
      places.set(cell.id, home)
      continue
    }
    const last = found.at(-1)
    if (kind === 'answer' || kind === 'notice' || kind === 'steer' || kind === 'divider') found.push({ kind: kind === 'answer' ? 'prose' : kind, id: cell.id, cells: [cell] })
    else if (last?.kind === 'steps') last.cells.push(cell)
    else found.push({ kind: 'steps', id: cell.id, cells: [cell] })
    if (found.at(-1)!.kind === 'steps') places.set(cell.id, found.at(-1)!)
  }
  return found
}

function sameItems(a: readonly RowCell[], b: readonly RowCell[]): boolean {
  return a.length === b.length && a.every((cell, i) => cell === b[i])
}
