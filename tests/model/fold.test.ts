import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Event } from '../../server/contract/events'
import { addTouched, apply, emptyTranscript, fold, merge, untouched, type ImportBatch, type Touched } from '../../server/contract/fold'
import { entryOf } from '../../server/contract/listing'
import type { Transcript } from '../../server/contract/session'
import { importedHistory, type ImportedHistory } from '../support/imports'
import { checkInvariants } from '../support/invariants'
import { LogChecker } from '../support/log-checker'
import { commitEntry, emptyDisk } from '../support/model-disk'
import { ModelStore } from '../support/model-store'

const HISTORIES = 10_000

/** Runs a law over generated histories; a failure names the seed, and a good run prints it. */
async function law(name: string, histories: number, arbitrary: fc.Arbitrary<unknown>[], check: (...values: never[]) => void | Promise<void>): Promise<void> {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  console.log(`fold law "${name}": ${histories} histories, seed ${seed}`)
  const property = fc.asyncProperty(fc.tuple(...arbitrary), async (values) => check(...(values as never[])))
  await fc.assert(property, { numRuns: histories, seed })
}

function eventsOf(history: ImportedHistory): Event[] {
  return history.appends.flatMap((append) => append.events)
}

function same(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect({ what, value: actual }).toEqual({ what, value: expected })
}

/** What a part must hold of the whole: all from its `from` on, and no turn that does not stand. */
function samePart(part: Transcript, whole: Transcript, what: string): void {
  const ids = whole.order.filter((id) => whole.rows.get(id)!.pos >= part.from)
  same(part.order, ids, `${what}: order`)
  for (const id of ids) same(part.rows.get(id), whole.rows.get(id), `${what}: row ${id}`)
  for (const id of ids) {
    const turn = whole.rows.get(id)!.turn
    same(part.turns.get(turn), whole.turns.get(turn), `${what}: turn ${turn}`)
  }
  for (const id of part.turns.keys()) same(part.turns.get(id), whole.turns.get(id), `${what}: held turn ${id}`)
  same([part.session, part.deleted, part.seq, part.queue], [whole.session, whole.deleted, whole.seq, whole.queue], `${what}: head and queue`)
}

describe('the fold', () => {
  test('is the same for any split into live and replay, and twice applied events change nothing', async () => {
    await law('split and duplicates', HISTORIES, [importedHistory(), fc.nat(), fc.nat()], (history: ImportedHistory, k: number, back: number) => {
      const events = eventsOf(history)
      const { batchOf } = history
      const whole = fold(emptyTranscript(), events, batchOf)
      const cut = k % (events.length + 1)
      same(fold(fold(emptyTranscript(), events.slice(0, cut), batchOf), events.slice(cut), batchOf), whole, 'split')
      const again = events.slice(Math.max(0, cut - (back % 7)), cut)
      const value = fold(emptyTranscript(), events.slice(0, cut), batchOf)
      const before = fold(value, [])
      for (const event of again) if (apply(value, event, history.batchOf(event.seq)).state !== 'old') throw new Error(`event ${event.seq} was taken twice`)
      same(value, before, 'duplicates')
      same(fold(value, [...again, ...events.slice(cut)], batchOf), whole, 'replay that overlaps')
      same(fold(emptyTranscript(), JSON.parse(JSON.stringify(events)) as Event[], batchOf), whole, 'events that were on the wire')
    })
  })

  test('reports a gap, applies nothing of it, and never mutates an object that it gave out', async () => {
    await law('gap', HISTORIES, [importedHistory(), fc.nat()], (history: ImportedHistory, k: number) => {
      const events = eventsOf(history)
      const { batchOf } = history
      const cut = k % events.length
      const value = fold(emptyTranscript(), events.slice(0, cut), batchOf)
      const held = structuredClone(value)
      const objects = [value.session, ...value.rows.values(), ...value.turns.values()]
      const copies = structuredClone(objects)
      for (const event of events.slice(cut + 1, cut + 4)) if (apply(value, event, history.batchOf(event.seq)).state !== 'gap') throw new Error(`event ${event.seq} was taken before the one it follows`)
      same(value, held, 'after a gap')
      for (const event of events.slice(cut)) apply(value, event, history.batchOf(event.seq))
      same(objects, copies, 'objects given out')
    })
  })

  test('names in touched exactly what it changed', async () => {
    await law('touched', HISTORIES, [importedHistory()], (history: ImportedHistory) => {
      const value = emptyTranscript()
      for (const append of history.appends) {
        const before = fold(value, [])
        const batch = untouched()
        for (const event of append.events) {
          const at = fold(value, [])
          const applied = apply(value, event, history.batchOf(event.seq))
          if (applied.state !== 'applied') throw new Error(`${event.type} did not apply`)
          sameTouched(applied.touched, at, value)
          same(applied.touched.queue, at.queue !== value.queue, 'queue')
          addTouched(batch, applied.touched)
        }
        sameTouched(batch, before, value)
      }
    })
  })
})

describe('catch-up through a store', () => {
  test('from every cursor, and then live, is the fold', async () => {
    await law('catch-up', HISTORIES, [importedHistory(), fc.nat(), fc.integer({ min: 1, max: 12 })], async (history: ImportedHistory, k: number, limit: number) => {
      const store = new ModelStore()
      const wholes: Transcript[] = []
      const at = k % history.appends.length
      const { session } = history
      for (let i = 0; i < history.appends.length; i++) {
        commitEntry(store.disk, history.appends[i]!)
        wholes.push(fold(store.disk.sessions.get(session)!.value, []))
        if (i !== at) continue
        // Every earlier state, brought up to here by one answer.
        for (let cursor = 1; cursor <= i + 1; cursor++) {
          const value = fold(wholes[cursor - 1]!, [])
          const changes = await store.changes(session, { after: String(cursor), from: '', limit: 5 })
          if (changes === null) continue
          merge(value, changes, 'after')
          same(value, wholes[i]!, `catch-up from ${cursor}`)
        }
        await partial(store, history, i, limit, wholes[i]!)
      }
      same(wholes[wholes.length - 1], fold(emptyTranscript(), eventsOf(history), history.batchOf), 'the store')
    })
  })

  /** Readers that hold a part: a window now, older ones later, live events and catch-up between. */
  async function partial(store: ModelStore, history: ImportedHistory, at: number, limit: number, here: Transcript): Promise<void> {
    const { session } = history
    const window = await store.window(session, { limit })
    if (!window) return
    const part = emptyTranscript()
    merge(part, window, 'window')
    samePart(part, here, 'window')
    // An older window is read now and arrives later, when the reader has applied more.
    const older = await store.window(session, { limit, before: part.from })
    const rest = history.appends.slice(at + 1).flatMap((append) => append.events)
    const some = Math.min(rest.length, limit)
    for (const event of rest.slice(0, some)) if (apply(part, event, history.batchOf(event.seq)).state === 'gap') return mayCatchUp(part, event)
    if (part.deleted) return
    const merged = part.from === '' ? 'complete' : merge(part, older!, 'older').state
    if (merged === 'stale') expect(part.missed).toBeGreaterThan(older!.seq)
    for (const event of rest.slice(some)) if (apply(part, event, history.batchOf(event.seq)).state === 'gap') return mayCatchUp(part, event)
    samePart(part, fold(here, rest, history.batchOf), 'window, live, older, live')
  }

  /** Why a part may have to catch up in a history without holes: it ends before the turn that goes on, or its beginning is newer than its end. */
  function mayCatchUp(part: Transcript, event: Event): void {
    if (part.from !== '') expect(event.type === 'run.started' && !part.turns.has(event.turn)).toBe(true)
  }

  test('a window that is newer than the reader lets later events pass that it already holds', async () => {
    await law('newer window', HISTORIES, [importedHistory({ deletable: false }), fc.nat(), fc.integer({ min: 1, max: 8 })], async (history: ImportedHistory, k: number, limit: number) => {
      const store = new ModelStore()
      const { session, appends } = history
      const early = k % appends.length
      let part: Transcript | null = null
      for (let i = 0; i < appends.length; i++) {
        commitEntry(store.disk, appends[i]!)
        if (i === early) merge((part = emptyTranscript()), (await store.window(session, { limit }))!, 'window')
      }
      if (!part || part.from === '') return
      const cursor = String(early + 1)
      merge(part, (await store.window(session, { limit, before: part.from }))!, 'older')
      const whole = store.disk.sessions.get(session)!.value
      for (const event of appends.slice(early + 1).flatMap((append) => append.events)) {
        if (apply(part, event, history.batchOf(event.seq)).state !== 'gap') continue
        mayCatchUp(part, event)
        merge(part, (await store.changes(session, { after: cursor, from: part.from, limit: 5 }))!, 'after')
      }
      samePart(part, whole, 'newer window')
    })
  })

  test('a part that catches up holds what the whole holds', async () => {
    await law('partial catch-up', HISTORIES, [importedHistory(), fc.nat(), fc.integer({ min: 1, max: 8 })], async (history: ImportedHistory, k: number, limit: number) => {
      const store = new ModelStore()
      const { session, appends } = history
      const early = k % appends.length
      let part: Transcript | null = null
      for (let i = 0; i < appends.length; i++) {
        commitEntry(store.disk, appends[i]!)
        if (i === early && (part = emptyTranscript())) {
          const window = await store.window(session, { limit })
          if (!window) return
          merge(part, window, 'window')
        }
      }
      const changes = await store.changes(session, { after: String(early + 1), from: part!.from, limit })
      if (!changes) return
      merge(part!, changes, 'after')
      samePart(part!, store.disk.sessions.get(session)!.value, 'partial catch-up')
      expect(entryOf((await store.load(session))!.tail)).toEqual(entryOf(store.disk.sessions.get(session)!.value))
    })
  })

  test('a reader that has no batches catches up at each import, and holds what the whole holds', async () => {
    await law('readers without batches', HISTORIES, [importedHistory()], async (history: ImportedHistory) => {
      const store = new ModelStore()
      const { session, appends } = history
      const reader = emptyTranscript()
      for (const [i, append] of appends.entries()) {
        commitEntry(store.disk, append)
        for (const event of append.events) {
          if (apply(reader, event).state !== 'gap') continue
          expect(event.type).toBe('rows.imported')
          merge(reader, (await store.changes(session, { after: String(i), from: '', limit: 5 }))!, 'after')
        }
        same(reader, store.disk.sessions.get(session)!.value, 'a reader without batches')
      }
    })
  })

  test('a log whose imports are read from what is kept, without what was retracted since, folds to the same value', async () => {
    await law('kept batches', HISTORIES, [importedHistory({ deletable: false })], async (history: ImportedHistory) => {
      const store = new ModelStore()
      for (const append of history.appends) commitEntry(store.disk, append)
      const kept = new Map<number, ImportBatch>()
      for (const event of eventsOf(history)) if (event.type === 'rows.imported') kept.set(event.seq, await store.imported(history.session, event.seq))
      same(fold(emptyTranscript(), eventsOf(history), (seq) => kept.get(seq)), store.disk.sessions.get(history.session)!.value, 'from the kept rows')
    })
  })

  test('what was once known of a foreign store is known for ever, as the row that shows it or as gone', async () => {
    await law('foreign rows', HISTORIES / 10, [importedHistory()], async (history: ImportedHistory) => {
      const store = new ModelStore()
      const known = new Map<string, string | null>()
      for (const append of history.appends) {
        commitEntry(store.disk, append)
        for (const { row, ours } of append.foreign ?? []) known.set(row, ours)
        const { value } = store.disk.sessions.get(history.session)!
        const rows = await store.foreign(history.session)
        same(new Map(rows.map(({ row, ours }) => [row, ours])), new Map([...known].map(([row, ours]) => [row, ours !== null && value.rows.has(ours) ? ours : null])), 'foreign rows')
        if (append.foreign) expect(() => commitEntry(store.disk, { ...append, expectSeq: value.seq + 1, events: [], foreign: [{ ...append.foreign![0]!, ours: 'another' }] })).toThrow('mapped')
      }
    })
  })

  test('a crash at any commit leaves the fold of what had committed, and the history goes on from there', async () => {
    await law('crash', HISTORIES, [importedHistory(), fc.nat(), fc.boolean()], async (history: ImportedHistory, k: number, answered: boolean) => {
      const { session, appends } = history
      const at = k % appends.length
      const first = new ModelStore()
      first.hold()
      let shown: Event[] = []
      first.onCommit((batch) => (shown = shown.concat(batch.flatMap(({ events }) => events))))
      for (const append of appends.slice(0, at)) {
        void first.append(append)
        first.commit()
      }
      void first.append(appends[at]!)
      if (answered) first.commit({ answer: false })
      const second = new ModelStore({ disk: first.crash() })
      const committed = appends.slice(0, answered ? at + 1 : at)
      const state = await second.load(session)
      expect(state?.seq ?? 0).toBe(committed.reduce((n, append) => n + append.events.length, 0))
      const whole = fold(emptyTranscript(), committed.flatMap((append) => append.events), history.batchOf)
      if (state) same(second.disk.sessions.get(session)!.value, whole, 'after the crash')
      // What was shown is in the log: a client that had it is never ahead.
      same(fold(fold(emptyTranscript(), shown, history.batchOf), committed.flatMap((append) => append.events), history.batchOf), whole, 'what was shown')
      for (const append of appends.slice(committed.length)) commitEntry(second.disk, append)
      same(second.disk.sessions.get(session)!.value, fold(emptyTranscript(), eventsOf(history), history.batchOf), 'to the end')
    })
  })

  test('after every append a settled run is over, and what was retracted or deleted has left no text behind', async () => {
    await law('settlement and retraction', HISTORIES, [importedHistory()], (history: ImportedHistory) => {
      const disk = emptyDisk()
      const gone = new Set<string>()
      const log = new LogChecker()
      for (const append of history.appends) {
        commitEntry(disk, append)
        log.take(append.events)
        for (const event of append.events) {
          if (event.type === 'rows.retracted') for (const id of event.rows) gone.add(id)
        }
        const { value, retracted, log: kept, entry } = disk.sessions.get(history.session)!
        same(checkInvariants(value), [], 'invariants')
        for (const id of gone) if (value.rows.has(id) || !retracted.has(id)) throw new Error(`row ${id} came back`)
        if (value.deleted && (kept.length > 1 || value.rows.size > 0 || entry)) throw new Error('a deleted session left something')
      }
    })
  })
})

describe('cost', () => {
  test('100,000 pieces of growth into one row of a long chat do not slow down', () => {
    const value = longChat(2000)
    const grow = (): void => step(value, { type: 'row.grew', row: 'row_live', run: 'run_last', at0: value.rows.get('row_live')!.text.length, text: 'ten units.' })
    const { first, last } = quarters(100_000, grow)
    expect(value.rows.get('row_live')!.text).toHaveLength(1_000_000)
    expect(last / first).toBeLessThan(2)
  })

  test('rows that open and leave at the end cost the same in a chat of 200 and of 20,000 rows', () => {
    const cost = (rows: number): number => {
      const value = longChat(rows)
      let n = rows + 1
      return quarters(8000, () => {
        const row = `row_new${++n}`
        step(value, { type: 'row.opened', kind: 'answer', row, n, pos: `d${String(n).padStart(6, '0')}`, turn: 'trn_1', run: 'run_last' })
        step(value, { type: 'rows.retracted', rows: [row], turns: [], why: 'superseded', counted: 1 })
      }).last
    }
    cost(200)
    expect(cost(20_000) / cost(200)).toBeLessThan(3)
  })
})

/** Median ms of the first and of the last quarter's slices of `work`: medians, since a loaded machine interrupts. */
function quarters(times: number, work: () => void): { first: number; last: number } {
  const slice = Math.ceil(times / 200)
  const taken: number[] = []
  for (let done = 0; done < times; done += slice) {
    const start = performance.now()
    for (let i = 0; i < slice; i++) work()
    taken.push(performance.now() - start)
  }
  const median = (numbers: number[]): number => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!
  const quarter = Math.floor(taken.length / 4)
  // The first slices are the compiler's.
  const first = median(taken.slice(Math.floor(quarter / 2), quarter))
  const last = median(taken.slice(-quarter))
  console.log(`cost: first quarter ${first.toFixed(3)} ms, last quarter ${last.toFixed(3)} ms per ${slice}`)
  return { first, last }
}

function step(value: Transcript, event: object): void {
  const applied = apply(value, { session: 'ses_1', at: 0, seq: value.seq + 1, ...event } as Event)
  if (applied.state !== 'applied') throw new Error('not applied')
}

function sameTouched(touched: Touched, before: Transcript, after: Transcript): void {
  // Of a batch the queue may be what it was before: filled, and emptied again.
  if (!touched.queue) same(before.queue, after.queue, 'queue')
  same(touched.head, before.session !== after.session || before.deleted !== after.deleted, 'head')
  const changed = [...after.rows.keys()].filter((id) => before.rows.get(id) !== after.rows.get(id))
  same(new Set([...touched.rows, ...touched.grew.keys()]), new Set(changed), 'rows')
  same([...touched.grew.keys()].filter((id) => touched.rows.has(id)), [], 'rows that also grew')
  for (const [id, text] of touched.grew) {
    const row = before.rows.get(id)!
    same(after.rows.get(id), { ...row, text: row.text + text, seq: after.rows.get(id)!.seq }, 'growth')
  }
  same(touched.turns, new Set([...after.turns.keys()].filter((id) => before.turns.get(id) !== after.turns.get(id))), 'turns')
  for (const id of [...before.rows.keys(), ...before.turns.keys()]) {
    same(touched.removed.has(id), !after.rows.has(id) && !after.turns.has(id), `removed ${id}`)
  }
}

/** A chat of many settled rows and one live answer. */
function longChat(rows: number): Transcript {
  const value = emptyTranscript()
  step(value, { type: 'session.created', title: '', titleBy: 'provisional', profile: 'default', workspace: '/w', agent: null, model: null, source: 'talaria' })
  step(value, { type: 'turn.admitted', turn: 'trn_1', row: 'row_0', n: 1, pos: 'a', text: 'x', source: 'person' })
  step(value, { type: 'run.started', run: 'run_last', turn: 'trn_1', generation: 1, attempt: 1, cause: 'sent', agent: { kind: 'scripted', name: 's' }, model: null })
  for (let i = 1; i < rows; i++) {
    step(value, { type: 'row.opened', row: `row_${i}`, n: i + 1, pos: `b${String(i).padStart(6, '0')}`, turn: 'trn_1', run: 'run_last', kind: 'answer', state: 'done', text: 'y' })
  }
  step(value, { type: 'row.opened', row: 'row_live', n: rows + 1, pos: 'c', turn: 'trn_1', run: 'run_last', kind: 'answer' })
  return value
}
