import { describe, expect, it } from 'vitest'
import { settle } from '../../../support/fake-timers'
import { checkInvariants } from '../../../support/invariants'
import { Puppet } from '../../../support/puppet'
import { runsRig } from '../../../support/runs-rig'
import type { RunsRigOptions } from '../../../support/runs-rig'
import { codeOf } from './code-of'

/** A chat whose agent stays on the line after its first turn. */
async function idle(options: Pick<RunsRigOptions, 'limits'> = {}) {
  const puppet = new Puppet()
  puppet.capabilities = ['background', 'stop']
  const rig = runsRig({ agents: { scripted: puppet }, ...options })
  const session = await rig.chat()
  const first = await rig.send(session, 'First')
  await settle()
  const end = async (): Promise<void> => {
    puppet.turn.emit({ type: 'text', delta: 'Words.' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
  }
  return {
    ...rig, puppet, session, first, end,
    say: (delta: string) => puppet.session.emit({ type: 'text', delta }),
    shown: async () => {
      const value = await rig.transcript(session)
      return value.order.map((id) => value.rows.get(id)!).map((row) => [row.kind, row.text])
    },
    sources: async () => [...(await rig.transcript(session)).turns.values()].map((turn) => turn.source),
  }
}

describe('a turn that nobody submitted', () => {
  it('gets a turn and a run at once, without a key, and settles with its own end', async () => {
    const { puppet, session, end, say, shown, sources, lastRun, transcript, events } = await idle()
    await end()
    puppet.session.emit({ type: 'turn.began', text: 'The build has finished', source: 'wakeup' })
    await settle()
    expect(await lastRun(session)).toMatchObject({ state: 'running', cause: 'sent' })
    say('It is green.')
    puppet.session.emit({ type: 'turn.ended', end: { outcome: 'completed' } })
    await settle()
    expect(await lastRun(session)).toMatchObject({ state: 'settled', outcome: 'completed' })
    expect([await sources(), await shown()]).toEqual([['person', 'wakeup'], [['user', 'First'], ['answer', 'Words.'], ['user', 'The build has finished'], ['answer', 'It is green.']]])
    expect((await events(session)).filter((event) => event.type === 'turn.admitted').map((event) => event.key)).toEqual([undefined, undefined])
    expect(checkInvariants(await transcript(session))).toEqual([])
  })

  it('makes a send that comes meanwhile wait for another time', async () => {
    const { puppet, session, end, say, runs, profile, lastRun } = await idle()
    await end()
    puppet.session.emit({ type: 'turn.began', text: 'By myself', source: 'agent' })
    await settle()
    const run = (await lastRun(session))!
    const refused = await runs.start(profile, { session, text: 'Hello' }).catch((error: { problem: unknown }) => error.problem)
    expect(refused).toMatchObject({ code: 'session_busy', active_stream_id: run.id })
    say('Done.')
    puppet.session.emit({ type: 'turn.ended', end: { outcome: 'completed' } })
    await settle()
    expect(await codeOf(runs.start(profile, { session, text: 'Hello' }))).toBe('none')
  })

  it('that begins while ours is live waits until ours has settled, with everything it says', async () => {
    const { puppet, end, say, shown, sources, first, runOf } = await idle()
    puppet.turn.emit({ type: 'text', delta: 'Ours. ' })
    puppet.session.emit({ type: 'turn.began', text: 'By myself', source: 'agent' })
    say('Foreign words.')
    puppet.session.emit({ type: 'turn.ended', end: { outcome: 'completed' } })
    await settle()
    expect(await shown()).toEqual([['user', 'First'], ['answer', 'Ours. ']])
    await end()
    expect(await runOf(first)).toMatchObject({ outcome: 'completed' })
    expect([await sources(), await shown()]).toEqual([['person', 'agent'], [['user', 'First'], ['answer', 'Ours. Words.'], ['user', 'By myself'], ['answer', 'Foreign words.']]])
  })

  it('that says more than can wait for ours fails with what it said, and ours is not held up', async () => {
    const { puppet, end, say, sources, first, runOf, lastRun, session, transcript } = await idle({ limits: { waiting: 100 } })
    puppet.session.emit({ type: 'turn.began', text: 'By myself', source: 'agent' })
    for (let i = 0; i < 20; i++) say('0123456789')
    puppet.session.emit({ type: 'turn.ended', end: { outcome: 'completed' } })
    await end()
    expect(await runOf(first)).toMatchObject({ outcome: 'completed' })
    expect([await sources(), await lastRun(session)]).toMatchObject([['person', 'agent'], { outcome: 'failed', problem: { code: 'error' } }])
    expect([...(await transcript(session)).rows.values()].findLast((row) => row.kind === 'answer')!.text).toBe('0123456789'.repeat(11))
  })

  it('goes before what waits in the queue, which follows it', async () => {
    const { puppet, session, end, say, sources, runs, profile } = await idle()
    await runs.enqueue(profile, { session, text: 'Queued' })
    puppet.session.emit({ type: 'turn.began', text: 'By myself', source: 'agent' })
    say('Foreign words.')
    await end()
    expect(await sources()).toEqual(['person', 'agent'])
    puppet.session.emit({ type: 'turn.ended', end: { outcome: 'completed' } })
    await settle()
    expect(await sources()).toEqual(['person', 'agent', 'queue'])
    expect(puppet.openings).toHaveLength(1)
  })

  it('is stopped like any other', async () => {
    const { puppet, session, end, runs, profile, lastRun, timers } = await idle()
    await end()
    puppet.session.emit({ type: 'turn.began', text: 'By myself', source: 'agent' })
    await settle()
    const run = (await lastRun(session))!.id
    puppet.onStop = () => puppet.session.emit({ type: 'turn.ended', end: { outcome: 'completed' } })
    expect(await runs.stop(profile, run, 'person')).toMatchObject({ cancelled: true })
    await timers.advance(20_000)
    expect(await lastRun(session)).toMatchObject({ outcome: 'cancelled' })
    expect(runs.live()).toEqual([])
  })

  it('of an agent that never ends it is given up after the ladder, and the agent is hung up', async () => {
    const { puppet, session, end, runs, profile, lastRun, timers } = await idle()
    await end()
    puppet.session.emit({ type: 'turn.began', text: 'By myself', source: 'agent' })
    await settle()
    puppet.onStop = () => {}
    const run = (await lastRun(session))!.id
    await runs.stop(profile, run, 'person')
    await timers.advance(16_000)
    expect(await lastRun(session)).toMatchObject({ outcome: 'cancelled' })
    expect(puppet.session.closed).toBe(true)
  })
})

describe('the line to an agent', () => {
  it('stays open between turns only for one that works in the background', async () => {
    const kept = await idle()
    await kept.end()
    expect(kept.puppet.session.closed).toBe(false)
    await kept.send(kept.session, 'Second')
    await settle()
    expect([kept.puppet.openings.length, kept.puppet.turn.input.text]).toEqual([1, 'Second'])
    await kept.end()
    await kept.runs.remove(kept.profile, kept.session)
    expect(kept.puppet.session.closed).toBe(true)

    const puppet = new Puppet()
    const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    await rig.send(session, 'First')
    await settle()
    puppet.turn.emit({ type: 'text', delta: 'x' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(puppet.session.closed).toBe(true)
  })

  it('is made anew after the agent died or was given up, and in another folder', async () => {
    const { puppet, session, runs, profile, send, timers, end } = await idle()
    puppet.turn.crash(new Error('gone'))
    await settle()
    expect(puppet.session.closed).toBe(true)
    await send(session, 'Second')
    await settle()
    expect(puppet.openings).toHaveLength(2)
    await end()
    await runs.update(profile, session, { workspace: '/home/test/other' })
    const third = await send(session, 'Third')
    await settle()
    expect(puppet.openings.map((opening) => opening.cwd)).toEqual(['/home/test/workspace', '/home/test/workspace', '/home/test/other'])
    puppet.onStop = () => {}
    await runs.stop(profile, third.run, 'person')
    await timers.advance(16_000)
    expect(puppet.session.closed).toBe(true)
  })

  it('takes a title and a new session of the agent also between turns', async () => {
    const { puppet, session, end, transcript } = await idle()
    await end()
    puppet.session.emit({ type: 'title', text: 'A better title' })
    puppet.session.emit({ type: 'session.bound', foreign: 'abc', why: 'rotated' })
    puppet.session.emit({ type: 'text', delta: 'of no turn' })
    await settle()
    expect((await transcript(session)).session).toMatchObject({ title: 'A better title', foreign: 'abc' })
  })
})
