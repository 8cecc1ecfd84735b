import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type AgentChoice, fixedChoice } from '../../server/agents/choice'
import type { Agent } from '../../server/agents/port'
import { makeScripted } from '../../server/agents/scripted'
import type { Event } from '../../server/contract/events'
import { makeMint } from '../../server/contract/ids'
import { lastRun } from '../../server/contract/session'
import type { AgentKind, Run, Transcript } from '../../server/contract/session'
import type { ProfileContext } from '../../server/profiles/context'
import type { Limits } from '../../server/runs/limits'
import type { ProcessTable } from '../../server/runs/processes'
import { makeRuns } from '../../server/runs/runs'
import type { Started } from '../../server/runs/port'
import type { Store } from '../../server/store/port'
import { FakeTimers, settle } from './fake-timers'
import type { ModelDisk } from './model-disk'
import { ModelStore } from './model-store'
import { replay } from './replay'

/** A profile as the launch profile of a test. */
export function testProfile(name = 'default'): ProfileContext {
  return { name, home: '/home/test', scope: `/home/test/${name}`, env: {}, isLaunch: name === 'default' }
}

export interface RunsRigOptions {
  /** Another store than the model of it that the rig makes. */
  store?: Store
  /** What an earlier model store left. */
  disk?: ModelDisk
  agents?: Partial<Record<AgentKind, Agent>>
  /** Which of them new chats use; the scripted one. */
  choice?: Pick<AgentChoice, 'of'>
  timers?: FakeTimers
  limits?: Partial<Limits>
  seed?: number
  processes?: ProcessTable
  /** Uses the machine's folders; else every folder is there, without any wait. */
  realFolders?: boolean
}

/** The real runs over a store and agents, under a clock that the test moves. */
export function runsRig(options: RunsRigOptions = {}) {
  const timers = options.timers ?? new FakeTimers()
  const model = new ModelStore({ after: (ms, then) => void timers.after(ms, then), ...(options.disk ? { disk: options.disk } : {}) })
  const store: Store = options.store ?? model
  const folder = options.realFolders ? realpathSync(mkdtempSync(join(tmpdir(), 'talaria-runs-'))) : '/home/test'
  if (options.realFolders) onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const profile = testProfile()
  const scripted = makeScripted({
    timers, folder: { list: async () => ['a.md', 'notes/'], read: async () => 'Alpha\n' }, echo: async (words) => ({ output: `${words}\n`, exit: 0 }),
  })
  const runs = makeRuns({
    store, timers, mint: makeMint(timers.now, seeded(options.seed ?? 1)), agents: options.agents ?? { scripted }, choice: options.choice ?? fixedChoice('scripted'), profileOf: testProfile,
    defaultWorkspace: join(folder, 'workspace'), workspaceRoots: [folder],
    ...(options.realFolders ? {} : { folders: { real: async (path: string) => path, make: async () => {} } }),
    processes: options.processes ?? { bootId: async () => null, startTime: async () => null, marked: async () => false, endGroup: () => false },
    ...(options.limits ? { limits: options.limits } : {}),
  })

  const events = async (session: string): Promise<Event[]> => store.events(session, { afterSeq: 0, limit: 1_000_000 })
  const transcript = (session: string): Promise<Transcript> => replay(store, session)
  const runOf = async (started: Pick<Started, 'session' | 'turn' | 'run'>): Promise<Run> =>
    (await transcript(started.session)).turns.get(started.turn)!.runs.find((run) => run.id === started.run)!

  return {
    runs, store, model, timers, folder, profile, events, transcript, runOf,
    chat: async (): Promise<string> => (await runs.create(profile, {})).id,
    /** Starts a turn that plays a script. */
    send: (session: string, text: string): Promise<Started> => runs.start(profile, { session, text }),
    /** Lets time pass until the run has settled; fails after an hour of fake time. */
    async settled(started: Started): Promise<Run> {
      for (let i = 0; i < 3600; i++) {
        await settle()
        const run = await runOf(started)
        if (run.state === 'settled' && !runs.live().some((live) => live.run === started.run)) return run
        await timers.advance(i < 100 ? 10 : 1000)
      }
      throw new Error('the run did not settle')
    },
    /** Lets time pass until a condition holds. */
    async until(condition: () => boolean | Promise<boolean>, step = 10): Promise<void> {
      for (let i = 0; i < 5000; i++) {
        await settle()
        if (await condition()) return
        await timers.advance(step)
      }
      throw new Error('the condition did not come true')
    },
    answer: async (session: string): Promise<string> => answerText(await transcript(session)),
    lastRun: async (session: string): Promise<Run | undefined> => {
      const turn = [...(await transcript(session)).turns.values()].at(-1)
      return turn && lastRun(turn)
    },
  }
}

/** Text of all answer rows in order. */
export function answerText(value: Transcript): string {
  return value.order.map((id) => value.rows.get(id)!).filter((row) => row.kind === 'answer').map((row) => row.text).join('')
}

/** A random source from a seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
