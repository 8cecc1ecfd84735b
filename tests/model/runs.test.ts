import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../server/agents/port'
import { Refusal } from '../../server/contract/problems'
import type { Started } from '../../server/runs/port'
import { settle } from '../support/fake-timers'
import { checkInvariants } from '../support/invariants'
import { Puppet, request } from '../support/puppet'
import type { PuppetTurn } from '../support/puppet'
import { runsRig, seeded } from '../support/runs-rig'

const HISTORIES = Number(process.env.HISTORIES ?? 1500)
const STEPS = 60

/** What the clients of one history were told, and what its agents said. */
interface Told {
  started: Map<string, Started>
  stopped: Set<string>
  decided: Map<string, string>
  /** Answer text of each run, as the agent said it while the run could still take it. */
  said: Map<string, string>
  /** Runs that met a fault of the store or a crash: their text may end early. */
  broken: Set<string>
}

/** What was covered, for people who read the log. */
const seen = { runs: 0, whole: 0, stops: 0, answers: 0, harmed: 0 }

/**
 * One whole life of a chat under a clock and a seed (law 13): an agent that says anything, a person who does anything, a store that stalls and
 * fails, a server that dies and comes back. Afterwards the laws hold: what was acknowledged stands once, every run has one outcome, the log has
 * no gap, whole runs hold exactly what their agent said.
 */
async function live(seed: number): Promise<void> {
  const random = seeded(seed)
  const under = (n: number): number => Math.floor(random() * n)
  const one = <T>(list: readonly T[]): T => list[under(list.length)]!
  const puppet = new Puppet()
  puppet.onStop = (turn) => {
    if (under(4) > 0) turn.end({ outcome: one(['cancelled', 'completed', 'interrupted'] as const) })
  }
  puppet.onDecide = async () => one([{ state: 'delivered' }, { state: 'delivered' }, { state: 'refused', code: 'question_gone' }, { state: 'refused', code: 'relay_failed' }] as const)
  let rig = runsRig({ agents: { scripted: puppet }, seed })
  const session = await rig.chat()
  const told: Told = { started: new Map(), stopped: new Set(), decided: new Map(), said: new Map(), broken: new Set() }
  let keys = 0
  let calls = 0
  const working: Promise<unknown>[] = []
  const ask = <T>(work: Promise<T>, then: (value: T) => void): void => {
    working.push(work.then(then, (error: unknown) => {
      if (!(error instanceof Refusal)) throw error
    }))
  }
  const liveTurn = (): PuppetTurn | undefined => puppet.turns.findLast((turn) => !turn.over && rig.runs.live().some((each) => each.run === turn.input.run))
  const harm = (): void => {
    for (const each of rig.runs.live()) told.broken.add(each.run)
  }

  const speak = (turn: PuppetTurn): void => {
    const open = [...Array(calls).keys()].map(String)
    const event = one<() => AgentEvent>([
      () => ({ type: 'text', delta: one(['word ', 'a\u{1F680}', '\uD83D', '\uDE80', 'e\u0301', '']) }), () => ({ type: 'text', delta: 'more text '.repeat(under(5)) }),
      () => ({ type: 'reasoning', delta: 'hm ' }), () => ({ type: 'segment' }),
      () => ({ type: 'tool.started', call: String(calls++), name: 't', verb: 'other', ...(open.length && under(3) === 0 ? { parent: one(open) } : {}) }),
      () => ({ type: 'tool.changed', call: one([...open, 'none']), change: { output: `line ${under(9)}` } }),
      () => ({ type: 'tool.closed', call: one([...open, 'none']), state: one(['done', 'failed', 'cancelled', 'denied', 'unknown'] as const) }),
      () => ({ type: 'question.raised', question: `q${under(5)}`, ...(open.length && under(2) ? { call: one(open) } : {}), request: request() }),
      () => ({ type: 'question.withdrawn', question: `q${under(5)}`, why: one(['expired', 'withdrawn'] as const) }),
      () => ({ type: 'usage', usage: { input: under(100) } }), () => ({ type: 'notice', code: 'something' }), () => ({ type: 'title', text: `Title ${under(9)}` }),
      () => ({ type: 'context', messages: [{ n: under(99) }] }),
    ])()
    turn.emit(event)
    const settled = rig.runs.live().every((each) => each.run !== turn.input.run)
    if (event.type === 'text' && !settled) told.said.set(turn.input.run, (told.said.get(turn.input.run) ?? '') + event.delta)
    if (event.type === 'segment' || event.type === 'reasoning' || event.type === 'tool.started' || event.type === 'question.raised') told.said.set(turn.input.run, `${told.said.get(turn.input.run) ?? ''}|`)
  }

  const start = (): void => {
    const key = under(4) === 0 && keys > 0 ? `k${under(keys)}` : `k${keys++}`
    ask(rig.runs.start(rig.profile, { session, text: `Message of ${key}`, key, bodyHash: key }), (started) => {
      const before = told.started.get(key)
      if (before) expect(started).toEqual(before)
      told.started.set(key, started)
    })
  }

  const acts: (() => void | Promise<void>)[] = [
    ...Array<() => void>(14).fill(() => {
      const turn = liveTurn()
      if (turn) speak(turn)
    }),
    start, start, start,
    () => {
      const turn = [...told.started.values()].at(-1)?.turn
      if (turn) ask(rig.runs.start(rig.profile, { session, retry: turn }), () => {})
    },
    () => liveTurn()?.end({ outcome: one(['completed', 'completed', 'failed', 'interrupted'] as const) }),
    () => {
      if (under(4) === 0) liveTurn()?.crash(new Error('broke'))
    },
    () => {
      const run = rig.runs.live()[0]?.run
      if (run) ask(rig.runs.stop(rig.profile, run, 'person'), ({ cancelled }) => void (cancelled && told.stopped.add(run)))
    },
    ...Array<() => void>(3).fill(() => ask(rig.runs.decide(rig.profile, { session, choice: one(['once', 'deny'] as const) }), ({ approval, choice }) => told.decided.set(approval, choice))),
    () => ask(rig.runs.rename(rig.profile, session, `Name ${under(99)}`), () => {}),
    () => rig.model.hold(), () => rig.model.release(), () => rig.model.release(),
    () => {
      if (under(5) > 0) return
      harm()
      rig.model.failAppend(1 + under(2), one(['failed', 'full'] as const))
    },
    async () => {
      if (under(10) > 0) return
      harm()
      const disk = rig.model.crash()
      rig = runsRig({ agents: { scripted: puppet }, seed: seed + under(1e6), disk, timers: rig.timers })
      await rig.runs.recover()
    },
    () => rig.timers.advance(one([1, 20, 50, 700_000])), () => rig.timers.advance(20), () => settle(),
  ]
  for (let i = 0; i < STEPS; i++) {
    // A fault that waits for its append may meet a run that begins later.
    if (rig.model.fault !== undefined && told.broken.size > 0) harm()
    await one(acts)()
    if (under(2) === 0) await settle()
  }

  rig.model.release()
  rig.model.fault = () => undefined
  await settle()
  for (let i = 0; i < 40 && rig.runs.live().length > 0; i++) {
    liveTurn()?.end({ outcome: 'completed' })
    await rig.timers.advance(20_000)
  }
  await rig.timers.advance(20_000)
  expect(rig.runs.live()).toEqual([])
  await settle()

  const events = await rig.events(session)
  expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1))
  const value = await rig.transcript(session)
  expect(checkInvariants(value)).toEqual([])
  const window = await rig.store.window(session, { limit: 10_000 })
  expect(window!.rows).toEqual(value.order.map((id) => value.rows.get(id)))
  const of = <T extends (typeof events)[number]['type']>(type: T) => events.filter((event): event is Extract<(typeof events)[number], { type: T }> => event.type === type)
  expect(of('run.settled').map((event) => event.run)).toEqual(of('run.started').map((event) => event.run))
  for (const [key, started] of told.started) expect(of('turn.admitted').filter((event) => event.key === key).map((event) => event.turn)).toEqual([started.turn])
  for (const run of told.stopped) expect(of('run.settled').find((event) => event.run === run)!.outcome).toBe('cancelled')
  for (const [approval, kind] of told.decided) expect(of('approval.decided').filter((event) => event.approval === approval)).toMatchObject([{ kind }])
  seen.stops += told.stopped.size
  seen.answers += told.decided.size
  seen.harmed += told.broken.size
  for (const { run, outcome } of of('run.settled')) {
    seen.runs++
    if (told.broken.has(run) || outcome !== 'completed') continue
    seen.whole++
    const answers = value.order.map((id) => value.rows.get(id)!).filter((row) => row.kind === 'answer' && row.run === run)
    // Halves of a character are joined within a row and become U+FFFD at its end; whether a question ends a row depends on where it is shown.
    const settled = answers.map((row) => row.text ?? '').join('')
    expect(settled).not.toMatch(/\p{Surrogate}/u)
    const whole = (text: string) => text.replace(/\u{1F680}|[\p{Surrogate}\uFFFD]/gu, '')
    if (answers.length > 0 || !told.said.has(run)) expect(whole(settled)).toBe(whole((told.said.get(run) ?? '').replaceAll('|', '')))
  }
  await Promise.race([Promise.all(working), settle()])
}

describe('a chat that lives through anything', () => {
  it(`keeps the laws over ${HISTORIES} generated lives`, async () => {
    const first = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9))
    console.log(`lives: seed ${first}`)
    for (let i = 0; i < HISTORIES; i++) {
      try {
        await live(first + i)
      } catch (error) {
        throw new Error(`life of seed ${first + i}`, { cause: error })
      }
    }
    console.log(`lives: ${JSON.stringify(seen)}`)
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(HISTORIES / 10)
  })
})
