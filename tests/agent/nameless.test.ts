import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Approval } from '../../server/contract/approvals'
import { makeScripted } from '../../server/agents/scripted'
import { systemTimers } from '../../server/runs/timers'
import { agentRig, type Rig } from './rig'
import { codeOf, settledOf, TurnUnderTest } from './turn'

/**
 * An agent that gives its questions no ids, takes an answer for its oldest, drops a timed-out one without a word and takes any unknown word for a yes (spec/agents.md
 * §3; settlement.md, case 131): what ran by which answer stands in its results, and no answer may ever run what it was not meant for.
 */
describe('questions without ids', () => {
  let rig: Rig
  let script = ''
  beforeAll(() => {
    rig = { ...agentRig(makeScripted({ timers: systemTimers(), scale: 0.02 }), 'scripted', {}), message: () => script, told: () => true, leftovers: async () => 0 }
  })
  afterAll(() => rig.close())

  const play = (given: string): Promise<TurnUnderTest> => {
    script = given
    return TurnUnderTest.begin(rig, []) as Promise<TurnUnderTest>
  }
  const results = async (turn: TurnUnderTest): Promise<(string | undefined)[]> => (await turn.tools()).map((row) => row.tool.result)
  const named = async (turn: TurnUnderTest, command: string): Promise<Approval | undefined> => (await turn.open()).find((approval) => approval.command === command)
  const answerable = async (turn: TurnUnderTest, command: string): Promise<Approval> => {
    await turn.until(async () => (await named(turn, command)) !== undefined && (await named(turn, command))!.waits !== true)
    return (await named(turn, command))!
  }

  it('of two at once the older can be answered no more, the newer waits until the agent is done with that, and then takes its own answer', async () => {
    const turn = await play('[[nameless:{"commands":["first","second"],"ms":[2500,60000]}]]')
    await turn.until(async () => (await named(turn, 'second'))?.waits === true)
    expect(await named(turn, 'first')).toBeUndefined()
    const waiting = (await named(turn, 'second'))!
    expect(codeOf(await settledOf(turn.decide('once', waiting.id)))).toBe('question_gone')
    await turn.decide('once', (await answerable(turn, 'second')).id)
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    expect(await results(turn)).toEqual(['timed out: first', 'ran (once): second'])
  })

  it('a late yes runs nothing: not what it was meant for, and not what is asked next', async () => {
    const turn = await play('[[nameless:{"commands":["first"],"ms":2400,"lag":300}]][[nameless:{"commands":["second"],"ms":60000}]]')
    const first = await answerable(turn, 'first')
    expect(first.deadline).toBeGreaterThan(0)
    await turn.until(async () => (await turn.open()).every((approval) => approval.id !== first.id))
    expect(codeOf(await settledOf(turn.decide('once', first.id)))).toBe('question_gone')
    const second = await answerable(turn, 'second')
    expect(codeOf(await settledOf(turn.decide('once', first.id)))).toBe('question_gone')
    expect((await results(turn))[0]).toBe('timed out: first')
    await turn.decide('deny', second.id)
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    expect(await results(turn)).toEqual(['timed out: first', 'refused (deny): second'])
  })

  it('a word that is no choice of it never reaches the agent', async () => {
    const turn = await play('[[nameless:first]]')
    const first = await answerable(turn, 'first')
    for (const word of ['yes', 'maybe', 'session', 'always']) expect(codeOf(await settledOf(turn.decide(word, first.id)))).toBe('invalid_choice')
    await turn.decide('deny', first.id)
    await turn.settled()
    expect(await results(turn)).toEqual(['refused (deny): first'])
  })
})
