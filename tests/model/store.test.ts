import { rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { emptyTranscript, fold, merge, type ImportBatch } from '../../server/contract/fold'
import { entryOf, type ListEntry } from '../../server/contract/listing'
import type { Transcript } from '../../server/contract/session'
import type { Committed, Store } from '../../server/store/port'
import { importedHistory, type ImportedHistory } from '../support/imports'
import { checkInvariants } from '../support/invariants'
import { startInline } from '../support/store-inline'
import { freshFolder, openTestStore } from '../support/store-thread'

const HISTORIES = 200
const PAIRS = 100
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

/** What the tables hold, as a whole and as a client that asks without a cursor sees it. */
async function whole(store: Store, session: string): Promise<Transcript> {
  const value = emptyTranscript()
  const state = (await store.load(session))!
  if (state.deleted) return { ...value, deleted: true, seq: state.seq }
  merge(value, (await store.window(session, { limit: 10_000 }))!, 'window')
  return value
}

function same(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect({ what, value: actual }).toEqual({ what, value: expected })
}

/** A window of a few rows: complete from its `from` on, with the turns of its rows. Answers what a reader holds who took it. */
async function windowHolds(store: Store, session: string, value: Transcript, limit: number): Promise<Transcript> {
  const window = (await store.window(session, { limit }))!
  const ids = value.order.slice(Math.max(0, value.order.length - limit))
  same(window.rows, ids.map((id) => value.rows.get(id)), 'rows of a window')
  same(window.from, ids.length < value.order.length ? value.rows.get(ids[0]!)!.pos : '', 'from of a window')
  same(new Map(window.turns.map((turn) => [turn.id, turn])), new Map(ids.map((id) => value.turns.get(value.rows.get(id)!.turn)!).map((turn) => [turn.id, turn])), 'turns of a window')
  const part = emptyTranscript()
  merge(part, window, 'window')
  return part
}

test(`the tables are the fold after every commit and every reopening, and so is catch-up from any cursor (${HISTORIES} histories, seed ${SEED})`, async () => {
  console.log(`store model: ${HISTORIES} histories, seed ${SEED}`)
  await fc.assert(fc.asyncProperty(importedHistory({ steps: 30 }), fc.integer({ min: 1, max: 6 }), async (history: ImportedHistory, limit: number) => {
    const folder = freshFolder('model')
    const { session } = history
    const seen: Seen[] = []
    const committed: Committed[] = []
    let value = emptyTranscript()
    try {
      for (const append of history.appends) {
        const store = await openTestStore({ folder, start: startInline })
        try {
          store.onCommit((batch) => committed.push(...batch))
          const { rev } = await store.append({ ...append, urgency: 'now' })
          value = fold(value, append.events, history.batchOf)
          same(await whole(store, session), value, 'the tables')
          if (!value.deleted) seen.push({ rev, value, part: await windowHolds(store, session, value, limit) })
          await catchUps(store, session, seen, value)
          await logHolds(store, session, committed, value)
          const entries = await store.list({ profile: 'default', limit: 10 })
          same(entries.entries.map(({ rev: _, ...fields }) => fields), [entryOf(value)].filter((entry) => entry !== null), 'the list')
          const state = (await store.load(session))!
          same(checkInvariants(state.tail), [], 'the tail')
          same(await store.unsettled(), [...value.turns.values()].some((turn) => turn.runs.at(-1)?.state !== undefined && turn.runs.at(-1)!.state !== 'settled') ? [session] : [], 'unsettled')
        } finally {
          await store.close()
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }), { numRuns: HISTORIES, seed: SEED })
})

/** Two sessions at once, their appends joined at random, in a writer that remembers next to nothing, or everything. */
test(`so are those of sessions that share commits, whatever the writer remembers (${PAIRS} pairs, seed ${SEED})`, async () => {
  console.log(`store model: ${PAIRS} pairs, seed ${SEED}`)
  const pair = fc.tuple(importedHistory({ steps: 60, session: 'ses_1' }), importedHistory({ steps: 60, session: 'ses_2' }))
  await fc.assert(fc.asyncProperty(pair, fc.array(fc.nat(3), { minLength: 1, maxLength: 40 }), fc.boolean(), async (histories, batches, forgetful) => {
    const folder = freshFolder('pairs')
    const store = await openTestStore({ folder, start: startInline, ...(forgetful && { keep: { sessions: 1, rows: 3 } }) })
    try {
      const committed: Committed[] = []
      store.onCommit((batch) => committed.push(...batch))
      const waiting = histories.map(({ appends }) => [...appends])
      const values = new Map(histories.map(({ session }) => [session, emptyTranscript()]))
      const list = new Map<string, ListEntry>()
      const cursors: string[] = ['0']
      for (let i = 0; waiting.some((appends) => appends.length > 0); i++) {
        // 0 and 1: one append of that session; 2 and 3: some of both in one commit.
        const choice = batches[i % batches.length]!
        const batch = waiting.flatMap((appends, k) => appends.splice(0, choice > 1 ? choice - 1 : k === choice ? 1 : 0))
        if (batch.length === 0) batch.push(...waiting.flatMap((appends) => appends.splice(0, 1)))
        await Promise.all(batch.map((append) => store.append({ ...append, urgency: 'now' })))
        for (const append of batch) values.set(append.session, fold(values.get(append.session)!, append.events, histories.find(({ session }) => session === append.session)!.batchOf))
        cursors.push(String(await store.head()))
      }
      same(committed.map(({ rev }) => rev), committed.map((_, i) => i + 1), 'revisions')
      for (const [session, value] of values) {
        same(await whole(store, session), value, `the tables of ${session}`)
        const entry = entryOf(value)
        const last = committed.filter((one) => one.session === session && (one.entry ?? one.removed)).at(-1)!
        if (entry) list.set(session, { ...entry, rev: last.rev })
      }
      for (const after of cursors) {
        const page = await store.list({ profile: 'default', limit: 10, after })
        const moved = [...list.values()].filter(({ rev }) => rev > Number(after)).sort((a, b) => a.rev - b.rev)
        same(page.entries, moved, `the list since ${after}`)
      }
      expect(await store.check()).toMatchObject({ ok: true })
    } finally {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    }
  }), { numRuns: PAIRS, seed: SEED })
})

/** What two clients hold who were there at a revision: one everything, one a window. */
interface Seen { rev: number; value: Transcript; part: Transcript }

async function catchUps(store: Store, session: string, seen: Seen[], value: Transcript): Promise<void> {
  for (const { rev, value: then, part } of seen) {
    const changes = await store.changes(session, { after: String(rev), from: '', limit: 60 })
    if (value.deleted) {
      same(changes, null, 'changes of a deleted session')
      continue
    }
    const reader = fold(then, [])
    merge(reader, changes!, 'after')
    same(reader, value, `catch-up from ${rev}`)
    const partial = fold(part, [])
    merge(partial, (await store.changes(session, { after: String(rev), from: part.from, limit: 60 }))!, 'after')
    const ids = value.order.filter((id) => value.rows.get(id)!.pos >= part.from)
    same(ids.map((id) => [partial.rows.get(id), partial.turns.get(value.rows.get(id)!.turn)]), ids.map((id) => [value.rows.get(id), value.turns.get(value.rows.get(id)!.turn)]), `catch-up of a part from ${rev}`)
    same([partial.order, partial.session, partial.queue, partial.seq], [ids, value.session, value.queue, value.seq], `a part from ${rev}`)
    for (const turn of partial.turns.values()) same(turn, value.turns.get(turn.id), `turn ${turn.id} of a part from ${rev}`)
  }
}

/** The log replays to the value, and what a reader is replayed is what the listener was told. */
async function logHolds(store: Store, session: string, committed: Committed[], value: Transcript): Promise<void> {
  const replayed = await store.since({ after: 0, upTo: await store.head(), session, profile: 'default', limit: 1000 })
  if (value.deleted) return void same(replayed!.map(({ removed }) => removed), [true], 'replay of a deleted session')
  same(replayed!.map(({ rev, events }) => ({ rev, events })), committed.map(({ rev, events }) => ({ rev, events })), 'replay')
  for (const { rev: after } of committed) {
    const rest = await store.since({ after, upTo: await store.head(), session, profile: 'default', limit: 1000 })
    same(rest!.flatMap(({ events }) => events), committed.filter(({ rev }) => rev > after).flatMap(({ events }) => events), `replay from ${after}`)
  }
  const last = committed.filter(({ entry }) => entry).at(-1)!
  same(replayed!.find(({ rev }) => rev === last.rev)!.entry, last.entry, 'the last list entry')
  const log = await store.events(session, { afterSeq: 0, limit: 10_000 })
  const batches = new Map<number, ImportBatch>()
  for (const { type, seq } of log) if (type === 'rows.imported') batches.set(seq, await store.imported(session, seq))
  same(fold(emptyTranscript(), log, (seq) => batches.get(seq)), value, 'the log')
}
