import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { fixedChoice } from '../../../../server/agents/choice'
import { makeScripted } from '../../../../server/agents/scripted'
import { emptyTranscript, fold } from '../../../../server/contract/fold'
import { makeMint } from '../../../../server/contract/ids'
import { makeRuns } from '../../../../server/runs/runs'
import { systemTimers } from '../../../../server/runs/timers'
import { StoreFault } from '../../../../server/store/port'
import type { Append, Store } from '../../../../server/store/port'
import { checkInvariants } from '../../../support/invariants'
import { testProfile } from '../../../support/runs-rig'
import { freshFolder, openTestStore } from '../../../support/store-thread'

const opened: { store: Store; folder: string }[] = []
afterEach(async () => {
  for (const { store, folder } of opened.splice(0)) {
    await store.close().catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  }
})

async function rigged(folder = freshFolder('runs'), wrap: (store: Store) => Store = (store) => store) {
  const store = wrap(await openTestStore({ folder: join(folder, 'state') }))
  opened.push({ store, folder })
  const timers = systemTimers()
  const runs = makeRuns({
    store, timers, mint: makeMint(timers.now, Math.random), agents: { scripted: makeScripted({ timers, scale: 0.05 }) }, choice: fixedChoice('scripted'),
    defaultWorkspace: join(folder, 'workspace'), workspaceRoots: [folder],
  })
  const profile = testProfile()
  const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
    const end = Date.now() + 15_000
    while (!(await condition())) {
      if (Date.now() > end) throw new Error('the condition did not come true in time')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const transcript = async (session: string) => fold(emptyTranscript(), await store.events(session, { afterSeq: 0, limit: 100_000 }))
  return { store, runs, profile, folder, until, transcript }
}

describe('runs on the real store', () => {
  it('play many chats at once, each whole and as the fold of its log', async () => {
    const { store, runs, profile, until, transcript } = await rigged()
    const sessions = await Promise.all(Array.from({ length: 12 }, async () => (await runs.create(profile, {})).id))
    await Promise.all(sessions.map((session) => runs.start(profile, { session, text: '[[reason:Think.]][[ask:ls]][[deltas:2000]][[tool:read {"ms":5}]][[say:End.]]' })))
    await until(async () => {
      for (const { session } of runs.live()) await runs.decide(profile, { session, choice: 'once' }).catch(() => undefined)
      return runs.live().length === 0
    })
    for (const session of sessions) {
      const value = await transcript(session)
      expect(checkInvariants(value)).toEqual([])
      const window = await store.window(session, { limit: 1000 })
      expect(window!.rows).toEqual(value.order.map((id) => value.rows.get(id)))
      expect([...value.turns.values()][0]!.runs).toMatchObject([{ outcome: 'completed' }])
    }
    expect(await store.check()).toMatchObject({ ok: true })
  })

  it('settle after a restart what was live, and answer old receipts', async () => {
    const first = await rigged()
    const { id: session } = await first.runs.create(first.profile, {})
    const input = { session, text: '[[say:Kept words.]][[ask:ls]]', key: 'k', bodyHash: 'h' }
    const started = await first.runs.start(first.profile, input)
    await first.until(async () => (await first.store.list({ profile: 'default', limit: 1 })).entries[0]?.state === 'asking')
    await first.store.close()
    const second = await rigged(first.folder)
    expect(await second.runs.recover()).toEqual({ runs: 1, processes: 0 })
    expect(await second.runs.start(second.profile, input)).toEqual(started)
    const value = await second.transcript(session)
    expect(value.turns.get(started.turn)!.runs).toMatchObject([{ outcome: 'interrupted', problem: { code: 'server_restarted' } }])
    expect([...value.rows.values()].map((row) => row.text)).toContain('Kept words.')
    const again = await second.runs.start(second.profile, { session, retry: started.turn })
    await second.until(async () => (await second.transcript(session)).order.length > 2)
    await second.runs.stop(second.profile, again.run, 'person')
    await second.until(() => second.runs.live().length === 0)
    expect((await second.transcript(session)).turns.get(started.turn)!.runs.map((run) => run.outcome)).toEqual(['interrupted', 'cancelled'])
  })

  it('end a run whose append failed, and go on with the next', async () => {
    let fail = false
    const broken = (store: Store): Store =>
      new Proxy(store, {
        get(target, name) {
          const value = Reflect.get(target, name) as unknown
          if (name !== 'append') return typeof value === 'function' ? value.bind(target) : value
          return (append: Append) => (fail && append.events.some((event) => event.type === 'row.grew') ? Promise.reject(new StoreFault('failed', 'I/O error')) : target.append(append))
        },
      })
    const { runs, profile, until, transcript } = await rigged(undefined, broken)
    const { id: session } = await runs.create(profile, {})
    fail = true
    await runs.start(profile, { session, text: '[[deltas:5000]]' })
    await until(() => runs.live().length === 0)
    fail = false
    const next = await runs.start(profile, { session, text: '[[deltas:50]]' })
    await until(() => runs.live().length === 0)
    const outcomes = [...(await transcript(session)).turns.values()].map((turn) => turn.runs[0]!.outcome)
    expect(outcomes).toEqual(['interrupted', 'completed'])
    expect(next.turn).toBeTruthy()
  })
})
