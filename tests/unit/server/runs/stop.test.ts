import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../../server/agents/port'
import { Puppet } from '../../../support/puppet'
import { checkInvariants } from '../../../support/invariants'
import { settle } from '../../../support/fake-timers'
import { runsRig, seeded, testProfile } from '../../../support/runs-rig'
import { codeOf } from './code-of'

async function running() {
  const puppet = new Puppet()
  const rig = runsRig({ agents: { scripted: puppet } })
  const session = await rig.chat()
  const started = await rig.send(session, 'Hello')
  await settle()
  return { ...rig, puppet, session, started, stop: () => rig.runs.stop(rig.profile, started.run, 'person') }
}

describe('stop', () => {
  it('is committed before it is answered and before the agent is told', async () => {
    const { stop, model, puppet, events, session } = await running()
    model.hold()
    let answered = false
    const stopped = stop().finally(() => (answered = true))
    await settle()
    expect([answered, puppet.turn.stops.length]).toEqual([false, 0])
    puppet.onStop = () => {}
    model.release()
    expect(await stopped).toMatchObject({ cancelled: true, session })
    await settle()
    expect(puppet.turn.stops).toEqual(['person'])
    expect((await events(session)).at(-1)).toMatchObject({ type: 'run.stopping', by: 'person' })
  })

  it('makes the outcome cancelled, whatever word the agent uses', async () => {
    for (const outcome of ['completed', 'failed', 'interrupted', 'cancelled'] as const) {
      const { stop, puppet, runOf, started } = await running()
      puppet.onStop = (turn) => turn.end({ outcome, ...(outcome === 'failed' ? { problem: { code: 'error' as const } } : {}) })
      await stop()
      await settle()
      const run = await runOf(started)
      expect(run).toMatchObject({ state: 'settled', outcome: 'cancelled', stoppedBy: 'person' })
      expect(run.problem).toBeUndefined()
    }
  })

  it('keeps what was written and closes tools as cancelled', async () => {
    const { stop, puppet, transcript, session } = await running()
    puppet.turn.emit({ type: 'text', delta: 'Half' })
    puppet.turn.emit({ type: 'tool.started', call: 'c', name: 'read', verb: 'read' })
    await stop()
    await settle()
    const rows = [...(await transcript(session)).rows.values()].filter((row) => row.kind !== 'user')
    expect(rows.map((row) => [row.kind, row.state, row.text])).toEqual([['answer', 'done', 'Half'], ['tool', 'cancelled', '']])
  })

  it('answers false after the run has settled, and for a run that nobody knows', async () => {
    const { stop, puppet, runs, profile, session, started } = await running()
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await stop()).toEqual({ cancelled: false, session })
    expect(await runs.stop(profile, 'run_none', 'person')).toEqual({ cancelled: false, session: null })
    expect(await codeOf(runs.stop(testProfile('work'), started.run, 'person'))).toBe('session_profile_mismatch')
  })

  it('gives up an agent that does not end, keeps the chat busy until then, and takes nothing late from it', async () => {
    const { stop, puppet, runOf, started, timers, runs, profile, session, events } = await running()
    puppet.onStop = () => {}
    await stop()
    await timers.advance(14_900)
    expect((await runOf(started)).state).toBe('stopping')
    expect(await codeOf(runs.start(profile, { session, text: 'x' }))).toBe('session_busy')
    await timers.advance(200)
    expect(await runOf(started)).toMatchObject({ state: 'settled', outcome: 'cancelled' })
    const late = puppet.turn
    expect(late.closed).toBe(true)
    const next = await runs.start(profile, { session, text: 'Next' })
    await settle()
    const before = (await events(session)).length
    late.emit({ type: 'text', delta: 'too late' })
    late.end({ outcome: 'completed' })
    await timers.advance(100)
    expect((await events(session)).length).toBe(before)
    puppet.turn.emit({ type: 'text', delta: 'Here.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await runOf(next)).toMatchObject({ outcome: 'completed', generation: 2 })
  })

  it('before the agent has opened never begins the turn', async () => {
    const puppet = new Puppet()
    let open = (): void => {}
    puppet.onOpen = () => new Promise((resolve) => (open = resolve))
    const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    const started = await rig.send(session, 'Hello')
    await settle()
    expect(await rig.runs.stop(rig.profile, started.run, 'person')).toMatchObject({ cancelled: true })
    open()
    await settle()
    expect(puppet.turns).toEqual([])
    expect(await rig.runOf(started)).toMatchObject({ outcome: 'cancelled' })
  })

  it('case 122: keeps the question and what there was of thoughts, tools or text, once, and marks the turn once', async () => {
    const parts: Record<string, AgentEvent[]> = {
      thoughts: [{ type: 'reasoning', delta: 'Let me see' }], tools: [{ type: 'tool.started', call: 'c', name: 'read', verb: 'read' }], nothing: [], text: [{ type: 'text', delta: 'Half' }],
    }
    for (const [name, events] of Object.entries(parts)) {
      const { stop, puppet, transcript, session, started, runOf } = await running()
      for (const event of events) puppet.turn.emit(event)
      await stop()
      await settle()
      const rows = [...(await transcript(session)).rows.values()].map((row) => row.kind)
      expect(rows, name).toEqual(['user', ...({ thoughts: ['thought'], tools: ['tool'], nothing: [], text: ['answer'] })[name]!])
      expect(await runOf(started)).toMatchObject({ outcome: 'cancelled' })
    }
  })

  it('case 123: twice, or beside the agent that ends by itself, is one stop and one outcome', async () => {
    const { stop, puppet, events, session } = await running()
    puppet.onStop = () => {}
    const [first, second] = await Promise.all([stop(), stop()])
    expect([first.cancelled, second.cancelled]).toEqual([true, true])
    puppet.turn.end({ outcome: 'cancelled' })
    await settle()
    expect((await stop()).cancelled).toBe(false)
    const types = (await events(session)).map((event) => event.type)
    expect([types.filter((type) => type === 'run.stopping').length, types.filter((type) => type === 'run.settled').length, puppet.turn.stops]).toEqual([1, 1, ['person']])
  })

  it('cases 124, 125 and 127: of a run that a newer one followed changes nothing, and neither does what its agent says late', async () => {
    const { stop, puppet, timers, send, session, events, runOf, answer } = await running()
    puppet.onStop = () => {}
    await stop()
    await timers.advance(16_000)
    const late = puppet.turn
    const next = await send(session, 'Next')
    await settle()
    const before = (await events(session)).length
    expect((await stop()).cancelled).toBe(false)
    late.emit({ type: 'text', delta: 'Late answer.' })
    late.end({ outcome: 'completed' })
    await timers.advance(20_000)
    expect((await events(session)).length).toBe(before)
    expect([(await runOf(next)).state, await answer(session), puppet.turn.stops]).toEqual(['running', '', []])
  })

  it('case 126: makes a run busy, and no longer one to attach to, until its agent has ended: 15 s, or 180 s where it cannot be killed', async () => {
    for (const [kind, ladder] of [['scripted', 15_000], ['hermes-gateway', 180_000]] as const) {
      const puppet = new Puppet()
      puppet.onProbe = async () => ({ state: 'ready', agent: { kind, name: 'Puppet' }, capabilities: [], model: null })
      puppet.onStop = () => {}
      const rig = runsRig({ agents: { scripted: puppet, [kind]: puppet } })
      const session = await rig.chat()
      const started = await rig.send(session, 'Hello')
      await rig.timers.advance(300_000)
      puppet.turn.emit({ type: 'text', delta: 'x' })
      await rig.runs.stop(rig.profile, started.run, 'person')
      await rig.timers.advance(ladder - 1000)
      expect(await rig.runOf(started)).toMatchObject({ state: 'stopping' })
      expect(await codeOf(rig.send(session, 'x'))).toBe('session_busy')
      await rig.timers.advance(2000)
      expect(await rig.runOf(started)).toMatchObject({ outcome: 'cancelled' })
      expect(await codeOf(rig.send(session, 'x'))).toBe('none')
    }
  })

  it('no turn opens before the agent that was given up has closed', async () => {
    const { puppet, stop, timers, send, session } = await running()
    puppet.onStop = () => {}
    let closed!: () => void
    puppet.onClose = () => new Promise((resolve) => (closed = resolve))
    await stop()
    await timers.advance(15_100)
    expect(await codeOf(send(session, 'x'))).toBe('session_busy')
    closed()
    await settle()
    expect(await codeOf(send(session, 'x'))).toBe('none')
  })

  it('case 128: of two sends at once one is taken, the other is told which run is in its way', async () => {
    const rig = runsRig({ agents: { scripted: new Puppet() } })
    const session = await rig.chat()
    const [one, two] = await Promise.allSettled([rig.send(session, 'One'), rig.send(session, 'Two')])
    expect([one.status, two.status]).toEqual(['fulfilled', 'rejected'])
    const run = (one as PromiseFulfilledResult<{ run: string }>).value.run
    expect((two as PromiseRejectedResult).reason).toMatchObject({ status: 409, problem: { code: 'session_busy', active_stream_id: run } })
    expect((await rig.transcript(session)).turns.size).toBe(1)
  })

  it("does not put off the server's own end", async () => {
    const { runs, puppet, timers, stop, runOf, started } = await running()
    puppet.onStop = () => {}
    let ended = false
    void runs.drain().then(() => (ended = true))
    await settle()
    await stop().catch(() => undefined)
    await timers.advance(4000)
    expect([ended, (await runOf(started)).state]).toEqual([true, 'settled'])
  })

  it('and every other end race to exactly one outcome, however they interleave', async () => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9))
    console.log(`stop races: seed ${seed}`)
    const random = seeded(seed)
    for (let round = 0; round < 300; round++) {
      const puppet = new Puppet()
      const rig = runsRig({ agents: { scripted: puppet }, seed: seed + round })
      const session = await rig.chat()
      const started = await rig.send(session, 'Hello')
      await settle()
      puppet.turn.emit({ type: 'text', delta: 'a' })
      puppet.turn.emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other' })
      puppet.turn.emit({ type: 'question.raised', question: 'q', call: 'c', request: { action: 'x', tool: 'x', choices: [{ id: 'once', kind: 'once' }, { id: 'deny', kind: 'deny' }] } })
      if (random() < 0.5) rig.model.hold()
      const acts: (() => unknown)[] = [
        () => rig.runs.stop(rig.profile, started.run, 'person').catch((error: unknown) => error),
        () => rig.runs.stop(rig.profile, started.run, 'person').catch((error: unknown) => error),
        () => puppet.turn.end({ outcome: 'completed' }),
        () => rig.runs.decide(rig.profile, { session, choice: 'once' }).catch((error: unknown) => error),
        () => puppet.turn.emit({ type: 'tool.closed', call: 'c', state: 'done' }),
        () => puppet.turn.emit({ type: 'text', delta: 'b' }),
        () => rig.runs.start(rig.profile, { session, text: 'Next' }).catch((error: unknown) => error),
        () => rig.model.release(),
        () => rig.runs.drain(),
      ]
      for (const act of acts.map((each) => ({ each, order: random() })).sort((a, b) => a.order - b.order)) {
        void act.each()
        for (let i = Math.floor(random() * 4); i > 0; i--) await Promise.resolve()
        if (random() < 0.3) await settle()
      }
      rig.model.release()
      await rig.timers.advance(20_000)
      for (const turn of puppet.turns) turn.end({ outcome: 'completed' })
      await rig.timers.advance(20_000)
      const events = await rig.events(session)
      const runs = events.filter((event) => event.type === 'run.started').map((event) => event.run)
      expect(events.filter((event) => event.type === 'run.settled').map((event) => event.run)).toEqual(runs)
      expect(checkInvariants(await rig.transcript(session))).toEqual([])
      expect(rig.runs.live()).toEqual([])
    }
  })
})
