import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { emptyTranscript, fold } from '../../../../server/contract/fold'
import type { Store } from '../../../../server/store/port'
import { built, freshFolder, openTestStore } from '../../../support/store-thread'

const ROUNDS = 10
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

test(`a process killed in the middle of commits leaves whole appends, and all that it had acknowledged or shown (${ROUNDS} kills, seed ${SEED})`, async () => {
  console.log(`store kill: ${ROUNDS} kills, seed ${SEED}`)
  const folder = freshFolder('kill')
  const random = seeded(SEED)
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const told = await writeAndKill(folder, `r${round}`, 5 + Math.floor(random() * 200))
      expect(told.size).toBeGreaterThan(0)
      const store = await openTestStore({ folder })
      expect(await store.check()).toMatchObject({ ok: true })
      for (const [session, seq] of told) {
        if (session.startsWith('read ')) await readHolds(store, session.slice(5), seq)
        else if (session.endsWith('_turns')) await turnsHold(store, session, seq)
        else await holds(store, session, seq)
      }
      await store.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 120_000)

/** Kills after so many lines; answers the highest `seq` that each session had been told of. */
async function writeAndKill(folder: string, name: string, lines: number): Promise<Map<string, number>> {
  const child = spawn(process.execPath, [await built('tests/support/store-child.ts'), folder, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const told = new Map<string, number>()
  let seen = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('failed')) throw new Error(line)
    const [what, session, seq] = line.split(' ')
    const about = what === 'read' ? `read ${session}` : session
    if (session) told.set(about!, Math.max(told.get(about!) ?? 0, Number(seq)))
    if (++seen === lines) child.kill('SIGKILL')
  }
  await exit
  return told
}

async function holds(store: Store, session: string, seq: number): Promise<void> {
  const state = (await store.load(session))!
  expect(state.seq).toBeGreaterThanOrEqual(seq)
  const log = await store.events(session, { afterSeq: 0, limit: 1_000_000 })
  expect(log.map((event) => event.seq)).toEqual(Array.from({ length: state.seq }, (_, i) => i + 1))
  // created, admitted with its run, opened; then three pieces of growth an append.
  if (state.seq > 4) expect((state.seq - 4) % 3).toBe(0)
  const value = fold(emptyTranscript(), log)
  const window = (await store.window(session, { limit: 1000 }))!
  expect(window.rows).toEqual(value.order.map((id) => value.rows.get(id)))
}

/** A chat of many turns whose log is pruned as it goes: what stands in the tables is whole, whatever of the log is left. */
async function turnsHold(store: Store, session: string, seq: number): Promise<void> {
  const state = (await store.load(session))!
  expect(state.seq).toBeGreaterThanOrEqual(seq)
  const window = (await store.window(session, { limit: 100_000 }))!
  expect(window.rows.map(({ text }) => text)).toEqual(window.rows.map((_, i) => `${i % 2 ? 'answer' : 'question'} ${Math.floor(i / 2)}`))
  const log = await store.events(session, { afterSeq: 0, limit: 1_000_000 })
  expect(log.filter(({ type }) => type === 'turn.admitted')).toHaveLength(Math.ceil(window.rows.length / 2))
  const waiting = log.flatMap((event) => (event.type === 'queue.added' ? [event.item] : [])).slice(-1)
  expect(window.queue!.items.map(({ id }) => id)).toEqual(waiting)
  for (const { runs } of window.turns) expect(runs).toHaveLength(1)
  for (const run of window.turns.flatMap(({ runs }) => runs).slice(0, -2)) expect(log.filter((event) => 'run' in event && event.run === run.id).map(({ type }) => type)).toEqual(expect.arrayContaining(['run.started', 'run.settled']))
}

async function readHolds(store: Store, session: string, seq: number): Promise<void> {
  const entry = (await store.list({ profile: 'default', limit: 1000 })).entries.find(({ id }) => id === session)!
  expect(entry.read).toBeGreaterThanOrEqual(seq)
  expect(entry.read).toBeLessThanOrEqual((await store.load(session))!.seq)
}

/** A small generator (mulberry32), so that a run can be repeated. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
