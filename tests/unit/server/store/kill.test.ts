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
      for (const [session, seq] of told) await holds(store, session, seq)
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
    const [, session, seq] = line.split(' ')
    if (session) told.set(session, Math.max(told.get(session) ?? 0, Number(seq)))
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
