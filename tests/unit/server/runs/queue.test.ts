import { describe, expect, it } from 'vitest'
import type { RunOutcome } from '../../../../server/contract/session'
import { QUEUE_LIMIT } from '../../../../server/contract/queue'
import { settle } from '../../../support/fake-timers'
import { checkInvariants } from '../../../support/invariants'
import { Puppet } from '../../../support/puppet'
import { runsRig, testProfile } from '../../../support/runs-rig'
import type { RunsRigOptions } from '../../../support/runs-rig'
import { codeOf } from './code-of'

async function made(options: RunsRigOptions = {}) {
  const puppet = new Puppet()
  const rig = runsRig({ agents: { scripted: puppet }, ...options })
  const session = await rig.chat()
  return { ...helpers(rig, session), puppet }
}

function helpers(rig: ReturnType<typeof runsRig>, session: string) {
  const add = (text: string, more: { before?: string; key?: string; bodyHash?: string } = {}) => rig.runs.enqueue(rig.profile, { session, text, ...more })
  return {
    ...rig, session, add,
    texts: async () => (await rig.runs.queue(rig.profile, session)).queue.items.map((item) => item.text),
    paused: async () => (await rig.runs.queue(rig.profile, session)).paused,
    /** The prompts of the chat in order, as its turns show them. */
    prompts: async () => {
      const value = await rig.transcript(session)
      return value.order.map((id) => value.rows.get(id)!).filter((row) => row.kind === 'user').map((row) => row.text)
    },
  }
}

/** A chat with a run that is live, in the hands of the test. */
async function busy(options: RunsRigOptions = {}) {
  const rig = await made(options)
  const started = await rig.send(rig.session, 'First')
  await settle()
  const end = async (outcome: RunOutcome = 'completed'): Promise<void> => {
    rig.puppet.turn.emit({ type: 'text', delta: 'Words.' })
    rig.puppet.turn.end({ outcome })
    await settle()
  }
  return { ...rig, started, end }
}

describe('the queue', () => {
  it('keeps what is lined up while a run is live, and sends one after the other as each completes', async () => {
    const { add, texts, prompts, end, puppet, transcript, session, runs } = await busy()
    await add('Second')
    await add('Third')
    expect(await texts()).toEqual(['Second', 'Third'])
    await end()
    expect([await prompts(), await texts()]).toEqual([['First', 'Second'], ['Third']])
    expect(puppet.turn.input.text).toBe('Second')
    await end()
    await end()
    expect([await prompts(), await texts(), runs.live()]).toEqual([['First', 'Second', 'Third'], [], []])
    const value = await transcript(session)
    expect([...value.turns.values()].map((turn) => turn.source)).toEqual(['person', 'queue', 'queue'])
    expect(checkInvariants(value)).toEqual([])
  })

  it('takes an item in one append with its turn and its run', async () => {
    const { add, end, model, events, session } = await busy()
    await add('Second')
    const appends: string[][] = []
    model.fault = (append) => void appends.push(append.events.map((event) => event.type))
    await end()
    expect(appends.filter((types) => types.includes('queue.taken'))).toEqual([['queue.taken', 'turn.admitted', 'run.started']])
    const taken = (await events(session)).find((event) => event.type === 'queue.taken')!
    expect((await events(session)).find((event) => event.type === 'turn.admitted' && event.turn === taken.turn)).toMatchObject({ text: 'Second' })
  })

  it('sends at once what is added to an idle chat', async () => {
    const { add, prompts, texts, puppet } = await made()
    expect((await add('Hello')).item).toMatch(/^que_/)
    await settle()
    expect([await prompts(), await texts(), puppet.turn.input.text]).toEqual([['Hello'], [], 'Hello'])
  })

  it('pauses after failure, stop and interruption, says so, and goes on after the next turn that completes', async () => {
    for (const outcome of ['failed', 'cancelled', 'interrupted'] as const) {
      const { add, texts, paused, prompts, end, send, session } = await busy()
      await add('Second')
      expect(await paused()).toBe(false)
      await end(outcome)
      expect([await texts(), await paused()]).toEqual([['Second'], true])
      await add('Third')
      await settle()
      expect(await texts()).toEqual(['Second', 'Third'])
      await send(session, 'By hand')
      await settle()
      await end()
      expect(await prompts()).toEqual(['First', 'By hand', 'Second'])
    }
  })

  it('sends a chosen item although the queue is paused, once, and then waits for how that ends', async () => {
    const { add, runs, profile, session, end, prompts, texts, paused } = await busy()
    await add('Second')
    const { item } = await add('Third')
    await end('failed')
    await runs.sendQueued(profile, { session, item })
    await settle()
    expect([await prompts(), await texts()]).toEqual([['First', 'Third'], ['Second']])
    await end('failed')
    expect([await texts(), await paused()]).toEqual([['Second'], true])
  })

  it('stop-and-send (settlement §2.5) stops the live run, sends that item next whatever the outcome, exactly once, and leaves the order of the others', async () => {
    const { add, runs, profile, session, prompts, texts, started, runOf, puppet, end } = await busy()
    await add('Second')
    const { item } = await add('Third')
    await add('Fourth')
    const view = await runs.sendQueued(profile, { session, item, stop: true })
    expect(view.queue.items.map((each) => [each.text, each.send])).toEqual([['Third', true], ['Second', undefined], ['Fourth', undefined]])
    await settle()
    expect(await runOf(started)).toMatchObject({ outcome: 'cancelled' })
    expect([await prompts(), await texts(), puppet.turn.input.text]).toEqual([['First', 'Third'], ['Second', 'Fourth'], 'Third'])
    await end()
    expect(await prompts()).toEqual(['First', 'Third', 'Second'])
  })

  it('stop-and-send never stops the run that the message itself becomes', async () => {
    const { add, runs, profile, session, end, runOf, lastRun, started, puppet } = await busy()
    const { item } = await add('Second')
    puppet.turn.emit({ type: 'text', delta: 'x' })
    puppet.turn.end({ outcome: 'completed' })
    const code = await codeOf(runs.sendQueued(profile, { session, item, stop: true }))
    await settle()
    // The item was already on its way, or is by now: either way its turn runs.
    expect(['none', 'queue_item_not_found']).toContain(code)
    expect((await runOf(started)).outcome).toBe('completed')
    expect(await lastRun(session)).toMatchObject({ state: 'running' })
    await end()
  })

  it('stop-and-send that names a run stops no other that began meanwhile', async () => {
    const { add, runs, profile, session, end, runOf, lastRun, started } = await busy()
    await add('Second')
    const { item } = await add('Third')
    await end()
    const view = await runs.sendQueued(profile, { session, item, stop: true, run: started.run })
    expect(view.queue.items.map((each) => [each.text, each.send])).toEqual([['Third', true]])
    expect((await runOf(started)).outcome).toBe('completed')
    expect(await lastRun(session)).toMatchObject({ state: 'running' })
    await end()
  })

  it('edits, moves, joins and removes what waits', async () => {
    const { add, runs, profile, session, texts } = await busy()
    const [a, b, c] = [(await add('a')).item, (await add('b')).item, (await add('c')).item]
    const d = (await add('d', { before: a })).item
    expect(await texts()).toEqual(['d', 'a', 'b', 'c'])
    await runs.changeQueued(profile, { session, item: b, text: 'B' })
    await runs.moveQueued(profile, { session, item: d })
    await runs.moveQueued(profile, { session, item: c, before: a })
    expect(await texts()).toEqual(['c', 'a', 'B', 'd'])
    await runs.combineQueued(profile, { session, items: [d, a] })
    expect(await texts()).toEqual(['c', 'a\n\nd', 'B'])
    const left = await runs.removeQueued(profile, { session, items: [c, b] })
    expect(left.queue.items.map((item) => item.text)).toEqual(['a\n\nd'])
    expect(left.queue.items[0]!.id).toBe(a)
  })

  it('makes no message that is longer than one that can be sent', async () => {
    const { add, runs, profile, session, texts } = await busy()
    const items = await Promise.all([1, 2].map(async () => (await add('x'.repeat(11 * 1024 * 1024))).item))
    expect(await codeOf(runs.combineQueued(profile, { session, items }))).toBe('bad_request')
    expect((await texts()).length).toBe(2)
  })

  it('refuses what it cannot do, and then nothing has changed', async () => {
    const { add, runs, profile, session, events, texts } = await busy()
    const { item } = await add('a')
    const before = (await events(session)).length
    expect(await codeOf(add(' \n'))).toBe('message_required')
    expect(await codeOf(runs.changeQueued(profile, { session, item, text: ' ' }))).toBe('message_required')
    expect(await codeOf(runs.changeQueued(profile, { session, item: 'que_none', text: 'x' }))).toBe('queue_item_not_found')
    expect(await codeOf(runs.moveQueued(profile, { session, item: 'que_none' }))).toBe('queue_item_not_found')
    expect(await codeOf(runs.moveQueued(profile, { session, item, before: 'que_none' }))).toBe('queue_item_not_found')
    expect(await codeOf(runs.combineQueued(profile, { session, items: [item, 'que_none'] }))).toBe('queue_item_not_found')
    expect(await codeOf(runs.combineQueued(profile, { session, items: [item, item] }))).toBe('bad_request')
    expect(await codeOf(runs.removeQueued(profile, { session, items: [item, 'que_none'] }))).toBe('queue_item_not_found')
    expect(await codeOf(runs.sendQueued(profile, { session, item: 'que_none', stop: true }))).toBe('queue_item_not_found')
    expect(await codeOf(runs.queue(profile, 'ses_none'))).toBe('session_not_found')
    expect(await codeOf(runs.enqueue(testProfile('work'), { session, text: 'x' }))).toBe('session_profile_mismatch')
    expect((await events(session)).length).toBe(before)
    for (let i = 1; i < QUEUE_LIMIT; i++) await add(`n${i}`)
    expect(await codeOf(add('one more'))).toBe('queue_full')
    expect((await texts()).length).toBe(QUEUE_LIMIT)
  })

  it('answers the same key with the item of then, also once that was sent, and refuses another body', async () => {
    const { add, end, texts, prompts, events, session } = await busy()
    const first = await add('Second', { key: 'k', bodyHash: 'h' })
    expect((await add('Second', { key: 'k', bodyHash: 'h' })).item).toBe(first.item)
    expect(await texts()).toEqual(['Second'])
    expect(await codeOf(add('Other', { key: 'k', bodyHash: 'i' }))).toBe('key_reused')
    await end()
    expect((await add('Second', { key: 'k', bodyHash: 'h' })).item).toBe(first.item)
    await settle()
    expect([await prompts(), await texts()]).toEqual([['First', 'Second'], []])
    expect((await events(session)).filter((event) => event.type === 'turn.admitted' && event.key === 'k')).toHaveLength(1)
  })

  it('takes two requests with one key that come at once for one', async () => {
    const { add, texts } = await busy()
    const [a, b] = await Promise.all([add('x', { key: 'k', bodyHash: 'h' }), add('x', { key: 'k', bodyHash: 'h' })])
    expect(a.item).toBe(b.item)
    expect(await texts()).toEqual(['x'])
  })

  it('does not let an item be changed that is being sent', async () => {
    const { add, runs, profile, session, model, puppet, prompts } = await busy()
    const { item } = await add('Second')
    puppet.turn.emit({ type: 'text', delta: 'x' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await codeOf(runs.changeQueued(profile, { session, item, text: 'Changed' }))).toBe('queue_item_not_found')
    expect(await prompts()).toEqual(['First', 'Second'])
    // The same while the append that takes it is under way.
    const third = (await add('Third')).item
    puppet.turn.emit({ type: 'text', delta: 'x' })
    model.hold()
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    model.commit()
    const changed = codeOf(runs.changeQueued(profile, { session, item: third, text: 'Changed' }))
    await settle()
    model.release()
    const code = await changed
    await settle()
    expect([code, (await prompts()).at(-1)]).toEqual(code === 'none' ? ['none', 'Changed'] : ['queue_item_not_found', 'Third'])
  })

  it('a send by hand is taken as always while something waits and nothing is live', async () => {
    const { add, end, send, session, prompts, texts } = await busy()
    await add('Second')
    await end('failed')
    await send(session, 'By hand')
    expect([await prompts(), await texts()]).toEqual([['First', 'By hand'], ['Second']])
  })

  it('whose agent cannot start fails that turn as a send does, keeps its words, and pauses', async () => {
    const { add, puppet, transcript, session, lastRun, paused, texts } = await busy()
    await add('Second')
    await add('Third')
    puppet.onOpen = async () => { throw new Error('no such program') }
    puppet.turn.emit({ type: 'text', delta: 'x' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await lastRun(session)).toMatchObject({ outcome: 'failed', problem: { code: 'agent_unavailable', words: 'no such program' } })
    expect([await texts(), await paused()]).toEqual([['Third'], true])
    expect(checkInvariants(await transcript(session))).toEqual([])
  })

  it('without a model fails that turn and says why, because nobody else would be told', async () => {
    const { add, puppet, session, lastRun, texts } = await made()
    puppet.onProbe = async () => ({ state: 'unavailable', code: 'no_model', words: 'No key is set.' })
    await add('Hello')
    await settle()
    expect(await lastRun(session)).toMatchObject({ outcome: 'failed', problem: { code: 'no_model', words: 'No key is set.' } })
    expect(await texts()).toEqual([])
  })

  it('sends nothing once the server ends', async () => {
    const { add, runs, texts, prompts, end } = await busy()
    await add('Second')
    const drained = runs.drain()
    await end()
    await drained
    await settle()
    expect([await prompts(), await texts()]).toEqual([['First'], ['Second']])
    expect(await codeOf(add('Third'))).toBe('shutting_down')
  })

  it('stays in its chat when the chat goes', async () => {
    const { add, runs, profile, session } = await busy()
    await add('Second')
    await runs.remove(profile, session)
    await settle()
    expect(await codeOf(runs.queue(profile, session))).toBe('session_not_found')
    expect(runs.live()).toEqual([])
  })
})

describe('case 121: a chat of an agent kind that this server does not have', () => {
  it('starts nothing by hand, and fails what waits with the reason', async () => {
    const rig = await busy()
    await rig.end()
    const heir = helpers(runsRig({ disk: rig.model.crash(), agents: {}, seed: 2 }), rig.session)
    const before = (await heir.events(rig.session)).length
    expect(await codeOf(heir.send(rig.session, 'x'))).toBe('agent_unavailable')
    expect((await heir.events(rig.session)).length).toBe(before)
    await heir.add('Waits')
    await settle()
    expect(await heir.lastRun(rig.session)).toMatchObject({ outcome: 'failed', problem: { code: 'agent_unavailable', words: 'This server has no agent of the kind scripted.' } })
    expect(await heir.paused()).toBe(true)
  })
})

describe('after a restart the queue', () => {
  it('sends what waits in a chat whose last run completed, and waits where it was interrupted', async () => {
    for (const outcome of ['completed', 'interrupted'] as const) {
      const rig = await busy()
      await rig.add('Second')
      if (outcome === 'completed') {
        // The server dies in the instant between the end of the run and the next one.
        rig.model.onCommit((batch) => {
          if (batch.some((entry) => entry.events.some((event) => event.type === 'run.settled'))) rig.model.crash()
        })
        await rig.end()
      } else rig.model.crash()
      const puppet = new Puppet()
      const heir = helpers(runsRig({ disk: rig.model.disk, agents: { scripted: puppet }, seed: 2 }), rig.session)
      await heir.runs.recover()
      await settle()
      expect([await heir.prompts(), await heir.texts(), await heir.paused()]).toEqual(outcome === 'completed' ? [['First', 'Second'], [], false] : [['First'], ['Second'], true])
    }
  })

  it('sends an item of stop-and-send exactly once, whenever the server died', async () => {
    let commits = 0
    // The first round does not crash: it tells how many commits there are.
    for (let n = 0; n <= commits; n++) {
      const rig = await busy()
      await rig.add('Second')
      const { item } = await rig.add('Third')
      let seen = 0
      rig.model.onCommit(() => {
        commits = Math.max(commits, ++seen)
        if (seen === n) rig.model.crash()
      })
      void rig.runs.sendQueued(rig.profile, { session: rig.session, item, stop: true }).catch(() => undefined)
      await rig.timers.advance(20_000)
      rig.model.crash()
      const puppet = new Puppet()
      const heir = helpers(runsRig({ disk: rig.model.disk, agents: { scripted: puppet }, seed: 2 }), rig.session)
      await heir.runs.recover()
      await settle()
      expect([await heir.prompts(), await heir.texts()], `commit ${n}`).toEqual([['First', 'Third'], ['Second']])
    }
    expect(commits).toBeGreaterThanOrEqual(3)
  })

  it('has every message exactly once, in its order, after a crash at any commit', async () => {
    let commits = 0
    for (let n = 0; n <= commits; n++) {
      const puppet = new Puppet()
      const rig = await made({ agents: { scripted: puppet } })
      let seen = 0
      rig.model.onCommit(() => {
        if (++seen === n) rig.model.crash()
      })
      const acknowledged: string[] = []
      const play = async (): Promise<void> => {
        for (const text of ['a', 'b', 'c', 'd']) await rig.add(text).then(() => acknowledged.push(text))
        for (let i = 0; i < 4; i++) {
          await settle()
          puppet.turn.emit({ type: 'text', delta: 'x' })
          puppet.turn.end({ outcome: 'completed' })
        }
        await settle()
      }
      await Promise.race([play().catch(() => undefined), rig.timers.advance(5000)])
      commits = Math.max(commits, seen)
      rig.model.crash()
      const after = new Puppet()
      const heir = helpers(runsRig({ disk: rig.model.disk, agents: { scripted: after }, seed: n + 2 }), rig.session)
      await heir.runs.recover()
      for (let i = 0; i < 6; i++) {
        await settle()
        const [first] = (await heir.runs.queue(heir.profile, rig.session)).queue.items
        if (after.turns.length && !after.turn.over) {
          after.turn.emit({ type: 'text', delta: 'x' })
          after.turn.end({ outcome: 'completed' })
        } else if (first) await heir.runs.sendQueued(heir.profile, { session: rig.session, item: first.id })
      }
      const prompts = await heir.prompts()
      expect(prompts, `commit ${n}`).toEqual(['a', 'b', 'c', 'd'].slice(0, prompts.length))
      expect(prompts.length, `commit ${n}`).toBeGreaterThanOrEqual(acknowledged.length)
      expect(await heir.texts()).toEqual([])
    }
    expect(commits).toBeGreaterThanOrEqual(8)
  })

  it('waits until a full disk has room again, and then sends', async () => {
    const rig = await busy()
    await rig.add('Second')
    let full = false
    rig.model.fault = (append) => (full && append.events.some((event) => event.type === 'queue.taken') ? 'full' : undefined)
    full = true
    await rig.end()
    await rig.timers.advance(20_000)
    expect(await rig.texts()).toEqual(['Second'])
    full = false
    await rig.timers.advance(10_000)
    expect([await rig.texts(), await rig.prompts()]).toEqual([[], ['First', 'Second']])
  })
})
