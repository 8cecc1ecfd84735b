import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { AgentEvent, AgentSession, TurnEnd } from '../../../../server/agents/port'
import { makeScripted } from '../../../../server/agents/scripted'
import { parseScript } from '../../../../server/agents/scripted/script'
import { FakeTimers, settle } from '../../../support/fake-timers'

const profile = { name: 'default', home: '/h', scope: '/h', env: {}, isLaunch: true }

/** A chat with the scripted agent, without `runs/`. */
async function chat(scripted = makeScripted({ timers: new FakeTimers(), scale: 0 }), timers?: FakeTimers) {
  const events: AgentEvent[] = []
  const session: AgentSession = await scripted.open({ profile, session: 's', cwd: '/w', model: null, context: async () => [] }, (event) => void events.push(event))
  const of = <T extends AgentEvent['type']>(type: T) => events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type)
  return {
    session, events, of,
    say: (text: string) => {
      const turn: { end?: TurnEnd } = {}
      void session.turn({ turn: 't', run: 'r', text, model: null, retry: false }).then((end) => (turn.end = end))
      return turn
    },
    until: async (condition: () => unknown, step = 5): Promise<void> => {
      for (let i = 0; i < 500 && !condition(); i++) {
        await settle()
        await timers?.advance(step)
      }
      expect(condition()).toBeTruthy()
    },
    text: () => of('text').map((event) => event.delta).join(''),
    results: () => of('tool.closed').map((event) => event.result),
  }
}
type Chat = Awaited<ReturnType<typeof chat>>
const withClock = async (): Promise<Chat & { timers: FakeTimers }> => {
  const timers = new FakeTimers()
  return { ...(await chat(makeScripted({ timers, scale: 0 }), timers)), timers }
}

describe('approvals of the scripted agent', () => {
  it('offer the choices of the script, and keep to what each means beyond once', async () => {
    const scripted = makeScripted({ timers: new FakeTimers(), scale: 0 })
    const one = await chat(scripted)
    const ask = '[[ask:{"command":"make","choices":["once","session","always","deny","deny_always"]}]]'
    one.say(ask)
    await one.until(() => one.of('question.raised').length === 1)
    const { choices } = one.of('question.raised')[0]!.request
    expect(choices.map((choice) => choice.kind)).toEqual(['once', 'session', 'always', 'deny', 'deny_always'])
    expect(choices.map((choice) => choice.consequence !== undefined)).toEqual([false, true, true, false, true])
    await one.session.decide('q1', 'session')
    await one.until(() => one.results().length === 1)
    const again = one.say(ask)
    await one.until(() => again.end)
    expect(one.of('question.raised')).toHaveLength(1)
    expect(one.results()).toEqual(['(scripted) make', '(scripted) make'])

    const never = '[[ask:{"command":"rm","choices":["once","deny_always"]}]]'
    one.say(never)
    await one.until(() => one.of('question.raised').length === 2)
    await one.session.decide(one.of('question.raised')[1]!.question, 'deny_always')
    const other = await chat(scripted)
    const refused = other.say(never)
    await other.until(() => refused.end)
    expect(other.of('question.raised')).toEqual([])
    expect(other.of('tool.closed')).toMatchObject([{ state: 'denied', result: 'refused' }])
  })

  it('give up at their deadline, which they tell before', async () => {
    const one = await withClock()
    const begun = one.timers.now()
    const turn = one.say('[[ask:{"command":"make","ms":5000}]]')
    await one.until(() => one.of('question.raised').length === 1)
    expect(one.of('question.raised')[0]!.request.deadline).toBe(begun + 5000)
    await one.timers.advance(4900 - (one.timers.now() - begun))
    expect(one.of('question.withdrawn')).toEqual([])
    await one.until(() => turn.end, 50)
    expect(one.of('question.withdrawn')).toMatchObject([{ question: 'q1', why: 'expired' }])
    expect(await one.session.decide('q1', 'once')).toMatchObject({ state: 'refused' })
  })

  it('lose an answer as the script says, once', async () => {
    const one = await withClock()
    const turn = one.say('[[relay:fail]][[ask:make]][[relay:gone]][[ask:test]][[relay:throw]][[ask:run]]')
    await one.until(() => one.of('question.raised').length === 1)
    expect(await one.session.decide('q1', 'once')).toMatchObject({ state: 'refused', code: 'relay_failed' })
    expect(await one.session.decide('q1', 'once')).toEqual({ state: 'delivered' })
    await one.until(() => one.of('question.raised').length === 2)
    expect(await one.session.decide('q2', 'once')).toMatchObject({ state: 'refused', code: 'question_gone' })
    await one.until(() => one.of('question.raised').length === 3)
    await expect(one.session.decide('q3', 'once')).rejects.toThrow('throws at this answer')
    expect(await one.session.decide('q3', 'deny')).toEqual({ state: 'delivered' })
    await one.until(() => turn.end)
    expect(one.results()).toEqual(['(scripted) make', 'nobody answered', 'refused'])
  })
})

describe('approvals without ids, as Hermes asks them', () => {
  it('take an answer for the oldest that is open, and any word they do not know for a yes', async () => {
    const one = await withClock()
    const begun = one.timers.now()
    const turn = one.say('[[nameless:first || second]]')
    await one.until(() => one.of('question.raised').length === 2)
    expect(one.of('question.raised').every((event) => event.nameless === true && event.request.deadline === begun + 58_000)).toBe(true)
    await one.session.decide('q2', 'deny')
    await one.session.decide('q2', 'perhaps')
    await one.until(() => turn.end)
    expect(one.results()).toEqual(['refused (deny): first', 'ran (perhaps): second'])
  })

  it('are dropped at their time-out without a word, and a late yes runs the next', async () => {
    const one = await withClock()
    one.say('[[nameless:{"commands":["first"],"ms":1000,"lag":500}]][[nameless:second]]')
    await one.until(() => one.of('question.raised').length === 1)
    await one.timers.advance(1000)
    await settle()
    expect([one.of('question.withdrawn'), one.results()]).toEqual([[], []])
    expect(await one.session.decide('q1', 'once')).toEqual({ state: 'delivered' })
    await one.until(() => one.of('question.raised').length === 2, 100)
    expect(one.results()).toEqual(['timed out: first'])
    await one.session.decide('q1', 'once')
    await one.until(() => one.results().length === 2)
    expect(one.results()[1]).toBe('ran (once): second')
  })
})

describe('other questions of the scripted agent', () => {
  it('are answered by a choice, by words, or by its own judgement when nobody does', async () => {
    const one = await withClock()
    const turn = one.say('[[clarify:Which colour? | red | blue]][[clarify:{"question":"Which size?","choices":["S"],"free":false,"ms":1000}]]')
    await one.until(() => one.of('clarify.raised').length === 1)
    expect(one.of('clarify.raised')[0]!.request).toEqual({ question: 'Which colour?', choices: ['red', 'blue'], free: true })
    expect(await one.session.answer!('q1', 'something greenish')).toEqual({ state: 'delivered' })
    expect(await one.session.answer!('q1', 'red')).toMatchObject({ state: 'refused' })
    await one.until(() => turn.end, 100)
    expect(one.of('question.withdrawn')).toMatchObject([{ question: 'q2', why: 'expired' }])
    expect(one.text()).toBe('(answer: something greenish) (answer: use your judgement) ')
  })

  it('for secrets tell what came, never the value', async () => {
    const one = await withClock()
    const expect64 = createHash('sha256').update('hunter2').digest('hex')
    const turn = one.say(`[[secret:{"prompt":"The key","env":"KEY","expect":"${expect64}"}]][[sudo:To install]][[secret:TOKEN to push]]`)
    await one.until(() => one.of('secret.raised').length === 1)
    expect(one.of('secret.raised')[0]!.request).toEqual({ kind: 'secret', prompt: 'The key', env: 'KEY' })
    await one.session.give!('q1', 'hunter2')
    await one.until(() => one.of('secret.raised').length === 2)
    await one.session.give!('q2', null)
    await one.until(() => one.of('secret.raised').length === 3)
    await one.session.give!('q3', 'hunter2')
    await one.until(() => turn.end)
    expect(one.text()).toBe('(the right secret was given) (secret not given) (secret given) ')
    expect(JSON.stringify(one.events)).not.toContain('hunter2')
  })
})

describe('a word into a scripted turn', () => {
  it('is heard where the script says: in text, after a tool, when it waits for one, never; or refused, or thrown at', async () => {
    const one = await withClock()
    const steer = (id: string) => one.session.steer!(id, `word ${id}`)
    const turn = one.say('[[steers:tool]][[tool:build {"open":true,"call":"c"}]][[question:a]][[end:c]][[say:Built. ]][[steers:text]][[question:b]][[say:Then.]][[steers:never]][[question:d]][[steers:refuse]][[question:e]][[steers:throw]][[question:f]][[steers:any]][[hear]]')
    const asked = async (n: number) => one.until(() => one.of('question.raised').length === n)
    await asked(1)
    expect(await steer('1')).toEqual({ state: 'delivered' })
    await one.session.decide('q1', 'once')
    await asked(2)
    expect(one.of('steer.delivered')).toEqual([{ type: 'steer.delivered', steer: '1', evidence: 'inferred' }])
    await steer('2')
    await one.session.decide('q2', 'once')
    await asked(3)
    expect(one.of('steer.delivered').at(-1)).toMatchObject({ steer: '2', evidence: 'seen' })
    await steer('3')
    await one.session.decide('q3', 'once')
    await asked(4)
    expect(await steer('4')).toMatchObject({ state: 'refused', code: 'unsupported' })
    await one.session.decide('q4', 'once')
    await asked(5)
    await expect(steer('5')).rejects.toThrow('throws at this word')
    await one.session.decide('q5', 'once')
    await one.until(() => one.text().includes('word 3'))
    expect(turn.end).toBeUndefined()
    await steer('6')
    await one.until(() => turn.end)
    expect(one.text()).toBe('(heard: word 1) Built. (heard: word 2) Then.(heard: word 3) (heard: word 6) ')
    expect(await steer('7')).toMatchObject({ state: 'refused', code: 'not_running' })
  })
})

describe('a turn that nobody submitted', () => {
  it('begins by itself when nothing plays, answers its own questions, and ends once', async () => {
    const one = await withClock()
    const turn = one.say('[[later:100 The build is done <<say:All green.>><<ask:deploy>>]][[delay:500]][[say:Bye.]]')
    await one.until(() => turn.end)
    await one.until(() => one.of('question.raised').length === 1)
    const began = one.events.findIndex((event) => event.type === 'turn.began')
    expect(one.events[began]).toEqual({ type: 'turn.began', text: 'The build is done', source: 'agent' })
    await one.session.decide('q1', 'once')
    await one.until(() => one.of('turn.ended').length === 1)
    expect(one.of('turn.ended')).toEqual([{ type: 'turn.ended', end: { outcome: 'completed' } }])
  })

  it('does not begin once the chat is closed', async () => {
    const one = await withClock()
    const turn = one.say('[[later:100 Late]]')
    await one.until(() => turn.end)
    await one.session.close()
    await one.timers.advance(1000)
    await settle()
    expect(one.of('turn.began')).toEqual([])
  })
})

it('ends of a script say why: its limit, a provider’s refusal, an interruption, nothing at all', async () => {
  for (const [text, end] of [
    ['[[limit:I stopped here.]]', { outcome: 'completed', reason: 'limit' }], ['[[limit]]', { outcome: 'failed', problem: { code: 'tool_limit_reached' } }],
    ['[[fail:429 Slow down]]', { outcome: 'failed', problem: { code: 'rate_limit', words: 'Slow down', status: 429 } }], ['[[fail:model not found]]', { outcome: 'failed', problem: { code: 'model_not_found', words: 'model not found' } }],
    ['[[interrupt:lost it]]', { outcome: 'interrupted', problem: { code: 'interrupted', words: 'lost it' } }], ['[[nothing]]', { outcome: 'completed' }],
  ] as const) {
    const one = await withClock()
    const turn = one.say(text)
    await one.until(() => turn.end)
    expect(turn.end).toEqual(end)
  }
})

it('plans are written as data or as a line with marks', () => {
  expect(parseScript('[[plan:+Look | >Change | -Drop | Ask]]')).toEqual([
    { do: 'plan', entries: [{ text: 'Look', state: 'done' }, { text: 'Change', state: 'active' }, { text: 'Drop', state: 'cancelled' }, { text: 'Ask', state: 'pending' }] },
  ])
  expect(parseScript('[[plan:[{"text":"Look","state":"done","priority":"high"}]]]')).toEqual([{ do: 'plan', entries: [{ text: 'Look', state: 'done', priority: 'high' }] }])
  expect(parseScript('[[plan:]]')).toEqual([{ do: 'plan', entries: [] }])
})
