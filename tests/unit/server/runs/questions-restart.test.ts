import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../../server/agents/port'
import { questionOf } from '../../../../server/contract/apply-questions'
import { settle } from '../../../support/fake-timers'
import { checkInvariants } from '../../../support/invariants'
import { Puppet, request } from '../../../support/puppet'
import { runsRig } from '../../../support/runs-rig'
import { codeOf } from './code-of'
import { talking } from './talking'

const tool: AgentEvent = { type: 'tool.started', call: 'c', name: 'x', verb: 'run' }
const approval: AgentEvent = { type: 'question.raised', question: 'a', call: 'c', foreign: 'f-a', request: request('a') }
const clarify: AgentEvent = { type: 'clarify.raised', question: 'b', foreign: 'f-b', request: { question: 'Which?', choices: ['x'], free: true } }
const secret: AgentEvent = { type: 'secret.raised', question: 's', request: { kind: 'secret', prompt: 'Key' } }

/** The next server over what the first left, with an agent that may have lived on. */
function next(from: Awaited<ReturnType<typeof talking>>) {
  const puppet = new Puppet()
  const rig = runsRig({ disk: from.model.crash(), agents: { scripted: puppet }, seed: 2 })
  const asked = async () => {
    const value = await rig.transcript(from.session)
    expect(checkInvariants(value)).toEqual([])
    return value.order.flatMap((id) => questionOf(value.rows.get(id)!) ?? [])
  }
  return { ...rig, puppet, asked, session: from.session }
}

describe('questions and a restart of ours', () => {
  it('end with their run, whatever they are; nothing is attention any more and late answers are gone', async () => {
    const old = await talking()
    await old.say(tool, approval, clarify, secret)
    const ids = (await old.asked()).map((each) => each.id)
    const heir = next(old)
    await heir.runs.recover()
    expect((await heir.asked()).map((each) => [each.id, each.state === 'retired' && each.why])).toEqual(ids.map((id) => [id, 'run_ended']))
    expect([...(await heir.transcript(old.session)).rows.values()].map((row) => [row.kind, row.state])).toEqual([['user', 'done'], ['tool', 'unknown'], ['question', 'cancelled'], ['question', 'cancelled']])
    expect((await heir.store.list({ profile: 'default', limit: 1 })).entries[0]).toMatchObject({ questions: 0, outcome: 'interrupted' })
    const { runs, profile, session } = heir
    expect(await codeOf(runs.decide(profile, { session, approval: ids[0]!, choice: 'once' }))).toBe('question_gone')
    expect(await codeOf(runs.answer(profile, { session, clarify: ids[1]!, text: 'x' }))).toBe('question_gone')
    expect(await codeOf(runs.give(profile, { session, secret: ids[2]!, value: 'v' }))).toBe('question_gone')
  })

  it('are raised again where the agent lives on, by its own names, with new ids; an answer that a crash swallowed is asked again and given once', async () => {
    for (const commit of [false, true]) {
      const old = await talking()
      await old.say({ type: 'turn.bound', foreign: 'run-1' }, tool, approval, clarify, secret)
      const first = (await old.asked()).map((each) => each.id)
      old.model.hold()
      void old.decide('once', first[0]).catch(() => undefined)
      await settle()
      // The answer reached the disk, or it did not; in both the agent was told nothing.
      if (commit) old.model.commit({ answer: false })
      expect(old.turn.decisions).toEqual([])
      const heir = next(old)
      heir.puppet.onReattach = async (opening, binding, sink) => {
        expect([...binding.questions].sort()).toEqual(commit ? ['f-b'] : ['f-a', 'f-b'])
        void sink(approval)
        void sink(clarify)
        return heir.puppet.runOn(opening, binding, sink, { message: null, open: ['c'] })
      }
      await heir.runs.recover()
      await settle()
      const again = (await heir.asked()).filter((each) => each.state === 'open')
      expect(again).toHaveLength(2)
      for (const each of again) expect(first).not.toContain(each.id)
      const { runs, profile, session, puppet } = heir
      expect(await codeOf(runs.decide(profile, { session, approval: first[0]!, choice: 'once' }))).toBe('question_gone')
      await runs.decide(profile, { session, approval: again[0]!.id, choice: 'once' })
      await runs.answer(profile, { session, clarify: again[1]!.id, text: 'x' })
      expect([puppet.turn.decisions, puppet.turn.answers]).toEqual([[{ question: 'a', choice: 'yes' }], [{ question: 'b', text: 'x' }]])
    }
  })

  it('are answered once in a chat that approves by itself, also those that are raised again', async () => {
    const old = await talking()
    await old.say({ type: 'turn.bound', foreign: 'run-1' }, tool)
    await old.runs.approveAll(old.profile, old.session, true)
    old.model.hold()
    await old.say(approval)
    const heir = next(old)
    heir.puppet.onReattach = async (opening, binding, sink) => {
      void sink(approval)
      return heir.puppet.runOn(opening, binding, sink, { message: null, open: ['c'] })
    }
    await heir.runs.recover()
    await settle()
    expect(heir.puppet.turn.decisions).toEqual([{ question: 'a', choice: 'yes' }])
    expect(await heir.asked()).toMatchObject([{ state: 'decided', by: 'auto' }])
  })
})
