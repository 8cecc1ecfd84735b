import { describe, expect, it } from 'vitest'
import type { AgentSession } from '../../../../server/agents/port'
import { settle } from '../../../support/fake-timers'
import { checkInvariants } from '../../../support/invariants'
import { Puppet, request } from '../../../support/puppet'
import { runsRig, testProfile } from '../../../support/runs-rig'
import { codeOf } from './code-of'

async function running(kind: 'scripted' | 'hermes-gateway' = 'scripted') {
  const puppet = new Puppet()
  puppet.onProbe = async () => ({ state: 'ready', agent: { kind, name: 'Puppet' }, capabilities: ['steer'], model: null })
  const rig = runsRig({ agents: { scripted: puppet, [kind]: puppet } })
  const session = await rig.chat()
  const started = await rig.send(session, 'Hello')
  await settle()
  return {
    ...rig, puppet, session, started,
    steer: (text: string, more: { key?: string; bodyHash?: string } = {}) => rig.runs.steer(rig.profile, { session, text, ...more }),
    stop: () => rig.runs.stop(rig.profile, started.run, 'person'),
    /** What the rows of kind steer say, in order. */
    steers: async () => {
      const value = await rig.transcript(session)
      return value.order.map((id) => value.rows.get(id)!).flatMap((row) => (row.kind === 'steer' ? [[row.text, row.steer.state, row.steer.to, row.state]] : []))
    },
    texts: async () => (await rig.runs.queue(rig.profile, session)).queue.items.map((item) => [item.text, item.by]),
    end: async (outcome: 'completed' | 'failed' = 'completed') => {
      puppet.turn.emit({ type: 'text', delta: 'Words.' })
      puppet.turn.end({ outcome })
      await settle()
    },
  }
}

describe('a word into a running turn', () => {
  it('is in the log before the agent is told, and the agent is told once', async () => {
    const { steer, model, puppet, started, steers, events, session } = await running()
    model.hold()
    const asked = steer('Use staging')
    await settle()
    expect(puppet.turn.steers).toEqual([])
    model.release()
    const answer = await asked
    expect(answer).toMatchObject({ accepted: true, run: started.run })
    expect(puppet.turn.steers).toEqual([{ steer: (answer as { steer: string }).steer, text: 'Use staging' }])
    expect(await steers()).toEqual([['Use staging', 'accepted', undefined, 'live']])
    const log = (await events(session)).map((event) => event.type)
    expect(log.slice(-2)).toEqual(['row.opened', 'steer.accepted'])
  })

  it('ends as delivered when the agent says that it has used it', async () => {
    const { steer, puppet, steers, end, transcript, session } = await running()
    const answer = await steer('Use staging')
    puppet.turn.emit({ type: 'steer.delivered', steer: (answer as { steer: string }).steer, evidence: 'seen' })
    await settle()
    expect(await steers()).toEqual([['Use staging', 'delivered', undefined, 'done']])
    await end()
    expect(await steers()).toEqual([['Use staging', 'delivered', undefined, 'done']])
    expect(checkInvariants(await transcript(session))).toEqual([])
  })

  it('that a completed run did not use is sent next, before what waited, in the order in which it was said', async () => {
    const { steer, runs, profile, session, end, steers, puppet, texts, events } = await running()
    await runs.enqueue(profile, { session, text: 'Later' })
    await steer('One')
    await steer('Two')
    await end()
    expect(await steers()).toEqual([['One', 'returned', 'queue', 'cancelled'], ['Two', 'returned', 'queue', 'cancelled']])
    expect([puppet.turn.input.text, await texts()]).toEqual(['One', [['Two', 'steer'], ['Later', 'person']]])
    const log = await events(session)
    const returned = log.findIndex((event) => event.type === 'steer.returned')
    const added = log.findIndex((event) => event.type === 'queue.added' && event.by === 'steer')
    const settled = log.findIndex((event) => event.type === 'run.settled')
    expect(added < returned && returned < settled).toBe(true)
  })

  it('that a failed run did not use goes back to the person, and nothing sends it', async () => {
    const { steer, end, steers, texts, puppet } = await running()
    await steer('One')
    await end('failed')
    expect([await steers(), await texts(), puppet.turns.length]).toEqual([[['One', 'returned', 'draft', 'cancelled']], [], 1])
  })

  it('case 118: after a stop is refused as stream_dead, and the agent is never called', async () => {
    const { steer, stop, puppet, steers } = await running()
    puppet.onStop = () => {}
    const stopped = stop()
    expect(await steer('Too late')).toMatchObject({ accepted: false, code: 'stream_dead' })
    await stopped
    expect(await steer('Later still')).toMatchObject({ accepted: false, code: 'stream_dead' })
    expect([puppet.turn.steers, await steers()]).toEqual([[], []])
  })

  it('case 118: that waited behind an answer when the stop came is refused, and leaves no trace', async () => {
    const { steer, stop, puppet, runs, profile, session, steers } = await running()
    puppet.turn.emit({ type: 'question.raised', question: 'q', request: request() })
    await settle()
    let release!: () => void
    puppet.onDecide = () => new Promise((resolve) => (release = () => resolve({ state: 'delivered' })))
    puppet.onStop = () => {}
    const decided = codeOf(runs.decide(profile, { session, choice: 'once' }))
    await settle()
    const asked = steer('Too late')
    const stopped = stop()
    release()
    expect(await asked).toMatchObject({ accepted: false, code: 'stream_dead' })
    await Promise.all([stopped, decided])
    expect([puppet.turn.steers, await steers()]).toEqual([[], []])
  })

  it('case 119: before a stop is accepted, and comes back to the draft when the run is cancelled', async () => {
    const { steer, stop, puppet, steers, texts, runOf, started } = await running()
    expect(await steer('One')).toMatchObject({ accepted: true })
    await stop()
    await settle()
    expect(await runOf(started)).toMatchObject({ outcome: 'cancelled' })
    expect([await steers(), await texts(), puppet.turns.length]).toEqual([[['One', 'returned', 'draft', 'cancelled']], [], 1])
  })

  it('that was answered as refused because of a stop stays with the person, though the agent says later that it arrived', async () => {
    const { steer, stop, puppet, steers } = await running()
    let release!: () => void
    puppet.onSteer = () => new Promise((resolve) => (release = () => resolve({ state: 'delivered' })))
    puppet.onStop = () => {}
    const asked = steer('One')
    await settle()
    const { steer: id } = puppet.turn.steers[0]!
    await stop()
    release()
    expect(await asked).toMatchObject({ accepted: false, code: 'stream_dead' })
    puppet.turn.emit({ type: 'steer.delivered', steer: id, evidence: 'seen' })
    puppet.turn.end({ outcome: 'cancelled' })
    await settle()
    expect(await steers()).toEqual([['One', 'returned', 'draft', 'cancelled']])
  })

  it('said twice at once with one key does not harm the run that ends in the same instant', async () => {
    const { steer, puppet, runOf, started, steers, model } = await running()
    const key = { key: 'k', bodyHash: 'h' }
    puppet.onSteer = async () => {
      model.hold()
      return { state: 'delivered' }
    }
    puppet.turn.emit({ type: 'text', delta: 'Half' })
    const asked = Promise.all([steer('One', key), steer('One', key), steer('One', key)])
    await settle()
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    model.release()
    const [first, ...more] = await asked
    expect(first).toMatchObject({ accepted: true })
    expect(more).toEqual([first, first])
    await settle()
    expect(await runOf(started)).toMatchObject({ state: 'settled', outcome: 'completed' })
    expect(await steers()).toEqual([['One', 'returned', 'queue', 'cancelled']])
  })

  it('whose agent answers only after a stop counts as refused', async () => {
    const { steer, stop, puppet, steers } = await running()
    let release!: () => void
    puppet.onSteer = () => new Promise((resolve) => (release = () => resolve({ state: 'delivered' })))
    puppet.onStop = () => {}
    const asked = steer('One')
    await settle()
    await stop()
    release()
    expect(await asked).toMatchObject({ accepted: false, code: 'stream_dead' })
    puppet.turn.end({ outcome: 'cancelled' })
    await settle()
    expect(await steers()).toEqual([['One', 'returned', 'draft', 'cancelled']])
  })

  it('whose agent answers only after the turn has completed stays accepted: it is the next message', async () => {
    const { steer, puppet, steers, end } = await running()
    let release!: () => void
    puppet.onSteer = () => new Promise((resolve) => (release = () => resolve({ state: 'delivered' })))
    const asked = steer('One')
    await settle()
    await end()
    release()
    expect(await asked).toMatchObject({ accepted: true })
    expect([await steers(), puppet.turn.input.text]).toEqual([[['One', 'returned', 'queue', 'cancelled']], 'One'])
  })

  it('case 120: of another chat, of none and of an idle one never reaches an agent', async () => {
    const { runs, profile, puppet, chat, session, end, steer } = await running()
    const other = await chat()
    expect(await runs.steer(profile, { session: 'ses_none', text: 'x' })).toEqual({ accepted: false, code: 'session_not_found' })
    expect(await runs.steer(profile, { session: other, text: 'x' })).toEqual({ accepted: false, code: 'not_running' })
    expect(await codeOf(runs.steer(testProfile('work'), { session, text: 'x' }))).toBe('session_profile_mismatch')
    expect(await codeOf(runs.steer(testProfile('work'), { session: other, text: 'x' }))).toBe('session_profile_mismatch')
    expect(await codeOf(steer('  '))).toBe('message_required')
    expect(puppet.turn.steers).toEqual([])
    await end()
    expect(await steer('x')).toEqual({ accepted: false, code: 'not_running' })
    await runs.remove(profile, other)
    expect(await runs.steer(profile, { session: other, text: 'x' })).toEqual({ accepted: false, code: 'session_not_found' })
  })

  it('case 121: of an agent kind that we do not know is refused, of a gateway is to be queued', async () => {
    const unknown = await running('other' as 'scripted')
    expect(await unknown.steer('x')).toMatchObject({ accepted: false, code: 'stream_dead' })
    const gateway = await running('hermes-gateway')
    expect(await gateway.steer('x')).toMatchObject({ accepted: false, code: 'gateway_steer_queued' })
    expect([unknown.puppet.turn.steers, gateway.puppet.turn.steers]).toEqual([[], []])
  })

  it('needs an agent that takes words, and one that has opened', async () => {
    const puppet = new Puppet()
    let open!: () => void
    puppet.onOpen = () => new Promise((resolve) => (open = resolve))
    const real = puppet.open.bind(puppet)
    puppet.open = async (opening, sink) => {
      const { steer: _, ...session } = await real(opening, sink)
      return session as AgentSession
    }
    const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    await rig.send(session, 'Hello')
    await settle()
    expect(await rig.runs.steer(rig.profile, { session, text: 'x' })).toMatchObject({ accepted: false, code: 'no_cached_agent' })
    open()
    await settle()
    expect(await rig.runs.steer(rig.profile, { session, text: 'x' })).toMatchObject({ accepted: false, code: 'agent_lacks_steer' })
  })

  it('that the agent refuses or that makes it throw goes back to the draft at once', async () => {
    const { steer, puppet, steers } = await running()
    puppet.onSteer = async () => ({ state: 'refused', code: 'unsupported' })
    expect(await steer('One')).toMatchObject({ accepted: false, code: 'agent_lacks_steer' })
    puppet.onSteer = async () => { throw new Error('broke') }
    expect(await steer('Two')).toMatchObject({ accepted: false, code: 'steer_error' })
    puppet.onSteer = () => { throw new Error('broke at once') }
    expect(await steer('Three')).toMatchObject({ accepted: false, code: 'steer_error' })
    puppet.onSteer = async () => ({ state: 'refused', code: 'not_running' })
    expect(await steer('Four')).toMatchObject({ accepted: false, code: 'not_running' })
    expect(await steers()).toEqual(['One', 'Two', 'Three', 'Four'].map((text) => [text, 'returned', 'draft', 'cancelled']))
  })

  it('that the end of the server gave back is answered the same to whoever asks again with its key, also when its run is over', async () => {
    const { steer, model, puppet, runs, started, steers, timers, runOf } = await running()
    const key = { key: 'k', bodyHash: 'h' }
    puppet.turn.emit({ type: 'text', delta: 'Words.' })
    puppet.onStop = (turn) => turn.end({ outcome: 'completed' })
    await settle()
    model.hold()
    const first = steer('One', key)
    await settle()
    const drained = runs.drain()
    model.release()
    await timers.advance(8000)
    await drained
    expect((await runOf(started)).outcome).toBe('completed')
    expect([await first, await steer('One', key)]).toEqual(Array(2).fill({ accepted: false, code: 'stream_dead', run: started.run }))
    expect(await steers()).toEqual([['One', 'returned', 'draft', 'cancelled']])
  })

  it('with the same key is one word, also while the first request waits and after the run has gone', async () => {
    const { steer, puppet, steers, end } = await running()
    const key = { key: 'k', bodyHash: 'h' }
    const [a, b] = await Promise.all([steer('One', key), steer('One', key)])
    expect(b).toEqual(a)
    expect(await steer('One', key)).toEqual(a)
    expect(await codeOf(steer('Other', { key: 'k', bodyHash: 'i' }))).toBe('key_reused')
    expect([puppet.turn.steers.length, (await steers()).length]).toEqual([1, 1])
    await end('failed')
    expect(await steer('One', key)).toEqual(a)
    expect((await steers()).length).toBe(1)
  })

  it('that a crash finds undelivered comes back to the draft, after a crash at any commit, once', async () => {
    let commits = 0
    for (let n = 0; n <= commits; n++) {
      const rig = await running()
      let seen = 0
      rig.model.onCommit(() => {
        if (++seen === n) rig.model.crash()
      })
      let accepted = false
      void rig.steer('One').then((answer) => (accepted = answer.accepted), () => undefined)
      await settle()
      void rig.end().catch(() => undefined)
      await settle()
      commits = Math.max(commits, seen)
      rig.model.crash()
      const heir = runsRig({ disk: rig.model.disk, agents: { scripted: new Puppet() }, seed: 2 })
      await heir.runs.recover()
      await settle()
      const value = await heir.transcript(rig.session)
      expect(checkInvariants(value)).toEqual([])
      const rows = [...value.rows.values()]
      const word = rows.find((row) => row.kind === 'steer')
      if (accepted) expect(word).toBeDefined()
      if (word?.kind !== 'steer') continue
      // Given back to the person, or sent as the next message, never both.
      expect(word.steer.state).toBe('returned')
      const sent = rows.filter((row) => row.kind === 'user' && row.text === 'One').length + value.queue.items.length
      expect(sent, `commit ${n}`).toBe(word.steer.to === 'queue' ? 1 : 0)
    }
    expect(commits).toBeGreaterThan(2)
  })
})
