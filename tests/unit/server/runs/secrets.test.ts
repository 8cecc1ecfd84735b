import { describe, expect, it, vi } from 'vitest'
import type { AgentEvent } from '../../../../server/agents/port'
import type { Refusal } from '../../../../server/contract/problems'
import { settle } from '../../../support/fake-timers'
import { codeOf } from './code-of'
import { talking } from './talking'

const VALUE = 'hunter2-correct-horse'

function question(name: string, deadline?: number): AgentEvent {
  return { type: 'secret.raised', question: name, request: { kind: 'sudo', prompt: 'Password for root', env: 'SUDO', ...(deadline === undefined ? {} : { deadline }) } }
}

describe('a secret', () => {
  it('is given to the agent alone; the log says that it was given', async () => {
    const { say, give, secrets, turn, rows } = await talking()
    await say(question('s'))
    const { id } = (await secrets())[0]!
    expect(await give(id, VALUE)).toEqual({ secret: id, given: true })
    expect(turn.given).toEqual([{ question: 's', value: VALUE }])
    await settle()
    expect(await rows()).toMatchObject([{ kind: 'question', state: 'done', text: '', secret: { state: 'answered', given: true, prompt: 'Password for root', env: 'SUDO' } }])
  })

  it('that is not given says so, and its row is denied', async () => {
    const { say, give, secrets, turn, rows } = await talking()
    await say(question('s'))
    expect(await give((await secrets())[0]!.id, null)).toMatchObject({ given: false })
    expect(turn.given).toEqual([{ question: 's', value: null }])
    await settle()
    expect(await rows()).toMatchObject([{ state: 'denied', secret: { state: 'answered', given: false } }])
  })

  it('is given once, not after its deadline, not after its run, and not for another question', async () => {
    const { say, give, secrets, turn, timers, decide, reply } = await talking()
    await say(question('s'))
    const first = (await secrets())[0]!.id
    expect(await Promise.all([codeOf(give(first, VALUE)), codeOf(give(first, 'other'))])).toEqual(['none', 'question_gone'])
    await say(question('t', timers.now() + 1000))
    const second = (await secrets())[1]!.id
    expect(await codeOf(decide('once', second))).toBe('question_gone')
    expect(await codeOf(reply('x', second))).toBe('question_gone')
    expect(await codeOf(give('sec_none', VALUE))).toBe('question_not_found')
    await timers.advance(1000)
    expect(await codeOf(give(second, VALUE))).toBe('question_gone')
    await say(question('u'))
    const third = (await secrets())[2]!.id
    turn.end({ outcome: 'completed' })
    await settle()
    expect(await codeOf(give(third, VALUE))).toBe('question_gone')
    expect(turn.given).toEqual([{ question: 's', value: VALUE }])
    expect((await secrets()).map((each) => [each.state, each.state === 'retired' && each.why])).toEqual([['answered', false], ['retired', 'expired'], ['retired', 'run_ended']])
  })

  it('that did not arrive is asked for again, without a word of what the agent said', async () => {
    const { say, give, secrets, puppet, turn } = await talking()
    await say(question('s'))
    const { id } = (await secrets())[0]!
    puppet.onGive = () => Promise.reject(new Error(`cannot write ${VALUE}`))
    const refused = await give(id, VALUE).catch((error: unknown) => error)
    expect(refused).toMatchObject({ problem: { code: 'relay_failed' } })
    expect(JSON.stringify((refused as Refusal).problem) + String((refused as Refusal).stack)).not.toContain(VALUE)
    const again = (await secrets())[0]!
    expect(again).toMatchObject({ state: 'open' })
    expect(again.id).not.toBe(id)
    puppet.onGive = async () => ({ state: 'delivered' })
    await give(again.id, VALUE)
    expect(turn.given).toHaveLength(2)
  })

  it('never reaches an agent after a stop was taken', async () => {
    const { say, give, secrets, puppet, turn, model, runs, profile, started } = await talking()
    puppet.onStop = () => {}
    await say(question('s'))
    model.hold()
    const given = codeOf(give((await secrets())[0]!.id, VALUE))
    await settle()
    const stopped = runs.stop(profile, started.run, 'person')
    model.release()
    await Promise.all([stopped, given])
    await settle()
    expect(turn.given).toEqual([])
  })

  it('is found nowhere afterwards: no event, row, receipt, entry, context, refusal, nor anything that was printed', async () => {
    const printed: string[] = []
    const spies = (['log', 'info', 'warn', 'error', 'debug', 'trace'] as const).map((name) => vi.spyOn(console, name).mockImplementation((...words) => void printed.push(words.map(String).join(' '))))
    const write = vi.spyOn(process.stderr, 'write').mockImplementation((words) => (printed.push(String(words)), true))
    const told: unknown[] = []
    try {
      for (const way of ['delivered', 'gone', 'failed', 'thrown', 'store', 'stopped', 'hangs'] as const) {
        const { say, give, secrets, puppet, model, runs, profile, started, session, store, events, transcript, timers, turn } = await talking()
        await say({ type: 'tool.started', call: 'c', name: 'sudo', verb: 'run' }, question('s'))
        const { id } = (await secrets())[0]!
        if (way === 'gone') puppet.onGive = async () => ({ state: 'refused', code: 'question_gone', words: VALUE })
        if (way === 'failed') puppet.onGive = async () => ({ state: 'refused', code: 'relay_failed', words: VALUE })
        if (way === 'thrown') puppet.onGive = (_, value) => Promise.reject(new Error(String(value)))
        if (way === 'hangs') puppet.onGive = () => new Promise(() => {})
        if (way === 'store') model.failAppend(1)
        const given = give(id, VALUE).catch((error: unknown) => error)
        if (way === 'stopped' || way === 'hangs') await runs.stop(profile, started.run, 'person')
        told.push(await given)
        await say({ type: 'tool.closed', call: 'c', state: 'done' })
        turn.end({ outcome: 'completed' })
        await timers.advance(20_000)
        told.push(await events(session), [...(await transcript(session)).rows.values()], await store.list({ profile: 'default', limit: 5 }), await store.context(session), model.disk)
      }
    } finally {
      write.mockRestore()
      for (const spy of spies) spy.mockRestore()
    }
    const everything = printed.join('\n') + told.map((each) => (each instanceof Error ? `${each.message} ${each.stack} ${JSON.stringify(each)}` : JSON.stringify(each, plain))).join('\n')
    expect(everything).toContain('secret.answered')
    expect(everything).not.toContain(VALUE)
  })
})

/** Maps as they would be printed. */
function plain(_key: string, value: unknown): unknown {
  return value instanceof Map ? [...value.entries()] : value
}
