import { describe, expect, it } from 'vitest'
import { Puppet, request } from '../../../support/puppet'
import { settle } from '../../../support/fake-timers'
import { runsRig, testProfile } from '../../../support/runs-rig'
import type { Approval } from '../../../../server/contract/approvals'
import { codeOf } from './code-of'
import { talking } from './talking'

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

describe('answers to questions', () => {
  const EVERY: Approval['choices'] = [{ id: 'c1', kind: 'once' }, { id: 'c2', kind: 'session' }, { id: 'c3', kind: 'always' }, { id: 'c4', kind: 'deny' }, { id: 'c5', kind: 'deny_always' }, { id: 'c6', kind: 'once' }]
  const question = (name: string, choices = EVERY, call?: string) => ({ type: 'question.raised' as const, question: name, request: { ...request(name), choices }, ...(call === undefined ? {} : { call }) })

  it('name each choice by its id or by its kind, the first offered of that kind', async () => {
    for (const [said, told, kind, state] of [
      ['c1', 'c1', 'once', 'done'], ['c6', 'c6', 'once', 'done'], ['once', 'c1', 'once', 'done'], ['session', 'c2', 'session', 'done'], ['always', 'c3', 'always', 'done'], ['c3', 'c3', 'always', 'done'],
      ['deny', 'c4', 'deny', 'denied'], ['deny_always', 'c5', 'deny_always', 'denied'], ['c5', 'c5', 'deny_always', 'denied'],
    ] as const) {
      const { say, decide, turn, rows } = await talking()
      await say(question('q'))
      expect(await decide(said)).toMatchObject({ choice: kind })
      await settle()
      expect(turn.decisions).toEqual([{ question: 'q', choice: told }])
      expect(await rows()).toMatchObject([{ state, approval: { choice: told, kind, by: 'person' } }])
    }
  })

  it('never cross from one question to another: ids of choices count for the question that offered them', async () => {
    const { say, decide, turn, approvals, said } = await talking()
    await say(question('a', [{ id: 'a1', kind: 'once' }, { id: 'a2', kind: 'deny' }]), question('b', [{ id: 'b1', kind: 'once' }, { id: 'a2', kind: 'always' }]))
    const [a, b] = await approvals()
    const before = await said()
    for (const [choice, id] of [['b1', a!.id], ['a1', b!.id], ['deny', b!.id], ['always', a!.id]] as const) expect(await codeOf(decide(choice, id))).toBe('invalid_choice')
    expect(await said()).toBe(before)
    await decide('a2', b!.id)
    expect(turn.decisions).toEqual([{ question: 'b', choice: 'a2' }])
    expect((await approvals())[1]).toMatchObject({ kind: 'always' })
  })

  it('case 129: a denial of one that is not the head touches that one only, in its run and in others', async () => {
    const one = await talking()
    const other = await one.chat()
    const second = await one.send(other, 'Hello')
    await settle()
    const emitOther = one.puppet.turn.emit
    await one.say(question('head'), question('target'), question('sibling'))
    emitOther(question('elsewhere'))
    await settle()
    const [head, target, sibling] = await one.approvals()
    const list = async () => (await one.store.list({ profile: 'default', limit: 5 })).entries.map((entry) => [entry.id, entry.questions]).sort()
    await one.decide('deny', target!.id)
    for (let look = 0; look < 2; look++) {
      expect((await one.approvals()).map((each) => [each.id, each.state])).toEqual([[head!.id, 'open'], [target!.id, 'decided'], [sibling!.id, 'open']])
      expect(await list()).toEqual([[one.session, 2], [other, 1]].sort())
    }
    expect(one.turn.decisions).toEqual([{ question: 'target', choice: 'c4' }])
    expect(one.puppet.turn.decisions).toEqual([])
    expect(await one.runOf(second)).toMatchObject({ state: 'running' })
  })

  it('case 130: the end of a run lets its questions go first, in the same append, whatever fails beside it; another run still asks', async () => {
    for (const end of ['completed', 'failed', 'cancelled', 'torn down'] as const) {
      const a = await talking()
      const b = await a.chat()
      await a.send(b, 'Hello')
      await settle()
      const other = a.puppet.turn
      await a.say({ type: 'tool.started', call: 'c', name: 'x', verb: 'run' }, question('one', EVERY, 'c'), question('two'), { type: 'clarify.raised', question: 'three', request: { question: 'Which?', choices: [], free: true } },
        { type: 'secret.raised', question: 'four', request: { kind: 'secret', prompt: 'Key' } })
      other.emit(question('elsewhere'))
      await settle()
      expect(await a.runs.steer(a.profile, { session: a.session, text: 'By the way' })).toMatchObject({ accepted: true })
      // The agent cannot be told; whoever reads the chat hears of all of it at once.
      a.puppet.onStop = () => { throw new Error('no line') }
      const told: string[] = []
      a.model.onCommit((batch) => told.push(...batch.flatMap((entry) => entry.events.map((event) => event.type))))
      const before = await a.said()
      if (end === 'cancelled' || end === 'torn down') {
        await a.runs.stop(a.profile, a.started.run, end === 'cancelled' ? 'person' : 'server')
        await a.timers.advance(20_000)
      } else a.turn.end({ outcome: end })
      await settle()
      const settling = (await a.commits(before)).find((types) => types.includes('run.settled'))!
      expect(settling.slice(0, 7)).toEqual(['approval.retired', 'approval.retired', 'row.closed', 'clarify.retired', 'row.closed', 'secret.retired', 'row.closed'])
      expect(settling.at(-1)).toBe('run.settled')
      expect(told).toContain('run.settled')
      expect((await a.asked()).map((each) => each.state === 'retired' && each.why)).toEqual(Array.from({ length: 4 }, () => 'run_ended'))
      expect(await codeOf(a.runs.decide(a.profile, { session: b, choice: 'once' }))).toBe('none')
      expect(other.decisions).toEqual([{ question: 'elsewhere', choice: 'c1' }])
      expect(a.turn.decisions).toEqual([])
    }
  })

  it('case 132: to what is over are told from answers where nothing is asked', async () => {
    const { say, decide, turn, approvals } = await talking()
    await say(question('a'))
    const { id } = (await approvals())[0]!
    await decide('deny', id)
    await say(question('b'))
    expect(await codeOf(decide('once', id))).toBe('question_gone')
    expect(await codeOf(decide('once', 'apr_none'))).toBe('approval_not_found')
    await decide('deny')
    expect(await codeOf(decide('once'))).toBe('approval_not_found')
    expect(turn.decisions.map((each) => each.question)).toEqual(['a', 'b'])
  })

  it('case 133: go to the question that they name, not to the first; an unknown name reaches nobody', async () => {
    const { say, decide, turn, approvals } = await talking()
    await say(question('first'), question('second'))
    expect(await codeOf(decide('once', 'second'))).toBe('approval_not_found')
    expect(turn.decisions).toEqual([])
    await decide('once', (await approvals())[1]!.id)
    expect(turn.decisions).toEqual([{ question: 'second', choice: 'c1' }])
    expect((await approvals()).map((each) => each.state)).toEqual(['open', 'decided'])
  })

  it('case 134: that cannot be brought leave the card, asked anew in one append; a second one meanwhile is refused', async () => {
    const { say, decide, puppet, approvals, said, commits, rows } = await talking()
    await say(question('a'))
    let fail = (): void => {}
    puppet.onDecide = () => new Promise((resolve) => (fail = () => resolve({ state: 'refused', code: 'relay_failed', words: 'no line' })))
    const { id } = (await approvals())[0]!
    const before = await said()
    const first = decide('once', id).catch((error: unknown) => error)
    await settle()
    expect(await codeOf(decide('deny', id))).toBe('question_gone')
    fail()
    expect(await first).toMatchObject({ problem: { code: 'relay_failed', words: 'no line' } })
    expect(await commits(before)).toEqual([['approval.decided'], ['approval.retired', 'approval.raised']])
    expect(await rows()).toMatchObject([{ state: 'live', approval: { state: 'open', choices: EVERY } }])
    puppet.onDecide = async () => ({ state: 'delivered' })
    expect(await codeOf(decide('once', id))).toBe('question_gone')
    expect(await codeOf(decide('once', (await approvals())[0]!.id))).toBe('none')
  })

  it('do not stand in the way of a second question about the same tool while one is on its way', async () => {
    const { say, decide, puppet, approvals, rows } = await talking()
    let fail = (): void => {}
    puppet.onDecide = () => new Promise((resolve) => (fail = () => resolve({ state: 'refused', code: 'relay_failed' })))
    await say({ type: 'tool.started', call: 'c', name: 'x', verb: 'run' }, question('a', EVERY, 'c'))
    const first = codeOf(decide('once'))
    await settle()
    await say(question('b', EVERY, 'c'))
    fail()
    expect(await first).toBe('relay_failed')
    expect((await approvals()).map((each) => [each.command, each.state])).toEqual([['a', 'open'], ['b', 'open']])
    await say({ type: 'tool.closed', call: 'c', state: 'done' })
    expect((await rows()).map((row) => [row.kind, row.state])).toEqual([['tool', 'done'], ['question', 'cancelled']])
    expect((await approvals()).map((each) => each.state)).toEqual(['retired', 'retired'])
  })

  it('that are in the log when the run ends stay there, and the row says how it was answered', async () => {
    const { say, decide, puppet, turn, rows } = await talking()
    puppet.onDecide = () => new Promise(() => {})
    await say(question('a'))
    const denied = codeOf(decide('deny'))
    await settle()
    turn.end({ outcome: 'completed' })
    await settle()
    expect(await denied).toBe('none')
    expect(await rows()).toMatchObject([{ state: 'denied', approval: { state: 'decided', kind: 'deny' } }])
  })

  it('are expired by the server\'s own clock when nobody gives them', async () => {
    const { say, approvals, timers, rows, store } = await talking()
    await say({ ...question('a'), request: { ...request('a'), deadline: timers.now() + 5000 } })
    await timers.advance(4999)
    expect(await approvals()).toMatchObject([{ state: 'open' }])
    await timers.advance(1)
    expect(await approvals()).toMatchObject([{ state: 'retired', why: 'expired' }])
    expect(await rows()).toMatchObject([{ state: 'cancelled' }])
    expect((await store.list({ profile: 'default', limit: 1 })).entries[0]).toMatchObject({ questions: 0 })
  })

  it('are for questions whose name at the agent lies beside the log and in no event', async () => {
    const { say, store, session, approvals, events } = await talking()
    await say({ ...question('a'), foreign: 'agents-own-ref' })
    expect((await store.load(session))!.beside).toEqual([{ id: (await approvals())[0]!.id, foreign: 'agents-own-ref' }])
    expect(JSON.stringify(await events(session))).not.toContain('agents-own-ref')
  })
})
