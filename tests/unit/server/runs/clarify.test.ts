import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../../server/agents/port'
import type { ClarifyRequest } from '../../../../server/contract/questions'
import { settle } from '../../../support/fake-timers'
import { testProfile } from '../../../support/runs-rig'
import { codeOf } from './code-of'
import { talking } from './talking'

function question(name: string, more: Partial<ClarifyRequest> = {}, foreign?: string): AgentEvent {
  return { type: 'clarify.raised', question: name, request: { question: 'Which colour?', choices: ['red', 'blue'], free: true, ...more }, ...(foreign === undefined ? {} : { foreign }) }
}

describe('a clarifying question', () => {
  it('stands in a row of its own, in one append with it, and is attention in the list', async () => {
    const { say, rows, commits, said, store, session } = await talking()
    const before = await said()
    await say(question('q'))
    expect(await commits(before)).toEqual([['row.opened', 'clarify.raised']])
    expect(await rows()).toMatchObject([{ kind: 'question', state: 'live', text: '', clarify: { state: 'open', question: 'Which colour?', choices: ['red', 'blue'], free: true } }])
    expect((await store.list({ profile: 'default', limit: 1 })).entries[0]).toMatchObject({ id: session, state: 'asking', questions: 1 })
  })

  it('is answered in the log before the agent hears of it, then its row is done', async () => {
    const { say, reply, model, turn, clarifies, rows, store } = await talking()
    await say(question('q'))
    const { id } = (await clarifies())[0]!
    model.hold()
    const answered = reply('blue', id)
    await settle()
    expect(turn.answers).toEqual([])
    model.release()
    expect(await answered).toEqual({ clarify: id })
    expect(turn.answers).toEqual([{ question: 'q', text: 'blue' }])
    await settle()
    expect(await rows()).toMatchObject([{ state: 'done', clarify: { state: 'answered', answer: 'blue' } }])
    expect((await store.list({ profile: 'default', limit: 1 })).entries[0]).toMatchObject({ questions: 0 })
  })

  it('takes words of one\'s own only where the agent wants them, and never nothing', async () => {
    const { say, reply, turn, clarifies, said } = await talking()
    await say(question('q', { free: false }))
    const before = await said()
    expect(await codeOf(reply('green'))).toBe('invalid_choice')
    expect(await codeOf(reply(' '))).toBe('bad_request')
    expect(await said()).toBe(before)
    await reply('red')
    await say(question('r', { choices: [] }))
    await reply('any green\uD800')
    expect(turn.answers).toEqual([{ question: 'q', text: 'red' }, { question: 'r', text: 'any green\uFFFD' }])
    expect((await clarifies()).map((each) => each.state)).toEqual(['answered', 'answered'])
  })

  it('case 136: asked the same twice in a row is one question; both of the agent\'s are answered', async () => {
    const { say, reply, turn, clarifies, said } = await talking()
    await say(question('q1'))
    const before = await said()
    await say(question('q2'))
    expect(await said()).toBe(before)
    expect(await clarifies()).toHaveLength(1)
    await reply('red')
    expect(turn.answers).toEqual([{ question: 'q1', text: 'red' }, { question: 'q2', text: 'red' }])
    await say(question('q3'))
    expect((await clarifies()).map((each) => each.state)).toEqual(['answered', 'open'])
  })

  it('case 136: with other words, other choices or another in between is a question of its own', async () => {
    const { say, reply, turn, clarifies } = await talking()
    await say(question('a'), question('b', { question: 'Which size?' }), question('c', { choices: ['red'] }), question('d', { choices: ['red'], free: false }), question('e'))
    expect(await clarifies()).toHaveLength(5)
    const ids = (await clarifies()).map((each) => each.id)
    await reply('red', ids[3])
    await reply('red')
    expect(turn.answers).toEqual([{ question: 'd', text: 'red' }, { question: 'a', text: 'red' }])
    expect((await clarifies()).map((each) => each.state)).toEqual(['answered', 'open', 'open', 'answered', 'open'])
  })

  it('asked twice stays until the agent takes both back, and until the later deadline, then under a new id', async () => {
    const { say, clarifies, timers, reply, turn } = await talking()
    await say(question('a'), question('b'), { type: 'question.withdrawn', question: 'a', why: 'withdrawn' })
    expect(await clarifies()).toMatchObject([{ state: 'open' }])
    await say({ type: 'question.withdrawn', question: 'b', why: 'withdrawn' })
    expect(await clarifies()).toMatchObject([{ state: 'retired', why: 'withdrawn' }])
    const now = timers.now()
    await say(question('c', { deadline: now + 1000 }), question('d', { deadline: now + 3000 }))
    const [, first] = await clarifies()
    await timers.advance(1000)
    const [, second] = await clarifies()
    expect(second).toMatchObject({ state: 'open', deadline: now + 3000 })
    expect(second!.id).not.toBe(first!.id)
    expect(await codeOf(reply('red', first!.id))).toBe('question_gone')
    await reply('red', second!.id)
    expect(turn.answers).toEqual([{ question: 'd', text: 'red' }])
  })

  it('case 136: that is over is gone, whoever it was that ended it; one of another profile is something else', async () => {
    const { say, reply, clarifies, turn, timers, runs, session, send } = await talking()
    await say(question('a'))
    const ids: string[] = [(await clarifies())[0]!.id]
    await reply('red')
    await say(question('b', { deadline: timers.now() + 1000 }))
    ids.push((await clarifies())[1]!.id)
    await timers.advance(1000)
    await say(question('c'))
    ids.push((await clarifies())[2]!.id)
    expect((await clarifies()).map((each) => each.state)).toEqual(['answered', 'retired', 'open'])
    expect(await codeOf(runs.answer(testProfile('work'), { session, clarify: ids[2]!, text: 'red' }))).toBe('session_profile_mismatch')
    turn.end({ outcome: 'completed' })
    await settle()
    for (const id of ids) expect(await codeOf(reply('late', id))).toBe('question_gone')
    expect(await codeOf(reply('late'))).toBe('question_not_found')
    expect(await codeOf(reply('late', 'clr_none'))).toBe('question_not_found')
    await send(session, 'Again')
    await settle()
    for (const id of ids) expect(await codeOf(reply('late', id))).toBe('question_gone')
    expect(turn.answers).toEqual([{ question: 'a', text: 'red' }])
  })

  it('takes one of two answers at once', async () => {
    const { say, reply, clarifies, turn } = await talking()
    await say(question('q'))
    const { id } = (await clarifies())[0]!
    expect(await Promise.all([codeOf(reply('red', id)), codeOf(reply('blue', id))])).toEqual(['none', 'question_gone'])
    expect(turn.answers).toEqual([{ question: 'q', text: 'red' }])
  })

  it('whose answer did not arrive is asked again in one append; only who did not hear it is told the next answer', async () => {
    const { say, reply, clarifies, turn, puppet, said, commits } = await talking()
    await say(question('a'), question('b'))
    puppet.onAnswer = async (name) => (name === 'a' ? { state: 'delivered' } : { state: 'refused', code: 'relay_failed', words: 'no line' })
    const before = await said()
    expect(await codeOf(reply('red'))).toBe('relay_failed')
    expect(await commits(before)).toEqual([['clarify.answered'], ['clarify.retired', 'clarify.raised']])
    expect(await clarifies()).toMatchObject([{ state: 'open' }])
    puppet.onAnswer = async () => ({ state: 'delivered' })
    await reply('blue')
    expect(turn.answers).toEqual([{ question: 'a', text: 'red' }, { question: 'b', text: 'red' }, { question: 'b', text: 'blue' }])
    await settle()
    expect(await clarifies()).toMatchObject([{ state: 'answered', answer: 'blue' }])
  })

  it('that the agent no longer has is expired, and its row with it', async () => {
    const { say, reply, puppet, rows } = await talking()
    puppet.onAnswer = async () => ({ state: 'refused', code: 'question_gone' })
    await say(question('q'))
    expect(await codeOf(reply('red'))).toBe('question_gone')
    expect(await rows()).toMatchObject([{ state: 'cancelled', clarify: { state: 'retired', why: 'expired' } }])
  })

  it('is unblocked by a stop at once, also while its answer is on its way to an agent that hangs', async () => {
    const { say, reply, puppet, runs, profile, started, rows, runOf } = await talking()
    puppet.onAnswer = () => new Promise(() => {})
    await say(question('q'), question('r', { question: 'And?' }))
    const hanging = codeOf(reply('red'))
    await settle()
    await runs.stop(profile, started.run, 'person')
    await settle()
    expect(await runOf(started)).toMatchObject({ outcome: 'cancelled' })
    expect(await hanging).toBe('none')
    expect(await rows()).toMatchObject([{ state: 'done', clarify: { state: 'answered' } }, { state: 'cancelled', clarify: { state: 'retired', why: 'run_ended' } }])
    expect(await codeOf(reply('blue'))).toBe('question_not_found')
  })

  it('of an agent that cannot take answers is told so, and stays', async () => {
    const { say, reply, turn, puppet, clarifies } = await talking()
    await say(question('q'))
    puppet.onAnswer = async () => ({ state: 'refused', code: 'unsupported' })
    expect(await codeOf(reply('red'))).toBe('relay_failed')
    expect(await clarifies()).toMatchObject([{ state: 'open' }])
    expect(turn.answers).toHaveLength(1)
  })

  it('has what the agent calls it beside the log and in no event', async () => {
    const { say, store, session, clarifies, events } = await talking()
    await say(question('q', {}, 'agent-secret-ref'))
    expect((await store.load(session))!.beside).toEqual([{ id: (await clarifies())[0]!.id, foreign: 'agent-secret-ref' }])
    expect(JSON.stringify(await events(session))).not.toContain('agent-secret-ref')
  })

  it('does not let a silent agent be taken for a dead one, whatever its kind', async () => {
    const { say, timers, runOf, started, give, secrets } = await talking()
    await say(question('q'))
    await timers.advance(3_600_000)
    await say({ type: 'question.withdrawn', question: 'q', why: 'withdrawn' }, { type: 'secret.raised', question: 's', request: { kind: 'sudo', prompt: 'Password' } })
    await timers.advance(3_600_000)
    expect((await runOf(started)).state).toBe('running')
    await give((await secrets())[0]!.id, 'x')
    await timers.advance(700_000)
    expect(await runOf(started)).toMatchObject({ outcome: 'failed', problem: { code: 'agent_silent' } })
  })
})
