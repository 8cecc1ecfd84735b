import { describe, expect, it } from 'vitest'
import { Puppet } from '../../../support/puppet'
import { checkInvariants } from '../../../support/invariants'
import { settle } from '../../../support/fake-timers'
import { runsRig } from '../../../support/runs-rig'
import { codeOf } from './code-of'

const SCRIPT = '[[reason:Let me look at it.]][[tool:read {"verb":"read","ms":40}]][[say:Some words now.]][[ask:ls -l]][[deltas:300]][[usage:{"input":3}]][[tool:write {"ms":40}]][[say:Done at last.]]'

/** Plays the whole script, answering its question; the n-th append after the chat was made fails. */
async function played(n: number, kind: 'failed' | 'full' = 'failed') {
  const rig = runsRig()
  const session = await rig.chat()
  let appends = 0
  rig.model.fault = () => (++appends === n ? kind : undefined)
  const code = await codeOf(rig.send(session, SCRIPT))
  const deciding = setInterval(() => void rig.runs.decide(rig.profile, { session, choice: 'once' }).catch(() => undefined), 0)
  await rig.until(() => rig.runs.live().length === 0, 20)
  clearInterval(deciding)
  return { ...rig, session, code, appends: () => appends }
}

describe('a failed append', () => {
  it('ends the run as interrupted whichever it is, leaves nothing open, and the next turn works', async () => {
    const total = (await played(0)).appends()
    expect(total).toBeGreaterThan(8)
    let interrupted = 0
    for (let n = 1; n <= total; n++) {
      const rig = await played(n)
      const value = await rig.transcript(rig.session)
      expect(checkInvariants(value), `append ${n}`).toEqual([])
      const events = await rig.events(rig.session)
      expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1))
      expect(events.filter((event) => event.type === 'run.settled').length).toBe(events.filter((event) => event.type === 'run.started').length)
      const run = await rig.lastRun(rig.session)
      if (n === 1) {
        expect([rig.code, run]).toEqual(['store_failed', undefined])
      } else {
        expect(rig.code).toBe('none')
        expect(run, `append ${n}`).toMatchObject({ state: 'settled', outcome: 'interrupted', problem: { code: 'store_failed' } })
        interrupted++
      }
      const next = await rig.send(rig.session, '[[say:Works.]]')
      expect(await rig.settled(next)).toMatchObject({ outcome: 'completed' })
    }
    expect(interrupted).toBe(total - 1)
  })

  it('tells the agent to stop and takes nothing more from it', async () => {
    const puppet = new Puppet()
    puppet.onStop = () => {}
      const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    const started = await rig.send(session, 'Hello')
    await settle()
    puppet.turn.emit({ type: 'text', delta: 'kept' })
    await settle()
    rig.model.failAppend(1)
    puppet.turn.emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other' })
    await settle()
    expect(puppet.turn.stops).toEqual(['store_failed'])
    expect(await rig.runOf(started)).toMatchObject({ outcome: 'interrupted', problem: { code: 'store_failed' } })
    expect(await codeOf(rig.send(session, 'x'))).toBe('session_busy')
    const before = (await rig.events(session)).length
    puppet.turn.emit({ type: 'text', delta: ' never' })
    puppet.turn.end({ outcome: 'completed' })
    await rig.timers.advance(100)
    expect((await rig.events(session)).length).toBe(before)
    expect(await rig.answer(session)).toBe('kept')
    expect(await codeOf(rig.send(session, 'x'))).toBe('none')
  })

  it('settles the run as soon as the store takes appends again', async () => {
    const rig = runsRig()
    const session = await rig.chat()
    const started = await rig.send(session, '[[say:Some words here.]][[silence]]')
    await rig.until(async () => (await rig.answer(session)) !== '')
    let broken = true
    rig.model.fault = () => (broken ? 'full' : undefined)
    expect(await codeOf(rig.runs.stop(rig.profile, started.run, 'person'))).toBe('store_full')
    await rig.timers.advance(60_000)
    expect((await rig.runOf(started)).state).toBe('running')
    broken = false
    await rig.timers.advance(10_000)
    expect(await rig.runOf(started)).toMatchObject({ outcome: 'interrupted', problem: { code: 'store_failed' } })
    expect(rig.runs.live()).toEqual([])
  })

  it('of one chat does not touch another', async () => {
    const rig = runsRig()
    const [one, two] = [await rig.chat(), await rig.chat()]
    rig.model.fault = (append) => (append.session === one && append.events.some((event) => event.type === 'row.grew') ? 'failed' : undefined)
    const [first, second] = [await rig.send(one, '[[deltas:500]]'), await rig.send(two, '[[deltas:500]]')]
    expect(await rig.settled(first)).toMatchObject({ outcome: 'interrupted' })
    expect(await rig.settled(second)).toMatchObject({ outcome: 'completed' })
  })
})

describe('a run of an older generation', () => {
  it('cannot write any more, and settles nothing of the newer one', async () => {
    const puppet = new Puppet()
      const old = runsRig({ agents: { scripted: puppet } })
    const session = await old.chat()
    await old.send(session, 'Hello')
    await settle()
    const late = puppet.turn
    const heir = runsRig({ agents: { scripted: puppet }, store: old.model, seed: 2, timers: old.timers })
    await heir.runs.recover()
    const next = await heir.send(session, 'Again')
    await settle()
    late.emit({ type: 'text', delta: 'from the past' })
    late.end({ outcome: 'completed' })
    await old.timers.advance(30_000)
    expect(await heir.runOf(next)).toMatchObject({ state: 'running', generation: 2 })
    expect(await heir.answer(session)).toBe('')
    expect(old.runs.live()).toEqual([])
    puppet.turn.emit({ type: 'text', delta: 'from now' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await heir.runOf(next)).toMatchObject({ outcome: 'completed' })
    expect(await heir.answer(session)).toBe('from now')
  })
})
