import { describe, expect, it } from 'vitest'
import type { Reattached } from '../../../../server/agents/port'
import type { Limits } from '../../../../server/runs/limits'
import { settle } from '../../../support/fake-timers'
import { checkInvariants } from '../../../support/invariants'
import { Puppet, request } from '../../../support/puppet'
import { runsRig, testProfile } from '../../../support/runs-rig'
import { codeOf } from './code-of'

type Rig = ReturnType<typeof runsRig>

/** A run that is bound to one of its agent's own, lived to some point, and then the server died. */
async function survived(act: (puppet: Puppet, rig: Rig, session: string, run: string) => void | Promise<void>, options: { limits?: Partial<Limits> } = {}) {
  const old = new Puppet()
  const rig = runsRig({ agents: { scripted: old } })
  const session = await rig.chat()
  const started = await rig.send(session, 'Hello')
  await settle()
  old.turn.emit({ type: 'turn.bound', foreign: 'agent-run-1', counters: { tokens: 7 } })
  await act(old, rig, session, started.run)
  await settle()
  const puppet = new Puppet()
  const heir = runsRig({ disk: rig.model.crash(), agents: { scripted: puppet }, seed: 2, ...options })
  return {
    ...heir, puppet, session, started,
    /** The agent says that its turn still runs. */
    runsOn: (message: string | null, open: string[] = []) => (puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message, open })),
    ended: (found: Omit<Extract<Reattached, { state: 'ended' }>, 'state'>) => (puppet.onReattach = async () => ({ state: 'ended', ...found })),
    recover: async () => {
      await heir.runs.recover()
      await settle()
    },
    shown: async () => {
      const value = await heir.transcript(session)
      expect(checkInvariants(value)).toEqual([])
      return value.order.map((id) => value.rows.get(id)!).filter((row) => row.kind !== 'user').map((row) => [row.kind, row.text, row.state])
    },
    attempts: async () => (await heir.transcript(session)).turns.get(started.turn)!.runs.map((run) => [run.cause, run.state, run.outcome]),
  }
}

describe('after our restart', () => {
  it('a run whose agent works on is settled as interrupted, and goes on as the next run of its turn', async () => {
    const { runsOn, recover, puppet, attempts, shown, started, lastRun, session, runs } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half an ' }))
    runsOn('Half an ')
    await recover()
    expect(puppet.bindings).toEqual([{ turn: started.turn, run: started.run, foreign: 'agent-run-1', counters: { tokens: 7 }, questions: [], shown: [{ kind: 'answer', text: 'Half an ' }] }])
    expect(await attempts()).toEqual([['sent', 'settled', 'interrupted'], ['reattached', 'running', undefined]])
    expect(await lastRun(session)).toMatchObject({ attempt: 2, generation: 2 })
    puppet.turn.emit({ type: 'text', delta: 'answer.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await attempts()).toEqual([['sent', 'settled', 'interrupted'], ['reattached', 'settled', 'completed']])
    expect(await shown()).toEqual([['answer', 'Half an answer.', 'done']])
    expect(runs.live()).toEqual([])
    expect((await lastRun(session))!.finalRow).toBeDefined()
  })

  it('steps of a sub-agent stand under the call that sent it in the run before, which had ended', async () => {
    const { runsOn, recover, puppet, transcript, session } = await survived((old) => {
      old.turn.emit({ type: 'tool.started', call: 'sent', name: 'delegate', verb: 'other' })
      old.turn.emit({ type: 'tool.closed', call: 'sent', state: 'done' })
    })
    runsOn(null)
    await recover()
    puppet.turn.emit({ type: 'tool.started', call: 'step', parent: 'sent', name: 'x', verb: 'other' })
    await settle()
    const tools = [...(await transcript(session)).rows.values()].filter((row) => row.kind === 'tool')
    expect(tools.map((row) => row.parent)).toEqual([undefined, tools[0]!.id])
    puppet.turn.end({ outcome: 'completed' })
    await settle()
  })

  it('text that the agent said meanwhile is added where its message begins with what was shown', async () => {
    const { runsOn, recover, puppet, shown } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half an ' }))
    runsOn('Half an answer, ')
    await recover()
    puppet.turn.emit({ type: 'text', delta: 'and more.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await shown()).toEqual([['answer', 'Half an answer, and more.', 'done']])
  })

  it('text that is not what the agent has is cut and written anew', async () => {
    const { runsOn, recover, puppet, shown, events, session } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half an ' }))
    runsOn('Another ')
    await recover()
    puppet.turn.emit({ type: 'text', delta: 'answer.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await shown()).toEqual([['answer', 'Another answer.', 'done']])
    expect((await events(session)).filter((event) => event.type === 'row.cut')).toMatchObject([{ keep: 0, why: 'superseded' }])
  })

  it('a message that stands already is not said again, a new one gets a row of its own, and one of both is divided', async () => {
    for (const [message, words] of [['First.', []], ['Second.', ['Second.']], ['First. Second.', [' Second.']]] as const) {
      const { runsOn, recover, puppet, shown } = await survived((old) => {
        old.turn.emit({ type: 'text', delta: 'First.' })
        old.turn.emit({ type: 'tool.started', call: 'c', name: 'read', verb: 'read' })
        old.turn.emit({ type: 'tool.closed', call: 'c', state: 'done' })
      })
      runsOn(message)
      await recover()
      puppet.turn.end({ outcome: 'completed' })
      await settle()
      expect(await shown()).toEqual([['answer', 'First.', 'done'], ['tool', '', 'done'], ...words.map((text) => ['answer', text, 'done'])])
    }
  })

  it('an agent that cannot say its message leaves what was shown', async () => {
    const { runsOn, recover, puppet, shown } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half an ' }))
    runsOn(null)
    await recover()
    puppet.turn.emit({ type: 'text', delta: 'answer.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await shown()).toEqual([['answer', 'Half an ', 'done'], ['answer', 'answer.', 'done']])
  })

  it('a tool that still runs is live again and closed by its real end; one that nobody knows of stays unknown', async () => {
    const { runsOn, recover, puppet, shown } = await survived((old) => {
      old.turn.emit({ type: 'tool.started', call: 'a', name: 'read', verb: 'read' })
      old.turn.emit({ type: 'tool.started', call: 'b', name: 'shell', verb: 'run' })
    })
    runsOn(null, ['b'])
    await recover()
    expect(await shown()).toEqual([['tool', '', 'unknown'], ['tool', '', 'live']])
    puppet.turn.emit({ type: 'tool.closed', call: 'b', state: 'failed' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await shown()).toEqual([['tool', '', 'unknown'], ['tool', '', 'failed']])
  })

  it('a turn that ended without us is settled with its own outcome, its text and the ends of its tools', async () => {
    const { ended, recover, attempts, shown, runs, lastRun, session } = await survived((old) => {
      old.turn.emit({ type: 'tool.started', call: 'b', name: 'shell', verb: 'run' })
      old.turn.emit({ type: 'text', delta: 'Half an ' })
    })
    ended({ end: { outcome: 'completed', usage: { output: 9 } }, message: 'Half an answer.', closed: [{ call: 'b', state: 'done', result: 'ok' }] })
    await recover()
    expect(await attempts()).toEqual([['sent', 'settled', 'interrupted'], ['reattached', 'settled', 'completed']])
    expect(await shown()).toEqual([['tool', '', 'done'], ['answer', 'Half an answer.', 'done']])
    expect(await lastRun(session)).toMatchObject({ usage: { output: 9 } })
    expect(runs.live()).toEqual([])
  })

  it('a run whose agent has gone, fails or says nothing stays interrupted, and the next message is taken', async () => {
    for (const fate of ['gone', 'throws', 'silent'] as const) {
      const { recover, puppet, attempts, timers, send, session } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half' }))
      if (fate === 'throws') puppet.onReattach = () => Promise.reject(new Error('no'))
      if (fate === 'silent') puppet.onReattach = () => new Promise(() => {})
      await recover()
      if (fate === 'silent') {
        expect(await codeOf(send(session, 'x'))).toBe('session_busy')
        await timers.advance(16_000)
      }
      expect(await attempts()).toEqual([['sent', 'settled', 'interrupted']])
      expect(await codeOf(send(session, 'x'))).toBe('none')
    }
  })

  it('an agent that answers too late is hung up, because something else may run by then', async () => {
    const { recover, puppet, timers, attempts } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half' }))
    let answer!: () => void
    puppet.onReattach = (opening, binding, sink) => new Promise((resolve) => (answer = () => resolve(puppet.runOn(opening, binding, sink, { message: 'Half' }))))
    await recover()
    await timers.advance(16_000)
    answer()
    await settle()
    expect([puppet.session.closed, await attempts()]).toEqual([true, [['sent', 'settled', 'interrupted']]])
  })

  it('an agent that breaks before anybody waits for its end harms nothing', async () => {
    for (const late of [true, false]) {
      const { recover, puppet, timers, attempts } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half' }))
      let answer!: () => void
      puppet.onReattach = (opening, binding, sink) => new Promise((resolve) => (answer = () => resolve(puppet.runOn(opening, binding, sink, { message: 'Half' }))))
      await recover()
      if (late) await timers.advance(16_000)
      answer()
      puppet.turn.crash(new Error('broke'))
      await settle()
      expect(await attempts()).toEqual([['sent', 'settled', 'interrupted'], ...(late ? [] : [['reattached', 'settled', 'failed']])])
      await new Promise((resolve) => setTimeout(resolve))
    }
  })

  it('nothing starts while the agent is being asked, and the queue waits for the outcome', async () => {
    const rig = await survived(async (old, before, session) => {
      await before.runs.enqueue(before.profile, { session, text: 'Queued' })
      old.turn.emit({ type: 'text', delta: 'Half' })
    })
    let answer!: () => void
    rig.puppet.onReattach = (opening, binding, sink) => new Promise((resolve) => (answer = () => resolve(rig.puppet.runOn(opening, binding, sink, { message: 'Half' }))))
    await rig.recover()
    const refused = await rig.send(rig.session, 'x').catch((error: { problem: unknown }) => error.problem)
    expect(refused).toMatchObject({ code: 'session_busy', active_stream_id: rig.started.run })
    answer()
    await settle()
    expect(await codeOf(rig.send(rig.session, 'x'))).toBe('session_busy')
    expect((await rig.runs.queue(rig.profile, rig.session)).queue.items.map((item) => item.text)).toEqual(['Queued'])
    rig.puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect([rig.puppet.turns.length, rig.puppet.turn.input.text]).toEqual([2, 'Queued'])
  })

  it('what the agent says while it is being asked is not lost', async () => {
    const { recover, puppet, shown } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half' }))
    puppet.onReattach = async (opening, binding, sink) => {
      const found = puppet.runOn(opening, binding, sink, { message: 'Half' })
      puppet.session.emit({ type: 'text', delta: ' and more' })
      return found
    }
    await recover()
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await shown()).toEqual([['answer', 'Half and more', 'done']])
  })

  it('open questions are handed back with their foreign values and raised again with new ids on the row of their tool; answers reach the agent', async () => {
    const { recover, puppet, transcript, session, runs, profile, events } = await survived((old) => {
      old.turn.emit({ type: 'tool.started', call: 'c', name: 'shell', verb: 'run' })
      old.turn.emit({ type: 'question.raised', question: 'q', call: 'c', foreign: 'agent-question-1', request: request() })
    })
    puppet.onReattach = async (opening, binding, sink) => {
      const found = puppet.runOn(opening, binding, sink, { message: null, open: ['c'] })
      for (const foreign of binding.questions) void sink({ type: 'question.raised', question: foreign, foreign, call: 'c', request: request() })
      return found
    }
    await recover()
    expect(puppet.bindings[0]!.questions).toEqual(['agent-question-1'])
    const raised = (await events(session)).filter((event) => event.type === 'approval.raised')
    expect(raised.length).toBe(2)
    expect(raised[1]!.approval).not.toBe(raised[0]!.approval)
    expect(raised[1]!.row).toBe(raised[0]!.row)
    expect(await codeOf(runs.decide(profile, { session, approval: raised[0]!.approval, choice: 'once' }))).not.toBe('none')
    expect(puppet.turn.decisions).toEqual([])
    await runs.decide(profile, { session, approval: raised[1]!.approval, choice: 'once' })
    expect(puppet.turn.decisions).toEqual([{ question: 'agent-question-1', choice: 'yes' }])
    puppet.turn.emit({ type: 'tool.closed', call: 'c', state: 'done' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(checkInvariants(await transcript(session))).toEqual([])
    // The agent's names of its questions are kept beside the log, never in it.
    expect(JSON.stringify(await events(session))).not.toContain('agent-question-1')
  })

  it('stop and the watchdog work through the run that was taken up', async () => {
    for (const how of ['stop', 'silence'] as const) {
      const { runsOn, recover, puppet, lastRun, session, runs, profile, timers } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half' }))
      runsOn('Half')
      await recover()
      const run = (await lastRun(session))!.id
      if (how === 'stop') expect(await runs.stop(profile, run, 'person')).toMatchObject({ cancelled: true })
      else await timers.advance(600_100)
      await settle()
      expect(puppet.turn.stops).toEqual([how === 'stop' ? 'person' : 'server'])
      expect(await lastRun(session)).toMatchObject(how === 'stop' ? { outcome: 'cancelled' } : { outcome: 'failed', problem: { code: 'agent_silent' } })
    }
  })

  it('a run that was stopping is never taken up: its agent is told to end, and until then nothing starts', async () => {
    const { runsOn, recover, puppet, attempts, send, session, timers } = await survived(async (old, rig, _, run) => {
      old.onStop = () => {}
      await rig.runs.stop(rig.profile, run, 'person')
    })
    puppet.onStop = () => {}
    runsOn('Half')
    await recover()
    expect(await attempts()).toEqual([['sent', 'settled', 'cancelled']])
    expect(puppet.turn.stops).toEqual(['person'])
    expect(await codeOf(send(session, 'x'))).toBe('session_busy')
    await timers.advance(16_000)
    expect([puppet.session.closed, await attempts()]).toEqual([true, [['sent', 'settled', 'cancelled']]])
    expect(await codeOf(send(session, 'x'))).toBe('none')
  })

  it('a run that was not bound, or whose agent cannot say, is not asked about', async () => {
    const old = new Puppet()
    const rig = runsRig({ agents: { scripted: old } })
    const session = await rig.chat()
    await rig.send(session, 'Hello')
    await settle()
    const puppet = new Puppet()
    const heir = runsRig({ disk: rig.model.crash(), agents: { scripted: puppet }, seed: 2 })
    await heir.runs.recover()
    await settle()
    expect(puppet.bindings).toEqual([])
    expect(await codeOf(heir.send(session, 'x'))).toBe('none')
  })

  it('a chat that is deleted while its agent is asked stays deleted, and the agent is hung up', async () => {
    const { recover, puppet, runs, profile, session, store } = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half' }))
    let answer!: () => void
    puppet.onReattach = (opening, binding, sink) => new Promise((resolve) => (answer = () => resolve(puppet.runOn(opening, binding, sink, { message: 'Half' }))))
    await recover()
    await runs.remove(profile, session)
    answer()
    await settle()
    expect([puppet.session.closed, (await store.load(session))!.deleted, runs.live()]).toEqual([true, true, []])
  })

  describe('that was killed itself before it took the turn up', () => {
    const left = async (act: Parameters<typeof survived>[0], foreign = 'agent-run-1') => {
      const first = await survived(act)
      let asked = 0
      first.puppet.onReattach = () => (asked++, new Promise(() => {}))
      await first.recover()
      expect([asked, (await first.attempts()).length]).toEqual([1, 1])
      const puppet = Object.assign(new Puppet(), { survivors: async () => [{ session: first.session, foreign }, { session: 'ses_of_nobody', foreign }] })
      return { ...first, puppet, heir: runsRig({ disk: first.model.crash(), agents: { scripted: puppet }, seed: 3 }) }
    }

    it('the next one takes it up, where the agent still holds it', async () => {
      const { puppet, heir, session } = await left((old) => {
        old.turn.emit({ type: 'text', delta: 'One ' })
        old.turn.emit({ type: 'tool.started', call: 'b', name: 'build', verb: 'run' })
      })
      puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message: 'One ', open: ['b'] })
      await heir.runs.recover()
      expect(await codeOf(heir.send(session, 'x'))).toBe('session_busy')
      await settle()
      puppet.turn.emit({ type: 'tool.closed', call: 'b', state: 'done' })
      puppet.turn.emit({ type: 'text', delta: 'two.' })
      puppet.turn.end({ outcome: 'completed' })
      await settle()
      const value = await heir.transcript(session)
      expect(checkInvariants(value)).toEqual([])
      expect([...value.turns.values()][0]!.runs.map((run) => [run.cause, run.outcome])).toEqual([['sent', 'interrupted'], ['reattached', 'completed']])
      expect(value.order.map((id) => value.rows.get(id)!).filter((row) => row.kind !== 'user').map((row) => [row.kind, row.text, row.state])).toEqual([['answer', 'One ', 'done'], ['tool', '', 'done'], ['answer', 'two.', 'done']])
    })

    it('the next one gives the words back to the agent that has them', async () => {
      const { puppet, heir, session } = await left(async (old, rig, chat) => {
        old.turn.emit({ type: 'text', delta: 'One ' })
        for (const text of ['used', 'lost']) await rig.runs.steer(rig.profile, { session: chat, text })
      })
      puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message: 'One ', taken: binding.steers!.slice(0, 1) })
      await heir.runs.recover()
      await settle()
      expect(puppet.bindings[0]!.steers).toHaveLength(2)
      puppet.turn.emit({ type: 'steer.delivered', steer: puppet.bindings[0]!.steers![0]!, evidence: 'seen' })
      puppet.turn.end({ outcome: 'completed' })
      await settle()
      const value = await heir.transcript(session)
      expect(checkInvariants(value)).toEqual([])
      expect([...value.rows.values()].filter((row) => row.kind === 'steer').map((row) => [row.text, row.steer.state])).toEqual([['used', 'delivered'], ['lost', 'returned']])
    })

    it('the next one leaves it alone where the agent holds another turn, or the chat has gone on', async () => {
      const other = await left((old) => old.turn.emit({ type: 'text', delta: 'One ' }), 'agent-run-2')
      await other.heir.runs.recover()
      await settle()
      expect(other.puppet.bindings).toEqual([])
      const gone = await left((old) => old.turn.emit({ type: 'text', delta: 'One ' }))
      await gone.heir.send(gone.session, 'Something else')
      await settle()
      gone.puppet.turn.end({ outcome: 'completed' })
      await gone.heir.runs.recover()
      await settle()
      expect(gone.puppet.bindings).toEqual([])
    })

    it('the next one ends it where it was stopped', async () => {
      const { puppet, heir, session } = await left(async (old, rig, _, run) => {
        old.onStop = () => {}
        await rig.runs.stop(rig.profile, run, 'person')
      })
      puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message: null })
      await heir.runs.recover()
      await heir.until(() => puppet.sessions.length > 0 && puppet.session.closed)
      expect(puppet.turn.stops).toEqual(['person'])
      expect(await heir.lastRun(session)).toMatchObject({ attempt: 1, outcome: 'cancelled' })
      await heir.until(async () => (await codeOf(heir.send(session, 'x'))) === 'none')
    })
  })

  describe('with a word into the turn', () => {
    const steered = () => survived(async (old, rig, session) => {
      old.turn.emit({ type: 'text', delta: 'Half' })
      await settle()
      for (const text of ['used', 'kept', 'lost']) await rig.runs.steer(rig.profile, { session, text })
    })
    const wordsOf = async ({ shown }: Awaited<ReturnType<typeof steered>>) => (await shown()).filter(([kind]) => kind === 'steer')
    const ends = async ({ events, session }: Awaited<ReturnType<typeof steered>>) =>
      (await events(session)).flatMap((event) => (event.type === 'steer.delivered' ? ['delivered'] : event.type === 'steer.returned' ? [event.to] : []))

    it('those that the agent has are with it again: used ones are told, and what it does not use goes to the queue after it completed', async () => {
      const rig = await steered()
      const { puppet, recover, runs, profile, session } = rig
      puppet.onReattach = async (opening, binding, sink) => {
        const [used, kept] = binding.steers!
        const found = puppet.runOn(opening, binding, sink, { message: 'Half', taken: [used!, kept!] })
        puppet.turn.emit({ type: 'steer.delivered', steer: used!, evidence: 'seen' })
        return found
      }
      await recover()
      expect(puppet.bindings[0]!.steers).toHaveLength(3)
      expect(await wordsOf(rig)).toEqual([['steer', 'used', 'done'], ['steer', 'kept', 'live'], ['steer', 'lost', 'cancelled']])
      // Nothing is said twice to the agent.
      expect(puppet.turn.steers).toEqual([])
      puppet.onReattach = async () => ({ state: 'gone' })
      puppet.turn.end({ outcome: 'completed' })
      await settle()
      expect(await wordsOf(rig)).toEqual([['steer', 'used', 'done'], ['steer', 'kept', 'cancelled'], ['steer', 'lost', 'cancelled']])
      expect(await ends(rig)).toEqual(['draft', 'draft', 'draft', 'delivered', 'queue'])
      // It is sent, because the run completed.
      expect(puppet.turn.input.text).toBe('kept')
      expect((await runs.queue(profile, session)).queue.items).toEqual([])
    })

    it('one that was with it again is delivered later like any other, or goes back to the draft', async () => {
      for (const end of ['used', 'failed'] as const) {
        const rig = await steered()
        const { puppet, recover } = rig
        puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message: 'Half', taken: [binding.steers![1]!] })
        await recover()
        if (end === 'used') puppet.turn.emit({ type: 'steer.delivered', steer: puppet.bindings[0]!.steers![1]!, evidence: 'inferred' })
        puppet.turn.end({ outcome: end === 'used' ? 'completed' : 'failed' })
        await settle()
        expect(await wordsOf(rig)).toEqual([['steer', 'used', 'cancelled'], ['steer', 'kept', end === 'used' ? 'done' : 'cancelled'], ['steer', 'lost', 'cancelled']])
        expect(await ends(rig)).toEqual(['draft', 'draft', 'draft', end === 'used' ? 'delivered' : 'draft'])
      }
    })

    it('of a turn that ended without us those that it used are delivered, and the others stay with the person', async () => {
      const rig = await steered()
      rig.puppet.onReattach = async (_, { steers }) => ({ state: 'ended', end: { outcome: 'completed' }, message: 'Half', closed: [], used: [steers![0]!, 'str_of_nobody'] })
      await rig.recover()
      expect(await wordsOf(rig)).toEqual([['steer', 'used', 'done'], ['steer', 'kept', 'cancelled'], ['steer', 'lost', 'cancelled']])
      expect(await ends(rig)).toEqual(['draft', 'draft', 'draft', 'delivered'])
      expect((await rig.runs.queue(rig.profile, rig.session)).queue.items).toEqual([])
    })

    it('that was used or refused before the restart is not asked about', async () => {
      const { recover, puppet } = await survived(async (old, rig, session) => {
        await rig.runs.steer(rig.profile, { session, text: 'used' })
        old.turn.emit({ type: 'steer.delivered', steer: old.turn.steers[0]!.steer, evidence: 'seen' })
        old.onSteer = async () => ({ state: 'refused', code: 'unsupported' })
        await rig.runs.steer(rig.profile, { session, text: 'refused' })
      })
      await recover()
      expect(puppet.bindings[0]!.steers).toBeUndefined()
    })
  })

  describe('a stop while the agent is being asked', () => {
    /** A restart whose agent answers when the test says so. */
    const asking = async () => {
      const rig = await survived((old) => old.turn.emit({ type: 'text', delta: 'Half' }))
      let answer!: (found: Reattached) => void
      let made!: () => Reattached
      rig.puppet.onReattach = (opening, binding, sink) => new Promise((resolve) => {
        made = () => rig.puppet.runOn(opening, binding, sink, { message: 'Half an answer' })
        answer = resolve
      })
      await rig.recover()
      let told: unknown
      return {
        ...rig, answer: async (found: Reattached = made()) => {
          answer(found)
          await settle()
        },
        stop: async (run = rig.started.run) => {
          void rig.runs.stop(rig.profile, run, 'person').then((said) => (told = said.cancelled), (error: { problem: { code: string } }) => (told = error.problem.code))
          await settle()
        },
        told: () => told,
      }
    }

    it('is answered when the run that goes on is stopping, and its outcome is cancelled, whatever the agent says', async () => {
      const { puppet, stop, told, answer, attempts, shown, events, session, send } = await asking()
      puppet.onStop = (turn) => turn.end({ outcome: 'completed' })
      await stop()
      expect([told(), await attempts()]).toEqual([undefined, [['sent', 'settled', 'interrupted']]])
      await answer()
      expect([told(), puppet.turn.stops]).toEqual([true, ['person']])
      expect(await attempts()).toEqual([['sent', 'settled', 'interrupted'], ['reattached', 'settled', 'cancelled']])
      // What came until then stands.
      expect(await shown()).toEqual([['answer', 'Half an answer', 'done']])
      // In one append: nobody ever saw it go on.
      const log = await events(session)
      const at = log.findIndex((event) => event.type === 'run.started' && event.cause === 'reattached')
      expect(log.slice(at, at + 3).map((event) => event.type)).toEqual(['run.started', 'run.bound', 'run.stopping'])
      expect(await codeOf(send(session, 'x'))).toBe('none')
    })

    it('holds when the server is killed right after its answer: the turn is not taken up again', async () => {
      const { puppet, stop, told, answer, model, session } = await asking()
      puppet.onStop = () => {}
      await stop()
      await answer()
      expect(told()).toBe(true)
      const next = new Puppet()
      const heir = runsRig({ disk: model.crash(), agents: { scripted: next }, seed: 3 })
      next.onReattach = async (opening, binding, sink) => next.runOn(opening, binding, sink, { message: 'Half an answer' })
      await heir.runs.recover()
      await settle()
      expect((await heir.lastRun(session))!).toMatchObject({ cause: 'reattached', attempt: 2, outcome: 'cancelled' })
      expect([next.turn.stops, next.session.closed]).toEqual([['person'], true])
      expect(await codeOf(heir.send(session, 'x'))).toBe('none')
    })

    it('is told the truth when the agent has gone, says nothing, or had ended its turn: nothing was stopped', async () => {
      for (const fate of ['gone', 'silent', 'ended'] as const) {
        const { stop, told, answer, timers, attempts, shown } = await asking()
        await stop()
        if (fate === 'gone') await answer({ state: 'gone' })
        if (fate === 'silent') await timers.advance(16_000)
        if (fate === 'ended') await answer({ state: 'ended', end: { outcome: 'completed' }, message: 'Half an answer', closed: [] })
        expect(told()).toBe(false)
        expect(await attempts()).toEqual([['sent', 'settled', 'interrupted'], ...(fate === 'ended' ? [['reattached', 'settled', 'completed']] : [])])
        expect(await shown()).toEqual([['answer', fate === 'ended' ? 'Half an answer' : 'Half', 'done']])
      }
    })

    it('that another profile asks for is refused, and one of another run stops nothing', async () => {
      const { runs, answer, started, attempts } = await asking()
      expect(await codeOf(runs.stop({ ...testProfile('other') }, started.run, 'person'))).toBe('session_profile_mismatch')
      expect(await runs.stop(testProfile(), 'run_of_nobody', 'person')).toEqual({ cancelled: false, session: null })
      await answer()
      expect(await attempts()).toEqual([['sent', 'settled', 'interrupted'], ['reattached', 'running', undefined]])
    })

    it('that comes by the old id when the turn goes on already stops it, too', async () => {
      const { puppet, stop, told, answer, attempts } = await asking()
      await answer()
      await stop()
      expect([told(), puppet.turn.stops]).toEqual([true, ['person']])
      expect((await attempts()).at(-1)).toEqual(['reattached', 'settled', 'cancelled'])
    })

    it('that the store does not take is refused and claims nothing; the turn goes on, and can be stopped', async () => {
      const { puppet, stop, told, answer, model, attempts, until, lastRun, session } = await asking()
      await stop()
      model.failAppend(1, 'full')
      await answer()
      expect(told()).toBe('store_full')
      await until(async () => (await lastRun(session))!.cause === 'reattached')
      expect([puppet.turn.stops, (await attempts()).at(-1)]).toEqual([[], ['reattached', 'running', undefined]])
      await stop()
      expect([told(), (await attempts()).at(-1)]).toEqual([true, ['reattached', 'settled', 'cancelled']])
    })

    it('delivers the words that the agent used before, and gives the others back', async () => {
      const rig = await survived(async (old, before, session) => {
        old.turn.emit({ type: 'text', delta: 'Half' })
        await settle()
        for (const text of ['used', 'kept']) await before.runs.steer(before.profile, { session, text })
      })
      rig.puppet.onReattach = async (opening, binding, sink) => {
        await rig.timers.advance(0)
        const found = rig.puppet.runOn(opening, binding, sink, { message: 'Half', taken: binding.steers! })
        rig.puppet.turn.emit({ type: 'steer.delivered', steer: binding.steers![0]!, evidence: 'seen' })
        return found
      }
      await rig.runs.recover()
      expect(await rig.runs.stop(rig.profile, rig.started.run, 'person')).toMatchObject({ cancelled: true })
      await settle()
      expect((await rig.shown()).slice(1)).toEqual([['steer', 'used', 'done'], ['steer', 'kept', 'cancelled']])
      expect((await rig.attempts()).at(-1)).toEqual(['reattached', 'settled', 'cancelled'])
    })

    it('with a message that is to be sent instead: that goes after it, also where there was nothing to stop', async () => {
      for (const fate of ['running', 'gone', 'ended'] as const) {
        const { runs, profile, session, started, puppet, answer, attempts, transcript } = await asking()
        const { item } = await runs.enqueue(profile, { session, text: 'Instead' })
        let sent = false
        void runs.sendQueued(profile, { session, item, stop: true, run: started.run }).then(() => (sent = true))
        await settle()
        expect([sent, puppet.turns.length]).toEqual([false, 0])
        await (fate === 'running' ? answer() : answer(fate === 'gone' ? { state: 'gone' } : { state: 'ended', end: { outcome: 'failed' }, message: null, closed: [] }))
        expect(sent).toBe(true)
        expect(puppet.turn.input.text).toBe('Instead')
        expect((await attempts()).slice(1)).toEqual(fate === 'gone' ? [] : [['reattached', 'settled', fate === 'running' ? 'cancelled' : 'failed']])
        expect([...(await transcript(session)).turns.values()].map((turn) => turn.source)).toEqual(['person', 'queue'])
      }
    })
  })

  it('a run that was taken up and met another restart is taken up again', async () => {
    const first = await survived((old) => old.turn.emit({ type: 'text', delta: 'One ' }))
    first.runsOn('One ')
    await first.recover()
    first.puppet.turn.emit({ type: 'text', delta: 'two ' })
    await settle()
    const puppet = new Puppet()
    const heir = runsRig({ disk: first.model.crash(), agents: { scripted: puppet }, seed: 3 })
    puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message: 'One two three ' })
    await heir.runs.recover()
    await settle()
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    const value = await heir.transcript(first.session)
    expect(checkInvariants(value)).toEqual([])
    expect([...value.turns.values()][0]!.runs.map((run) => [run.attempt, run.outcome])).toEqual([[1, 'interrupted'], [2, 'interrupted'], [3, 'completed']])
    expect(await heir.answer(first.session)).toBe('One two three ')
  })

  it('what the first run of the turn has shown is not said again after a second restart', async () => {
    const first = await survived((old) => old.turn.emit({ type: 'text', delta: 'One ' }))
    first.runsOn(null)
    await first.recover()
    const puppet = new Puppet()
    const heir = runsRig({ disk: first.model.crash(), agents: { scripted: puppet }, seed: 3 })
    puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message: 'One ' })
    await heir.runs.recover()
    await settle()
    puppet.turn.emit({ type: 'text', delta: 'two.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await heir.answer(first.session)).toBe('One two.')
  })

  it('a message that a question has parted, and that the agent repeats whole after the restart, stands once', async () => {
    const { runsOn, recover, puppet, shown } = await survived((old) => {
      old.turn.emit({ type: 'text', delta: 'Before. ' })
      old.turn.emit({ type: 'clarify.raised', question: 'q', request: { question: 'Which?', choices: ['a'], free: false } })
      old.turn.emit({ type: 'text', delta: 'After.' })
    })
    runsOn('Before. After.')
    await recover()
    puppet.turn.emit({ type: 'message', text: 'Before. After.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect((await shown()).filter(([kind]) => kind === 'answer')).toEqual([['answer', 'Before. ', 'done'], ['answer', 'After.', 'done']])
  })

  it('a message whose last words stood at its beginning, too, is recognised whole', async () => {
    const { runsOn, recover, puppet, shown } = await survived((old) => {
      old.turn.emit({ type: 'text', delta: 'Yes. No. ' })
      old.turn.emit({ type: 'reasoning', delta: 'Hm.' })
      old.turn.emit({ type: 'text', delta: 'Yes. ' })
    })
    runsOn('Yes. No. Yes. ')
    await recover()
    puppet.turn.emit({ type: 'text', delta: 'Done.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect((await shown()).filter(([kind]) => kind === 'answer')).toEqual([['answer', 'Yes. No. ', 'done'], ['answer', 'Yes. Done.', 'done']])
  })
})
