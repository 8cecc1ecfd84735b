import { describe, expect, it } from 'vitest'
import { Puppet, request } from '../../../support/puppet'
import { settle } from '../../../support/fake-timers'
import { runsRig, testProfile } from '../../../support/runs-rig'
import type { Approval } from '../../../../server/contract/approvals'
import { codeOf } from './code-of'

async function asking(command?: string) {
  const puppet = new Puppet()
  const rig = runsRig({ agents: { scripted: puppet } })
  const session = await rig.chat()
  const started = await rig.send(session, 'Hello')
  await settle()
  puppet.turn.emit({ type: 'tool.started', call: 'c', name: 'shell', verb: 'run', target: command ?? 'ls' })
  puppet.turn.emit({ type: 'question.raised', question: 'q1', call: 'c', request: request(command) })
  await settle()
  const approvals = async (): Promise<Approval[]> =>
    [...(await rig.transcript(session)).rows.values()].flatMap((row) => ('approval' in row && row.approval ? [row.approval] : []))
  const decide = (choice: 'once' | 'deny', approval?: string) => rig.runs.decide(rig.profile, { session, choice, ...(approval ? { approval } : {}) })
  return { ...rig, puppet, session, started, approvals, decide }
}

describe('a question', () => {
  it('is raised in the same append as its tool row', async () => {
    const { model, store, session } = await asking()
    const [entry] = [...model.disk.sessions.values()]
    const raised = entry!.log.find(({ event }) => event.type === 'approval.raised')!
    const opened = entry!.log.find(({ event }) => event.type === 'row.opened')!
    expect(raised.rev).toBe(opened.rev)
    expect((await store.list({ profile: 'default', limit: 1 })).entries[0]).toMatchObject({ id: session, state: 'asking', questions: 1 })
  })

  it('is answered in the log before the agent hears of it', async () => {
    const { model, puppet, decide, approvals } = await asking()
    model.hold()
    const decided = decide('once')
    await settle()
    expect(puppet.turn.decisions).toEqual([])
    model.release()
    const [approval] = await approvals()
    expect(await decided).toEqual({ approval: approval!.id, choice: 'once' })
    expect(puppet.turn.decisions).toEqual([{ question: 'q1', choice: 'yes' }])
    expect((await approvals())[0]).toMatchObject({ state: 'decided', kind: 'once', choice: 'yes', by: 'person' })
  })

  it('takes exactly what was offered, by id or by kind; anything else changes nothing', async () => {
    const { runs, profile, session, puppet, decide, events } = await asking()
    const before = await events(session)
    for (const choice of ['session', 'always', 'deny_always', 'all', 'YES', '']) {
      expect(await codeOf(runs.decide(profile, { session, choice }))).toBe('invalid_choice')
    }
    expect(await events(session)).toEqual(before)
    puppet.turn.emit({ type: 'tool.closed', call: 'c', state: 'done' })
    puppet.turn.emit({ type: 'question.raised', question: 'q2', request: { ...request(), choices: [{ id: 'n', kind: 'deny' }, { id: 's', kind: 'session' }] } })
    await settle()
    expect(await codeOf(decide('once'))).toBe('invalid_choice')
    expect(await codeOf(decide('deny'))).toBe('none')
    expect(puppet.turn.decisions).toEqual([{ question: 'q2', choice: 'n' }])
  })

  it('takes one of two answers at once', async () => {
    const { decide, puppet, approvals } = await asking()
    const id = (await approvals())[0]!.id
    expect(await Promise.all([codeOf(decide('deny', id)), codeOf(decide('once', id))])).toEqual(['none', 'question_gone'])
    expect(puppet.turn.decisions).toEqual([{ question: 'q1', choice: 'no' }])
  })

  it('about a tool that asks already has a row of its own; both are answered, and the run lives', async () => {
    const { puppet, approvals, decide, runs, rows } = await (async () => {
      const rig = await asking()
      return { ...rig, rows: async () => [...(await rig.transcript(rig.session)).rows.values()] }
    })()
    puppet.turn.emit({ type: 'question.raised', question: 'q2', call: 'c', request: request('again') })
    await settle()
    expect((await rows()).map((row) => [row.kind, row.state])).toEqual([['user', 'done'], ['tool', 'live'], ['question', 'live']])
    const [first, second] = await approvals()
    expect([await codeOf(decide('deny', second!.id)), await codeOf(decide('once', first!.id))]).toEqual(['none', 'none'])
    expect(puppet.turn.decisions.map((decision) => decision.question)).toEqual(['q2', 'q1'])
    expect(runs.live()).toHaveLength(1)
  })

  it('of several is answered by its own id only, and the oldest when none is named', async () => {
    const { decide, puppet, approvals } = await asking('one')
    puppet.turn.emit({ type: 'question.raised', question: 'q2', request: request('two') })
    puppet.turn.emit({ type: 'question.raised', question: 'q3', request: request('three') })
    await settle()
    const [, two] = await approvals()
    await decide('deny', two!.id)
    expect((await approvals()).map((approval) => approval.state)).toEqual(['open', 'decided', 'open'])
    await decide('once')
    expect((await approvals()).map((approval) => approval.state)).toEqual(['decided', 'decided', 'open'])
    expect(puppet.turn.decisions.map((decision) => decision.question)).toEqual(['q2', 'q1'])
  })

  it('that the agent no longer has is retired as expired', async () => {
    const { decide, puppet, approvals } = await asking()
    puppet.onDecide = async () => ({ state: 'refused', code: 'question_gone' })
    expect(await codeOf(decide('once'))).toBe('question_gone')
    expect(await approvals()).toMatchObject([{ state: 'retired', why: 'expired' }])
  })

  it('whose answer could not be brought is asked again under a new id in the same append', async () => {
    const { decide, puppet, approvals, model } = await asking()
    puppet.onDecide = () => Promise.reject(new Error('the line is dead'))
    const [first] = await approvals()
    expect(await codeOf(decide('once'))).toBe('relay_failed')
    const log = [...model.disk.sessions.values()][0]!.log.slice(-2)
    expect(log.map(({ event }) => event.type)).toEqual(['approval.retired', 'approval.raised'])
    expect(log[0]!.rev).toBe(log[1]!.rev)
    const [again] = await approvals()
    expect(again).toMatchObject({ state: 'open', command: 'ls' })
    expect(again!.id).not.toBe(first!.id)
    puppet.onDecide = async () => ({ state: 'delivered' })
    expect(await codeOf(decide('once', first!.id))).toBe('question_gone')
    expect(await codeOf(decide('once', again!.id))).toBe('none')
  })

  it('in a row of its own closes with its answer', async () => {
    const { decide, puppet, transcript, session } = await asking()
    puppet.turn.emit({ type: 'tool.closed', call: 'c', state: 'done' })
    puppet.turn.emit({ type: 'question.raised', question: 'q2', request: request('two') })
    puppet.turn.emit({ type: 'question.raised', question: 'q3', request: request('three') })
    puppet.turn.emit({ type: 'question.raised', question: 'q4', request: request('four') })
    puppet.turn.emit({ type: 'question.withdrawn', question: 'q4', why: 'expired' })
    await settle()
    await decide('deny')
    await decide('once')
    const rows = [...(await transcript(session)).rows.values()].filter((row) => row.kind === 'question')
    expect(rows.map((row) => row.state)).toEqual(['denied', 'done', 'cancelled'])
  })

  it('past its deadline takes no answer', async () => {
    const { puppet, decide, timers, approvals } = await asking()
    puppet.turn.emit({ type: 'tool.closed', call: 'c', state: 'done' })
    puppet.turn.emit({ type: 'question.raised', question: 'q2', request: { ...request(), deadline: timers.now() + 1000 } })
    await timers.advance(1500)
    const { id } = (await approvals()).at(-1)!
    expect(await codeOf(decide('once', id))).toBe('question_gone')
    expect(await codeOf(decide('once'))).toBe('approval_not_found')
    expect(puppet.turn.decisions).toEqual([])
    expect((await approvals()).at(-1)).toMatchObject({ state: 'retired', why: 'expired' })
  })

  it('is retired when its run ends, whatever the end, and other chats are left alone', async () => {
    for (const end of ['completed', 'failed', 'interrupted'] as const) {
      const { puppet, approvals, decide, runs, session } = await asking()
      const [{ id }] = (await approvals()) as [Approval]
      puppet.turn.end({ outcome: end })
      await settle()
      expect(await approvals()).toMatchObject([{ state: 'retired', why: 'run_ended' }])
      expect(await codeOf(decide('once', id))).toBe('question_gone')
      expect(await codeOf(decide('once', 'apr_none'))).toBe('approval_not_found')
      expect(await codeOf(decide('once'))).toBe('approval_not_found')
      expect(await codeOf(runs.decide(testProfile('work'), { session, choice: 'once' }))).toBe('session_profile_mismatch')
    }
  })

  it('whose answer still waited behind another when the run ended was not answered', async () => {
    const { decide, puppet, approvals, runOf, started } = await asking('one')
    puppet.turn.emit({ type: 'question.raised', question: 'q2', request: request('two') })
    await settle()
    let brought = (): void => {}
    puppet.onDecide = () => new Promise((resolve) => (brought = () => resolve({ state: 'delivered' })))
    const [one, two] = await approvals()
    const answers = [codeOf(decide('once', one!.id)), codeOf(decide('once', two!.id))]
    await settle()
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    brought()
    expect(await Promise.all(answers)).toEqual(['none', 'question_gone'])
    expect(await approvals()).toMatchObject([{ state: 'decided' }, { state: 'retired', why: 'run_ended' }])
    expect(await runOf(started)).toMatchObject({ outcome: 'completed' })
  })

  it('never tells an agent yes after a stop was taken', async () => {
    const { model, decide, puppet, runs, profile, started } = await asking()
    puppet.onStop = () => {}
    model.hold()
    const decided = codeOf(decide('once'))
    await settle()
    const stopped = runs.stop(profile, started.run, 'person')
    model.release()
    await stopped
    await decided
    await settle()
    expect(puppet.turn.decisions).toEqual([])
    expect(puppet.turn.stops).toEqual(['person'])
  })
})
