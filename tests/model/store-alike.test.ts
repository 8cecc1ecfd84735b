import { rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { emptyTranscript, fold, merge } from '../../server/contract/fold'
import type { Transcript } from '../../server/contract/session'
import type { Append, Committed, Store } from '../../server/store/port'
import { importedHistory, type ImportedHistory } from '../support/imports'
import { emptyDisk } from '../support/model-disk'
import { ModelStore } from '../support/model-store'
import { startInline } from '../support/store-inline'
import { freshFolder, openTestStore } from '../support/store-thread'

const HISTORIES = 200
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const PROFILE = 'default'

/** What happens between two appends: a person reads, the log is pruned a little or as far as it goes, or nothing. `at` chooses the place, 0…1. */
interface Between { what: 'nothing' | 'read' | 'prune' | 'pruneAll'; at: number }
const between: fc.Arbitrary<Between> = fc.record({ what: fc.constantFrom('nothing', 'read', 'prune', 'pruneAll'), at: fc.double({ min: 0, max: 1, noNaN: true }) })

function same(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect({ what, value: actual }).toEqual({ what, value: expected })
}

/** Every question that an append raises leaves a value of the agent beside it. */
function withBeside(append: Append): Append {
  const beside = append.events.flatMap((event) => {
    if (event.type === 'approval.raised') return [{ id: event.approval, foreign: `of ${event.approval}` }]
    if (event.type === 'clarify.raised') return [{ id: event.clarify, foreign: `of ${event.clarify}` }]
    return event.type === 'secret.raised' ? [{ id: event.secret, foreign: `of ${event.secret}` }] : []
  })
  return { ...append, urgency: 'now', ...(beside.length > 0 && { beside }) }
}

/** All that a store answers about a session to readers of every cursor, in one order. */
async function answers(store: Store, session: string, cursors: readonly number[]): Promise<Record<string, unknown>> {
  const byId = <T extends { id: string }>(list: readonly T[]): T[] => [...list].sort((a, b) => (a.id < b.id ? -1 : 1))
  const head = await store.head()
  const state = (await store.load(session))!
  const changes = async (after: number) => {
    const found = await store.changes(session, { after: String(after), from: '', limit: 10_000 })
    return found && { ...found, turns: byId(found.turns), rows: byId(found.rows), retracted: [...found.retracted].sort() }
  }
  const each = <T>(ask: (after: number) => Promise<T>): Promise<T[]> => Promise.all(cursors.map(ask))
  return {
    head, state: { ...state, tail: null, beside: byId(state.beside) }, queue: state.tail.queue, unsettled: await store.unsettled(), queued: await store.queued(),
    window: await store.window(session, { limit: 10_000 }), changes: await each(changes), list: await each((after) => store.list({ profile: PROFILE, limit: 10, after: String(after) })),
    replay: await each((after) => store.since({ after, upTo: head, session, profile: PROFILE, limit: 10_000 })),
    others: await each((after) => store.since({ after, upTo: head, profile: PROFILE, limit: 10_000 })),
    foreign: [...(await store.foreign(session))].sort((a, b) => (a.row < b.row ? -1 : 1)),
    events: state.deleted ? [] : await store.events(session, { afterSeq: 0, limit: 10_000 }),
  }
}

/**
 * A log that has lost row events still leads to the tables: from what a reader held at the last of the lost ones, the rest of it is the whole value; and whoever is answered at all by
 * `since` or `changes` has it too, from wherever he stood.
 */
async function prunedLogHolds(store: Store, session: string, seen: readonly Transcript[], revs: readonly number[], value: Transcript, batchOf: ImportedHistory['batchOf']): Promise<void> {
  const log = await store.events(session, { afterSeq: 0, limit: 10_000 })
  const numbers = new Set(log.map(({ seq }) => seq))
  let lost = 0
  for (let seq = 1; seq <= value.seq; seq++) if (!numbers.has(seq)) lost = seq
  same(log.at(-1)?.seq, value.seq, 'the end of the log')
  for (const turn of value.turns.values()) for (const run of turn.runs) if (run.state !== 'settled') same((await store.run(run.id))!.pruned, undefined, `live run ${run.id}`)
  for (const [i, then] of seen.entries()) {
    if (then.seq >= lost) same(fold(then, log.filter(({ seq }) => seq > then.seq), batchOf), value, `the pruned log from ${then.seq}`)
    const replay = await store.since({ after: revs[i]!, upTo: await store.head(), session, profile: PROFILE, limit: 10_000 })
    if (then.seq < lost) same(replay, null, `replay from before a lost event, ${then.seq}`)
    if (replay) same(fold(then, replay.flatMap(({ events }) => events), batchOf), value, `replay from ${then.seq}`)
    const reader = fold(then, [])
    merge(reader, (await store.changes(session, { after: String(revs[i]), from: '', limit: 10_000 }))!, 'after')
    same(reader, value, `catch-up from ${then.seq}`)
  }
}

test(`SQLite, opened anew for each commit, and the model of it answer alike to every reader: queue, marks, values beside questions, and over a log that is pruned meanwhile (${HISTORIES} histories, seed ${SEED})`, async () => {
  console.log(`stores alike: ${HISTORIES} histories, seed ${SEED}`)
  await fc.assert(fc.asyncProperty(importedHistory({ steps: 30 }), fc.array(between, { minLength: 1, maxLength: 12 }), async ({ session, appends, batchOf }: ImportedHistory, betweens) => {
    const folder = freshFolder('alike')
    const model = new ModelStore({ disk: emptyDisk('one'), after: (_, then) => then() })
    const told: { model: Committed[]; store: Committed[] } = { model: [], store: [] }
    model.onCommit((batch) => told.model.push(...batch))
    let value = emptyTranscript()
    const seen: Transcript[] = []
    const revs: number[] = []
    try {
      for (const [i, append] of appends.entries()) {
        const store = await openTestStore({ folder, start: startInline })
        try {
          store.onCommit((batch) => told.store.push(...batch))
          const both = async <T>(ask: (one: Store) => Promise<T>, what: string): Promise<void> => same(await ask(store), await ask(model), what)
          await both((one) => one.append(withBeside(append)), 'a commit')
          value = fold(value, append.events, batchOf)
          const { what, at } = betweens[i % betweens.length]!
          if (what === 'read') await both((one) => one.markRead(session, Math.floor(at * (value.seq + 3))), 'a mark')
          if (what === 'prune') await both((one) => one.prune({ settledBefore: Infinity, limit: 1 + Math.floor(at * 4) }), 'a little pruning')
          if (what === 'pruneAll') {
            const settledBefore = append.events[0]!.at - Math.floor(at * 200)
            for (let left = true; left; ) {
              const gone = await store.prune({ settledBefore, limit: 7 })
              same(gone, await model.prune({ settledBefore, limit: 7 }), 'pruning')
              left = gone > 0
            }
          }
          if (!value.deleted) {
            seen.push(value)
            revs.push(await store.head())
          }
          // Readers of every cursor at the end, and on the way a part of them that goes around.
          const asked = revs.map((_, k) => k).filter((k) => i === appends.length - 1 || k >= revs.length - 2 || (k + i) % 5 === 0)
          const cursors = [0, ...asked.map((k) => revs[k]!)]
          if (!value.deleted) await prunedLogHolds(store, session, asked.map((k) => seen[k]!), cursors.slice(1), value, batchOf)
          const mine = await answers(store, session, cursors)
          const theirs = await answers(model, session, cursors)
          for (const [name, answer] of Object.entries(mine)) same(JSON.parse(JSON.stringify(answer).replaceAll(store.id, 'one')), JSON.parse(JSON.stringify(theirs[name])), name)
          same(told.store, told.model, 'what the listeners were told')
        } finally {
          await store.close()
        }
      }
    } finally {
      await model.close()
      rmSync(folder, { recursive: true, force: true })
    }
  }), { numRuns: HISTORIES, seed: SEED })
})
