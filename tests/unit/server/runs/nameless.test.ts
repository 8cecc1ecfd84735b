import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../../server/agents/port'
import { Refusal } from '../../../../server/contract/problems'
import { settle } from '../../../support/fake-timers'
import { request } from '../../../support/puppet'
import { runsRig, seeded } from '../../../support/runs-rig'
import { codeOf } from './code-of'
import { talking } from './talking'

const MINUTE = 58_000

/** A chat with an agent that has no ids for its questions: everything it asks is nameless, with a deadline of 58 s. */
async function hermes() {
  const rig = await talking()
  const question = (name: string, more: Partial<Extract<AgentEvent, { type: 'question.raised' }>> & { deadline?: number | null } = {}): AgentEvent => {
    const { deadline = MINUTE, ...event } = more
    return {
      type: 'question.raised', question: name, nameless: true, request: { ...request(name), ...(deadline === null ? {} : { deadline: rig.timers.now() + deadline }) }, ...event,
    }
  }
  const tool = (call: string): AgentEvent => ({ type: 'tool.started', call, name: 'shell', verb: 'run', target: call })
  const end = (call: string): AgentEvent => ({ type: 'tool.closed', call, state: 'done' })
  /** Command, state, and whether it shows no buttons, of each question as last shown. */
  const seen = async () => (await rig.approvals()).map((each) => `${each.command} ${each.state === 'retired' ? each.why : each.state}${each.state === 'open' && each.waits ? ' waits' : ''}`)
  const open = async (command: string) => (await rig.approvals()).find((each) => each.command === command && each.state === 'open')!.id
  return { ...rig, question, tool, end, seen, open }
}

describe('a question without an id of its own (case 131)', () => {
  it('that is alone is answered like any other, by our id, and only with what it offered', async () => {
    const { say, tool, question, decide, open, turn, seen } = await hermes()
    await say(tool('a'), question('a', { call: 'a' }))
    const id = await open('a')
    expect(await codeOf(decide('all', id))).toBe('invalid_choice')
    expect(await codeOf(decide('always', id))).toBe('invalid_choice')
    await decide('once', id)
    expect(turn.decisions).toEqual([{ question: 'a', choice: 'yes' }])
    expect(await seen()).toEqual(['a decided'])
  })

  it('leaves the way to the next one once its answer was delivered', async () => {
    const { say, tool, question, decide, end, turn, seen } = await hermes()
    await say(tool('a'), question('a', { call: 'a' }))
    await decide('once')
    await say(tool('b'), question('b', { call: 'b' }))
    expect(await seen()).toEqual(['a decided', 'b open'])
    await decide('deny')
    await say(end('a'), end('b'))
    expect(turn.decisions).toEqual([{ question: 'a', choice: 'yes' }, { question: 'b', choice: 'no' }])
  })

  it('is over when another arrives, and the other waits without buttons: the agent would take an answer for its oldest', async () => {
    const { say, tool, question, decide, open, turn, seen, said, commits, approvals } = await hermes()
    await say(tool('a'), tool('b'), question('a', { call: 'a' }))
    const first = await open('a')
    const before = await said()
    await say(question('b', { call: 'b' }))
    expect(await commits(before)).toEqual([['approval.retired', 'approval.raised']])
    expect(await seen()).toEqual(['a expired', 'b open waits'])
    const waiting = await open('b')
    for (const id of [first, waiting, undefined]) expect(await codeOf(decide('once', id))).toBe('question_gone')
    expect(turn.decisions).toEqual([])
    expect((await approvals()).at(-1)).toMatchObject({ id: waiting, state: 'open', waits: true })
  })

  it('gets its buttons, under a new id and in one append, when the tool of the other ends', async () => {
    const { say, tool, end, question, decide, open, turn, seen, said, commits } = await hermes()
    await say(tool('a'), tool('b'), question('a', { call: 'a' }), question('b', { call: 'b' }))
    const waiting = await open('b')
    const before = await said()
    await say(end('a'))
    expect((await commits(before)).flat()).toEqual(['row.closed', 'approval.retired', 'approval.raised'])
    expect(await seen()).toEqual(['a expired', 'b open'])
    expect(await open('b')).not.toBe(waiting)
    expect(await codeOf(decide('once', waiting))).toBe('question_gone')
    await decide('once', await open('b'))
    expect(turn.decisions).toEqual([{ question: 'b', choice: 'yes' }])
  })

  it('gets its buttons four seconds after the deadline of the other, if its own is still to come', async () => {
    const { say, tool, question, timers, seen } = await hermes()
    await say(tool('a'), tool('b'), question('a', { call: 'a' }))
    await timers.advance(10_000)
    await say(question('b', { call: 'b' }))
    await timers.advance(MINUTE - 10_000 + 3_999)
    expect(await seen()).toEqual(['a expired', 'b open waits'])
    await timers.advance(1)
    expect(await seen()).toEqual(['a expired', 'b open'])
    await timers.advance(10_000)
    expect(await seen()).toEqual(['a expired', 'b expired'])
  })

  it('waits for ever when its own deadline comes first', async () => {
    const { say, tool, question, timers, seen } = await hermes()
    await say(tool('a'), tool('b'), question('a', { call: 'a' }), question('b', { call: 'b', deadline: 30_000 }))
    await timers.advance(30_000)
    expect(await seen()).toEqual(['a expired', 'b expired'])
    await timers.advance(120_000)
    expect(await seen()).toEqual(['a expired', 'b expired'])
  })

  it('of three waits until it is the only one', async () => {
    const { say, tool, end, question, seen, open, decide, turn } = await hermes()
    await say(tool('a'), tool('b'), tool('c'), question('a', { call: 'a' }), question('b', { call: 'b' }), question('c', { call: 'c' }))
    expect(await seen()).toEqual(['a expired', 'b open waits', 'c open waits'])
    await say(end('a'))
    expect(await seen()).toEqual(['a expired', 'b open waits', 'c open waits'])
    await say(end('b'))
    expect(await seen()).toEqual(['a expired', 'b expired', 'c open'])
    await decide('deny', await open('c'))
    expect(turn.decisions).toEqual([{ question: 'c', choice: 'no' }])
  })

  it('is over at its deadline, and the next one still waits until the agent has certainly dropped it', async () => {
    const { say, tool, question, timers, seen, decide } = await hermes()
    await say(tool('a'), tool('b'), question('a', { call: 'a' }))
    await timers.advance(MINUTE)
    expect(await seen()).toEqual(['a expired'])
    await say(question('b', { call: 'b' }))
    expect(await seen()).toEqual(['a expired', 'b open waits'])
    await timers.advance(4_000)
    expect(await seen()).toEqual(['a expired', 'b open'])
    expect(await codeOf(decide('once'))).toBe('none')
  })

  it('is over when the agent speaks, and its row with it; what comes next waits for it', async () => {
    for (const words of [{ type: 'text', delta: 'Well' }, { type: 'message', text: 'Well' }, { type: 'text.replace', from: 0, text: 'Well' }] as const) {
      const { say, question, seen, rows, decide, open, timers, turn } = await hermes()
      await say(question('a'))
      const id = await open('a')
      await say(words)
      expect(await seen()).toEqual(['a expired'])
      expect((await rows()).map((row) => [row.kind, row.state])).toEqual([['question', 'cancelled'], ['answer', words.type === 'message' ? 'done' : 'live']])
      expect(await codeOf(decide('once', id))).toBe('question_gone')
      await say(question('b'))
      expect(await seen()).toEqual(['a expired', 'b open waits'])
      await timers.advance(1_000)
      expect(turn.decisions).toEqual([])
    }
  })

  it('is not over because the agent thinks', async () => {
    const { say, question, seen } = await hermes()
    await say(question('a'), { type: 'reasoning', delta: 'I wait for a word' })
    expect(await seen()).toEqual(['a open'])
  })

  it('is over with its tool, and with any tool if it named none', async () => {
    const { say, tool, end, question, seen } = await hermes()
    await say(tool('a'), tool('b'), question('a', { call: 'a' }), end('b'))
    expect(await seen()).toEqual(['a open'])
    await say(end('a'))
    expect(await seen()).toEqual(['a expired'])
    await say(tool('c'), question('d'), end('c'))
    expect(await seen()).toEqual(['a expired', 'd expired'])
  })

  it('without a deadline never takes an answer', async () => {
    const { say, tool, end, question, seen, decide, open, turn, timers } = await hermes()
    await say(tool('a'), question('a', { call: 'a', deadline: null }))
    expect(await seen()).toEqual(['a open waits'])
    expect(await codeOf(decide('once', await open('a')))).toBe('question_gone')
    await say(tool('b'), question('b', { call: 'b' }))
    await timers.advance(30_000)
    expect(await seen()).toEqual(['a open waits', 'b open waits'])
    await say(end('a'))
    expect(await seen()).toEqual(['a expired', 'b open'])
    expect(turn.decisions).toEqual([])
  })

  it('that the agent takes back makes room at once; one whose time the adapter says is over does not', async () => {
    const withdrawn = await hermes()
    await withdrawn.say(withdrawn.tool('b'), withdrawn.question('a'), { type: 'question.withdrawn', question: 'a', why: 'withdrawn' }, withdrawn.question('b', { call: 'b' }))
    expect((await withdrawn.seen()).sort()).toEqual(['a withdrawn', 'b open'])
    const expired = await hermes()
    await expired.say(expired.tool('b'), expired.question('a'), { type: 'question.withdrawn', question: 'a', why: 'expired' }, expired.question('b', { call: 'b' }))
    expect((await expired.seen()).sort()).toEqual(['a expired', 'b open waits'])
  })

  it('never gets an answer that was meant for the one before, however late the store is', async () => {
    const { say, tool, question, decide, model, turn, seen, open } = await hermes()
    await say(tool('a'), tool('b'), question('a', { call: 'a' }))
    const id = await open('a')
    model.hold()
    const late = codeOf(decide('once', id))
    await settle()
    await say(question('b', { call: 'b' }))
    model.release()
    expect(await late).toBe('question_gone')
    expect(turn.decisions).toEqual([])
    expect(await seen()).toEqual(['a expired', 'b open waits'])
  })

  it('whose answer waits for the store past its deadline is not brought any more', async () => {
    const { say, question, decide, model, turn, timers, seen } = await hermes()
    await say(question('a'))
    model.hold()
    const late = codeOf(decide('once'))
    await timers.advance(MINUTE)
    model.release()
    expect(await late).toBe('question_gone')
    expect(turn.decisions).toEqual([])
    expect(await seen()).toEqual(['a expired'])
  })

  it('that comes while an answer is on its way waits until that has arrived', async () => {
    const { say, tool, question, decide, puppet, turn, seen, open } = await hermes()
    let arrived = (): void => {}
    puppet.onDecide = () => new Promise((resolve) => (arrived = () => resolve({ state: 'delivered' })))
    await say(tool('a'), tool('b'), question('a', { call: 'a' }))
    const first = decide('once')
    await settle()
    await say(question('b', { call: 'b' }))
    expect(await seen()).toEqual(['a decided', 'b open waits'])
    arrived()
    await first
    expect(await seen()).toEqual(['a decided', 'b open'])
    puppet.onDecide = async () => ({ state: 'delivered' })
    await decide('deny', await open('b'))
    expect(turn.decisions).toEqual([{ question: 'a', choice: 'yes' }, { question: 'b', choice: 'no' }])
  })

  it('whose answer was refused is asked again; where nobody knows whether it arrived it has no buttons', async () => {
    const refused = await hermes()
    refused.puppet.onDecide = async () => ({ state: 'refused', code: 'relay_failed' })
    await refused.say(refused.question('a'))
    expect(await codeOf(refused.decide('once'))).toBe('relay_failed')
    expect(await refused.seen()).toEqual(['a open'])
    const lost = await hermes()
    lost.puppet.onDecide = () => Promise.reject(new Error('the line is dead'))
    await lost.say(lost.question('a'))
    expect(await codeOf(lost.decide('once'))).toBe('relay_failed')
    expect(await lost.seen()).toEqual(['a open waits'])
    await lost.timers.advance(MINUTE)
    expect(await lost.seen()).toEqual(['a expired'])
  })

  it('heeds its deadline by the monotonic clock: a jump of the wall clock neither ends nor revives it', async () => {
    const { say, question, timers, seen } = await hermes()
    await say(question('a'))
    const wall = timers.now
    timers.now = () => wall() + 3_600_000
    await timers.advance(MINUTE - 1)
    expect(await seen()).toEqual(['a open'])
    timers.now = () => wall() - 3_600_000
    await timers.advance(1)
    expect(await seen()).toEqual(['a expired'])
  })

  it('goes with its run, and leaves no timer behind', async () => {
    const { say, tool, question, turn, seen, timers, runs } = await hermes()
    await say(tool('a'), tool('b'), question('a', { call: 'a' }), question('b', { call: 'b' }))
    turn.end({ outcome: 'completed' })
    await settle()
    expect(await seen()).toEqual(['a expired', 'b run_ended'])
    await timers.advance(5_000)
    expect(runs.live()).toEqual([])
    expect(timers.pending).toBe(0)
  })
})

describe('an agent that takes any answer for its oldest question', () => {
  it('runs exactly what was allowed and refuses exactly what was denied, however late and however many it asks (any seed)', async () => {
    const seed = Math.floor(Math.random() * 2 ** 32)
    console.log(`nameless: seed ${seed}`)
    for (let round = 0; round < 25; round++) {
      const random = seeded(seed + round)
      const below = (n: number): number => Math.floor(random() * n)
      const rig = runsRig({ seed: seed + round })
      const session = await rig.chat()
      let names = 0
      const script = Array.from({ length: 6 }, () => {
        const commands = Array.from({ length: 1 + below(3) }, () => `cmd${names++}`)
        return `[[nameless:${JSON.stringify({ commands, ms: 1000 + below(9000), lag: below(3) * 700 })}]]${random() < 0.5 ? `[[say:Word ${names}.]]` : ''}`
      })
      const started = await rig.send(session, script.join(''))
      const meant = new Map<string, 'once' | 'deny'>()
      while ((await rig.runOf(started)).state === 'running') {
        await rig.timers.advance(below(700))
        const asked = [...(await rig.transcript(session)).rows.values()].flatMap((row) => ('approval' in row && row.approval ? [row.approval] : []))
        const one = asked[asked.length - 1 - below(Math.min(asked.length, 3))]
        if (!one || random() < 0.2) continue
        const choice = random() < 0.5 ? 'once' : 'deny'
        await rig.runs.decide(rig.profile, { session, approval: one.id, choice }).then(() => meant.set(one.command!, choice), (error: unknown) => {
          if (!(error instanceof Refusal)) throw error
        })
      }
      const tools = [...(await rig.transcript(session)).rows.values()].filter((row) => row.kind === 'tool')
      expect([seed + round, tools.length]).toEqual([seed + round, names])
      for (const { tool } of tools) {
        const said = meant.get(tool.target!)
        expect([seed + round, tool.target, tool.result]).toEqual([seed + round, tool.target, said === undefined ? `timed out: ${tool.target}` : `${said === 'once' ? 'ran' : 'refused'} (${said}): ${tool.target}`])
      }
    }
  }, 60_000)
})
