import fc from 'fast-check'
import type { Event } from '../../server/contract/events'
import type { ImportBatch } from '../../server/contract/fold'
import { posBehind } from '../../server/contract/ids'
import type { Row } from '../../server/contract/rows'
import type { Turn } from '../../server/contract/session'
import type { Append, ForeignRow } from '../../server/store/port'
import { arbitraryHistory, type History } from './history'

/** A history in which another program wrote too: `batchOf` is the second input of the fold, by the `seq` of the import. */
export interface ImportedHistory extends History { batchOf: (seq: number) => ImportBatch | undefined }

/** What happens at a place where no run is live; `a` and `b` choose. */
interface Choice { what: 'nothing' | 'import' | 'retract'; a: number; b: number }
const CHOICE: fc.Arbitrary<Choice> = fc.record({ what: fc.constantFrom('nothing', 'nothing', 'import', 'import', 'retract'), a: fc.nat(63), b: fc.nat(63) })

/** Histories as `arbitraryHistory` makes them, with imports of one to four rows and retractions of them between their turns. */
export function importedHistory(options: Parameters<typeof arbitraryHistory>[0] = {}): fc.Arbitrary<ImportedHistory> {
  return fc.tuple(arbitraryHistory(options), fc.array(CHOICE, { minLength: 1, maxLength: 8 })).map(([history, choices]) => withImports(history, choices)).filter(isInOrder)
}

/**
 * No row stands behind a later turn than its own: rows are imported right before a turn's question, and only the last turn goes on. A history may take the turn
 * behind an import back and go on with the one before it, which no server does.
 */
function isInOrder({ appends }: ImportedHistory): boolean {
  const begins = new Map<string, string>()
  for (const { events, imported } of appends) {
    for (const turn of imported?.turns ?? []) begins.set(turn.id, turn.pos)
    for (const event of events) {
      if (event.type === 'turn.admitted') begins.set(event.turn, event.pos)
      if (event.type === 'rows.retracted') for (const turn of event.turns) begins.delete(turn)
      if (event.type !== 'run.started') continue
      const own = begins.get(event.turn) ?? ''
      for (const pos of begins.values()) if (pos > own) return false
    }
  }
  return true
}

interface Standing { row: string; kind: Row['kind']; turn: string }

function withImports({ session, appends }: History, choices: readonly Choice[]): ImportedHistory {
  const batches = new Map<number, ImportBatch>()
  const woven: Append[] = []
  let seq = 0
  let live = false
  // Before every place that a history gives.
  let behind = '0'
  let ids = 0
  let places = 0
  const standing: Standing[] = []
  const push = (append: Append): void => {
    const events = append.events.map((event) => ({ ...event, seq: ++seq }))
    woven.push({ ...append, expectSeq: events[0]!.seq, events })
  }
  appends.forEach((append, i) => {
    push(append)
    for (const event of append.events) {
      if (event.type === 'run.started') live = true
      if (event.type === 'run.settled') live = false
      if ('pos' in event && event.pos > behind) {
        behind = event.pos
        places = 0
      }
    }
    const ended = append.events.at(-1)!.type
    // A turn that goes on later would stand before what comes here.
    if (live || ended === 'session.deleted' || goesOn(appends.slice(i + 1))) return
    const { what, a, b } = choices[i % choices.length]!
    const at = 1_700_000_000_000 + a * 1000
    if (what === 'retract' && standing.length > 0) {
      const gone = standing.splice(a % standing.length)
      const turns = [...new Set(gone.map(({ turn }) => turn))].filter((turn) => standing.every((one) => one.turn !== turn))
      push({ session, expectSeq: 0, urgency: 'now', events: [{ type: 'rows.retracted', session, seq: 0, at, rows: gone.map(({ row }) => row), turns, why: 'edit', counted: gone.filter(({ kind }) => kind !== 'thought').length }] })
    } else if (what === 'import') {
      const count = 1 + (a % 4)
      const all = posBehind(behind, places + count)
      const batch = batchFrom(session, seq + 1, at, all.slice(places), ids)
      places += count
      ids += count
      // What was half is replaced by what is whole.
      const half = b % 3 === 0 ? standing.findLast(({ kind }) => kind === 'answer') : undefined
      if (half) standing.splice(standing.indexOf(half), 1)
      const counted = batch.rows.filter(({ kind }) => kind !== 'thought')
      const event: Event = {
        type: 'rows.imported', session, seq: 0, at, source: 'hermes', turns: batch.turns.length, rows: batch.rows.length, first: batch.rows[0]!.pos, last: batch.rows.at(-1)!.pos,
        replaced: half ? [half.row] : [], counted: counted.length - (half ? 1 : 0), lastAt: at,
      }
      const foreign = batch.rows.map((row): ForeignRow => ({ store: 'theirs', session: 'one', row: `${session} ${row.n}`, ours: b % 5 ? row.id : null }))
      push({ session, expectSeq: 0, urgency: 'now', events: [event], imported: batch, foreign })
      batches.set(seq, batch)
      for (const row of batch.rows) standing.push({ row: row.id, kind: row.kind, turn: row.turn })
    }
  })
  return { session, appends: woven, batchOf: (at) => batches.get(at) }
}

/** Whether an earlier turn goes on before the next one is admitted. */
function goesOn(rest: readonly Append[]): boolean {
  const next = rest.flatMap(({ events }) => events).find(({ type }) => type === 'run.started')
  return next?.type === 'run.started' && next.cause !== 'sent'
}

/** One turn of a user row, a thought and answers. */
function batchFrom(session: string, seq: number, at: number, places: readonly string[], ids: number): ImportBatch {
  const id = `trn_${session}_theirs_${ids}`
  const rows = places.map((pos, i): Row => {
    const base = { id: `row_${session}_theirs_${ids + i}`, n: 1_000_000 + ids + i, turn: id, pos, seq, at, state: 'done' as const, text: `said elsewhere ${ids + i}` }
    if (i === 0) return { ...base, kind: 'user', source: 'person' }
    return i === 1 ? { ...base, kind: 'thought' } : { ...base, kind: 'answer' }
  })
  const turn: Turn = { id, row: rows[0]!.id, pos: places[0]!, source: 'person', admittedAt: at, runs: [], seq }
  return { turns: [turn], rows }
}
