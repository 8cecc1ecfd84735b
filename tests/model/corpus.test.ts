import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventType } from '../../server/contract/events'
import { emptyTranscript, fold, merge } from '../../server/contract/fold'
import { attentionOf, entryOf } from '../../server/contract/listing'
import type { Transcript } from '../../server/contract/session'
import { openBare } from '../../server/store/driver'
import { MIGRATIONS } from '../../server/store/schema'
import type { Store } from '../../server/store/port'
import { checkInvariants } from '../support/invariants'
import { CORPUS, recordedLogs, recordingOf } from '../support/corpus'
import { playChats } from '../support/corpus-chats'
import { runsRig } from '../support/runs-rig'
import { startInline } from '../support/store-inline'
import { freshFolder, openTestStore } from '../support/store-thread'

const logs = recordedLogs()

/** Every kind of event that this version writes. */
const TYPES = Object.keys({
  'session.created': 1, 'agent.bound': 1, 'session.changed': 1, 'turn.admitted': 1, 'run.started': 1, 'run.bound': 1, 'row.opened': 1, 'row.grew': 1, 'row.cut': 1, 'row.changed': 1, 'row.closed': 1,
  'approval.raised': 1, 'approval.decided': 1, 'approval.retired': 1, 'clarify.raised': 1, 'clarify.answered': 1, 'clarify.retired': 1, 'secret.raised': 1, 'secret.answered': 1, 'secret.retired': 1,
  'steer.accepted': 1, 'steer.delivered': 1, 'steer.returned': 1, 'plan.replaced': 1, 'queue.added': 1, 'queue.changed': 1, 'queue.moved': 1, 'queue.combined': 1, 'queue.removed': 1, 'queue.taken': 1,
  'usage.reported': 1, 'run.stopping': 1, 'run.settled': 1, 'rows.retracted': 1, 'rows.imported': 1, 'session.deleted': 1,
} satisfies Record<EventType, 1>)

const typesOf = (logs: readonly { events: readonly { type: string }[] }[]): string[] => [...new Set(logs.flatMap(({ events }) => events.map(({ type }) => type)))].sort()

test('chats of today write every kind of event, and what they write folds to something sound', async () => {
  const played = await playChats()
  const folder = process.env.RECORD
  if (folder) mkdirSync(folder, { recursive: true })
  for (const { name, events, imports } of played) {
    const value = fold(emptyTranscript(), events, (seq) => imports.get(seq))
    expect(checkInvariants(value), name).toEqual([])
    if (folder) writeFileSync(join(folder, `${name}.json`), recordingOf(MIGRATIONS.at(-1)!.to, { events, imports }, value))
  }
  expect(typesOf(played)).toEqual([...TYPES].sort())
})

describe('recorded logs', () => {
  test('are there for every schema of the store, and those of the newest hold every kind of event', () => {
    const newest = MIGRATIONS.at(-1)!.to
    expect(new Set(logs.map(({ schema }) => schema))).toEqual(new Set(MIGRATIONS.map(({ to }) => to)))
    expect(typesOf(logs.filter(({ schema }) => schema === newest))).toEqual([...TYPES].sort())
  })

  test.each(logs)('$name folds to what it folded to when it was written, in one go, in two, and event by event', ({ events, expected, batchOf }) => {
    expect(fold(emptyTranscript(), events, batchOf)).toEqual(expected)
    expect(checkInvariants(expected)).toEqual([])
    let value = emptyTranscript()
    for (const [k, event] of events.entries()) {
      expect(fold(value, events.slice(k), batchOf)).toEqual(expected)
      value = fold(value, [event, event], batchOf)
    }
    expect(value).toEqual(expected)
  })
})

describe('a database of schema 1', () => {
  const first = logs.filter(({ schema }) => schema === 1)
  let folder: string
  let store: Store
  beforeEach(async () => {
    folder = freshFolder('corpus')
    copyFileSync(join(CORPUS, '1', 'store.sqlite'), join(folder, 'talaria.sqlite'))
    store = await openTestStore({ folder, start: startInline })
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const whole = async (session: string): Promise<Transcript> => {
    const value = emptyTranscript()
    const state = (await store.load(session))!
    if (state.deleted) return { ...value, deleted: true, seq: state.seq }
    merge(value, (await store.window(session, { limit: 10_000 }))!, 'window')
    return value
  }
  const same = async (): Promise<void> => {
    for (const { events, expected } of first) expect(await whole(events[0]!.session)).toEqual(expected)
  }

  test('is copied beside itself and then opened: every chat is what it was, byte by byte in the log', async () => {
    const backup = readdirSync(folder).find((name) => name.includes('before'))!
    expect(backup).toMatch(/^talaria\.before-\d+\.\d+\.sqlite$/)
    const copy = openBare(join(folder, backup), 0)
    copyFileSync(join(CORPUS, '1', 'store.sqlite'), join(folder, 'original.sqlite'))
    const original = openBare(join(folder, 'original.sqlite'), 0)
    try {
      expect(copy.get('PRAGMA user_version')).toEqual({ user_version: 1 })
      for (const { name } of original.all<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`)) expect(copy.all(`SELECT * FROM ${name}`)).toEqual(original.all(`SELECT * FROM ${name}`))
    } finally {
      copy.close()
      original.close()
    }
    await same()
    for (const { events, expected } of first) {
      const log = await store.events(events[0]!.session, { afterSeq: 0, limit: 10_000 })
      expect(log).toEqual(expected.deleted ? events.slice(-1) : events)
    }
    const { entries } = await store.list({ profile: 'default', limit: 100 })
    expect(new Set(entries.map(({ id }) => id))).toEqual(new Set(first.filter(({ expected }) => !expected.deleted).map(({ events }) => events[0]!.session)))
    expect(await store.check()).toMatchObject({ ok: true })
  })

  test('has what a restart needs: the run that was live settles, its key still answers, its process is known', async () => {
    const live = first.find(({ name }) => name.endsWith('live'))!.events[0]!.session
    expect(await store.unsettled()).toEqual([live])
    expect(await store.queued()).toEqual([])
    expect(await store.load(live)).toMatchObject({ beside: [], tail: { queue: { items: [], seq: 0 } } })
    expect(await store.context(live)).toHaveLength(1)
    expect(await store.processes()).toMatchObject([{ pid: 4711, session: live }])
    const rig = runsRig({ store })
    expect(await rig.runs.recover()).toMatchObject({ runs: 1 })
    expect(await store.unsettled()).toEqual([])
    const value = await whole(live)
    expect(value).toEqual(fold(emptyTranscript(), await store.events(live, { afterSeq: 0, limit: 1000 })))
    expect([...value.turns.values()].at(-1)!.runs.at(-1)).toMatchObject({ state: 'settled', outcome: 'interrupted' })
    expect((await store.list({ profile: 'default', limit: 100 })).entries.find(({ id }) => id === live)).toMatchObject({ state: 'idle', questions: 0, outcome: 'interrupted' })
    await rig.runs.drain()
  })

  test('is read by the person whose it was: nothing in it becomes unread, whatever is renamed later', async () => {
    const { entries } = await store.list({ profile: 'default', limit: 100 })
    expect(entries.length).toBeGreaterThan(3)
    for (const { id, read } of entries) expect(read).toBe((await store.load(id))!.seq)
    const talk = first.find(({ name }) => name.endsWith('talk'))!.expected
    const { id } = talk.session!
    await store.append({ session: id, expectSeq: talk.seq + 1, urgency: 'now', events: [{ type: 'session.changed', session: id, seq: talk.seq + 1, at: 1, title: 'Named anew', titleBy: 'person' }] })
    const renamed = (await store.list({ profile: 'default', limit: 100 })).entries.find((one) => one.id === id)!
    expect(renamed.title).toBe('Named anew')
    expect(renamed.settled).toBeGreaterThan(0)
    expect(attentionOf(renamed)).toBeNull()
  })

  test('takes marks, and its old runs are pruned by the time at which they settled', async () => {
    const chat = first.find(({ name }) => name.endsWith('talk'))!
    const session = chat.events[0]!.session
    const { settled: _, ...entry } = entryOf(chat.expected)!
    expect(await store.markRead(session, chat.expected.seq)).toBe(true)
    expect((await store.list({ profile: 'default', limit: 100 })).entries.find(({ id }) => id === session)).toEqual({ ...entry, rev: expect.any(Number) as number, read: chat.expected.seq })
    const [earliest] = [...chat.expected.turns.values()].flatMap(({ runs }) => runs.map(({ settledAt }) => settledAt!)).sort((a, b) => a - b)
    const rows = async () => (await store.events(session, { afterSeq: 0, limit: 10_000 })).filter(({ type }) => type.startsWith('row.')).length
    const before = await rows()
    while ((await store.prune({ settledBefore: earliest!, limit: 50 })) > 0);
    expect(await rows()).toBe(before)
    while ((await store.prune({ settledBefore: earliest! + 1, limit: 50 })) > 0);
    expect(await rows()).toBeLessThan(before)
    while ((await store.prune({ settledBefore: Infinity, limit: 50 })) > 0);
    expect(await rows()).toBe(0)
    const live = first.find(({ name }) => name.endsWith('live'))!
    expect((await store.events(live.events[0]!.session, { afterSeq: 0, limit: 1000 })).slice(-1)).toEqual(live.events.slice(-1))
    await same()
  })
})
