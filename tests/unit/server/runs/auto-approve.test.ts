import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../../server/agents/port'
import type { Choice } from '../../../../server/contract/approvals'
import { settle } from '../../../support/fake-timers'
import { request } from '../../../support/puppet'
import { testProfile } from '../../../support/runs-rig'
import { codeOf } from './code-of'
import { talking } from './talking'

const EVERY: Choice[] = [{ id: 'A', kind: 'always' }, { id: 'S', kind: 'session' }, { id: 'O', kind: 'once' }, { id: 'O2', kind: 'once' }, { id: 'N', kind: 'deny' }, { id: 'NN', kind: 'deny_always' }]

function question(name: string, choices: Choice[] = EVERY, more: Partial<Extract<AgentEvent, { type: 'question.raised' }>> = {}): AgentEvent {
  return { type: 'question.raised', question: name, request: { ...request(name), choices }, ...more }
}

async function switched() {
  const rig = await talking()
  const all = (enabled: boolean) => rig.runs.approveAll(rig.profile, rig.session, enabled)
  const flag = async () => (await rig.transcript(rig.session)).session!.approvals
  const types = async () => (await rig.events(rig.session)).filter((event) => event.type.startsWith('approval.') || 'approvals' in event).map((event) => event.type)
  return { ...rig, all, flag, types }
}

describe('a chat that approves by itself', () => {
  it('answers what is open with its once, in the order of asking, and only then is switched', async () => {
    const { say, all, flag, types, turn, approvals } = await switched()
    await say(question('a'), question('b'))
    expect(await all(true)).toMatchObject({ approvals: 'all' })
    expect(turn.decisions).toEqual([{ question: 'a', choice: 'O' }, { question: 'b', choice: 'O' }])
    expect((await types()).slice(-5)).toEqual(['approval.raised', 'approval.raised', 'approval.decided', 'approval.decided', 'session.changed'])
    expect(await flag()).toBe('all')
    expect(await approvals()).toMatchObject([{ state: 'decided', kind: 'once', by: 'auto' }, { state: 'decided', kind: 'once', by: 'auto' }])
  })

  it('case 135: answers a question that comes later in the append that asks it, before the agent hears, once', async () => {
    const { say, all, commits, said, model, turn, rows } = await switched()
    await all(true)
    const before = await said()
    model.hold()
    await say(question('a'))
    expect(turn.decisions).toEqual([])
    model.release()
    await settle()
    expect((await commits(before))[0]).toEqual(['row.opened', 'approval.raised', 'approval.decided'])
    expect(turn.decisions).toEqual([{ question: 'a', choice: 'O' }])
    expect(await rows()).toMatchObject([{ kind: 'question', state: 'done', approval: { by: 'auto', kind: 'once' } }])
  })

  it('never picks more than once, and shows a question that offers no once', async () => {
    const { say, all, turn, approvals, flag, decide } = await switched()
    await say(question('a', EVERY.filter(({ kind }) => kind !== 'once')))
    await all(true)
    await say(question('b', [{ id: 'S', kind: 'session' }, { id: 'N', kind: 'deny' }]))
    expect(turn.decisions).toEqual([])
    expect((await approvals()).map((each) => each.state)).toEqual(['open', 'open'])
    expect(await flag()).toBe('all')
    await decide('deny')
    expect(turn.decisions).toEqual([{ question: 'a', choice: 'N' }])
  })

  it('case 135: stays as it was when a relay fails; what was answered stays answered, the rest is asked', async () => {
    const { say, all, flag, types, turn, puppet, approvals } = await switched()
    await say(question('a'), question('b'), question('c'))
    puppet.onDecide = async (name) => (name === 'b' ? { state: 'refused', code: 'relay_failed', words: 'no line' } : { state: 'delivered' })
    expect(await codeOf(all(true))).toBe('relay_failed')
    expect(await flag()).toBeUndefined()
    expect(await types()).not.toContain('session.changed')
    expect((await approvals()).map((each) => each.state)).toEqual(['decided', 'open', 'open'])
    await say(question('d'))
    expect(turn.decisions.map((each) => each.question)).toEqual(['a', 'b'])
    puppet.onDecide = async () => ({ state: 'delivered' })
    await all(true)
    expect(await flag()).toBe('all')
    expect(turn.decisions.map((each) => each.question)).toEqual(['a', 'b', 'c', 'b', 'd'])
    expect(await all(true)).toMatchObject({ approvals: 'all' })
    expect((await types()).filter((type) => type === 'session.changed')).toHaveLength(1)
  })

  it('skips a question that ends meanwhile', async () => {
    const { say, all, flag, puppet } = await switched()
    await say(question('a'), question('b'))
    puppet.onDecide = async () => ({ state: 'refused', code: 'question_gone' })
    await all(true)
    expect(await flag()).toBe('all')
  })

  it('case 135: of two enablings at once the one that succeeds counts', async () => {
    const { say, all, flag, puppet, turn } = await switched()
    await say(question('a'))
    let failed = false
    puppet.onDecide = async () => (failed ? { state: 'delivered' } : ((failed = true), { state: 'refused', code: 'relay_failed' }))
    expect(await Promise.all([codeOf(all(true)), codeOf(all(true))])).toEqual(['relay_failed', 'none'])
    expect(await flag()).toBe('all')
    expect(turn.decisions).toHaveLength(2)
  })

  it('answers also what is asked while it is being switched on, once', async () => {
    const { say, all, flag, puppet, turn, approvals, emit } = await switched()
    await say(question('a'))
    puppet.onDecide = async (name) => {
      if (name === 'a') emit(question('b'))
      return { state: 'delivered' }
    }
    await all(true)
    await say(question('c'))
    expect(turn.decisions.map((each) => each.question)).toEqual(['a', 'b', 'c'])
    expect((await approvals()).map((each) => each.state)).toEqual(['decided', 'decided', 'decided'])
    expect(await flag()).toBe('all')
  })

  it('is off at once when a person says so, and no enabling that is under way brings it back', async () => {
    const { say, all, flag, puppet, approvals, turn } = await switched()
    await say(question('a'))
    let arrived = (): void => {}
    puppet.onDecide = () => new Promise((resolve) => (arrived = () => resolve({ state: 'delivered' })))
    const enabling = all(true)
    await settle()
    expect(await all(false)).not.toHaveProperty('approvals')
    arrived()
    expect(await enabling).not.toHaveProperty('approvals')
    expect(await flag()).toBeUndefined()
    await say(question('b'))
    expect((await approvals()).map((each) => each.state)).toEqual(['decided', 'open'])
    expect(turn.decisions).toHaveLength(1)
  })

  it('leaves the answer of a person alone that is on its way: what she denied is never allowed by itself', async () => {
    const { say, all, flag, puppet, turn, approvals, decide } = await switched()
    await say(question('a'))
    let refuse = (): void => {}
    puppet.onDecide = () => new Promise((resolve) => (refuse = () => resolve({ state: 'refused', code: 'relay_failed' })))
    const denied = codeOf(decide('deny'))
    await settle()
    await all(true)
    refuse()
    expect(await denied).toBe('relay_failed')
    expect(await flag()).toBe('all')
    expect(turn.decisions).toEqual([{ question: 'a', choice: 'N' }])
    expect(await approvals()).toMatchObject([{ state: 'open' }])
  })

  it('shows the card when the answer that it gave by itself did not arrive, says why, and does not try for ever', async () => {
    const { say, all, puppet, turn, approvals, rows, decide } = await switched()
    await all(true)
    puppet.onDecide = async () => ({ state: 'refused', code: 'relay_failed', words: 'no line' })
    await say(question('a'))
    expect(turn.decisions).toHaveLength(1)
    expect(await approvals()).toMatchObject([{ state: 'open' }])
    expect((await rows()).filter((row) => row.kind === 'notice')).toMatchObject([{ notice: { code: 'auto_approve_failed', words: 'no line' } }])
    puppet.onDecide = async () => ({ state: 'delivered' })
    await decide('always')
    expect(turn.decisions.at(-1)).toEqual({ question: 'a', choice: 'A' })
  })

  it('does not answer a question without buttons, but does as soon as it has some', async () => {
    const { say, all, turn, timers, approvals } = await switched()
    const deadline = timers.now() + 50_000
    const nameless = (name: string): AgentEvent => ({ ...question(name, EVERY, { call: name, nameless: true }), request: { ...request(name), deadline } } as AgentEvent)
    await say({ type: 'tool.started', call: 'a', name: 'x', verb: 'run' }, { type: 'tool.started', call: 'b', name: 'x', verb: 'run' }, nameless('a'), nameless('b'))
    await all(true)
    expect(turn.decisions).toEqual([])
    await say({ type: 'tool.closed', call: 'a', state: 'done' })
    expect(turn.decisions).toEqual([{ question: 'b', choice: 'yes' }])
    expect((await approvals())[1]).toMatchObject({ state: 'decided', by: 'auto' })
  })

  it('stays so over turns and with another server, and can be switched while nothing runs', async () => {
    const { all, turn, send, session, puppet, say, flag, rows } = await switched()
    turn.end({ outcome: 'completed' })
    await settle()
    await all(true)
    await send(session, 'Again')
    await settle()
    puppet.turn.emit(question('z'))
    await settle()
    expect(puppet.turn.decisions).toEqual([{ question: 'z', choice: 'O' }])
    await all(false)
    expect(await flag()).toBeUndefined()
    puppet.turn.emit(question('y'))
    await say()
    expect(puppet.turn.decisions).toHaveLength(1)
    expect((await rows()).at(-1)).toMatchObject({ approval: { state: 'open' } })
  })

  it('answers nothing after a stop was taken, and nothing of another profile', async () => {
    const { say, all, runs, profile, session, started, puppet, turn, model } = await switched()
    await say(question('a'))
    expect(await codeOf(runs.approveAll(testProfile('work'), session, true))).toBe('session_profile_mismatch')
    expect(turn.decisions).toEqual([])
    await all(true)
    puppet.onStop = () => {}
    model.hold()
    await say(question('b'))
    const stopped = runs.stop(profile, started.run, 'person')
    model.release()
    await stopped
    await settle()
    expect(turn.decisions.map((each) => each.question)).toEqual(['a'])
  })
})
