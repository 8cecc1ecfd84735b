import { describe, expect, it } from 'vitest'
import type { Append } from '../../../../server/store/port'
import { TOOL_TEXT_LIMIT } from '../../../../server/contract/rows'
import { Puppet, request } from '../../../support/puppet'
import { checkInvariants } from '../../../support/invariants'
import { settle } from '../../../support/fake-timers'
import { runsRig } from '../../../support/runs-rig'
import type { Limits } from '../../../../server/runs/limits'

async function speaking(limits: Partial<Limits> = {}) {
  const puppet = new Puppet()
  const rig = runsRig({ agents: { scripted: puppet }, limits })
  const session = await rig.chat()
  const started = await rig.send(session, 'Hello')
  await settle()
  const appends: Append[] = []
  const fault = rig.model.fault
  rig.model.fault = (append, n) => {
    appends.push(append)
    return fault(append, n)
  }
  const rows = async () => {
    const value = await rig.transcript(session)
    return value.order.map((id) => value.rows.get(id)!).filter((row) => row.kind !== 'user')
  }
  return { ...rig, puppet, session, started, appends, rows, emit: puppet.turn.emit, sink: puppet.turn.sink, types: () => appends.map((append) => append.events.map((event) => event.type)) }
}

describe('growth', () => {
  it('shows the first text at once and joins the rest into one piece for each row and commit', async () => {
    const { emit, appends, timers, types, rows } = await speaking()
    emit({ type: 'text', delta: 'A' })
    await settle()
    expect(appends.map((append) => append.urgency)).toEqual(['now'])
    for (let i = 0; i < 1000; i++) {
      emit({ type: 'text', delta: 'b' })
      if (i % 100 === 0) await settle()
    }
    await timers.advance(200)
    expect(appends.slice(1).every((append) => append.urgency === 'soon' && append.events.length === 1)).toBe(true)
    expect(appends.length).toBeLessThan(6)
    expect(types().flat()).not.toContain('row.closed')
    expect((await rows())[0]!.text).toBe('A' + 'b'.repeat(1000))
  })

  it('is flushed before anything else is said', async () => {
    const { emit, types, rows } = await speaking()
    emit({ type: 'text', delta: 'A' })
    await settle()
    emit({ type: 'text', delta: 'B' })
    await Promise.resolve()
    emit({ type: 'text', delta: 'C' })
    emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other' })
    await settle()
    expect(types()).toEqual([['row.opened'], ['row.grew'], ['row.grew', 'row.closed', 'row.opened']])
    expect((await rows())[0]).toMatchObject({ text: 'ABC', state: 'done' })
  })

  it('of what a tool prints is one change for each commit, the newest of each field', async () => {
    const { emit, types, timers, rows } = await speaking()
    emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'run' })
    await settle()
    emit({ type: 'tool.changed', call: 'c', change: { title: 'Building' } })
    await settle()
    for (let i = 0; i < 500; i++) emit({ type: 'tool.changed', call: 'c', change: { output: `line ${i}\n` } })
    await timers.advance(100)
    expect(types()).toEqual([['row.opened'], ['row.changed'], ['row.changed']])
    emit({ type: 'tool.changed', call: 'c', change: { output: 'last' } })
    emit({ type: 'tool.closed', call: 'c', state: 'done' })
    await settle()
    expect(types().slice(3)).toEqual([['row.changed', 'row.closed']])
    expect(await rows()).toMatchObject([{ tool: { title: 'Building', output: 'last' } }])
  })

  it('never has two appends of one chat in flight', async () => {
    const { emit, model } = await speaking()
    model.hold()
    for (let i = 0; i < 50; i++) {
      emit({ type: 'text', delta: 'x' })
      emit({ type: 'tool.started', call: `c${i}`, name: 'x', verb: 'other' })
      await settle()
      expect(model.waiting).toBeLessThanOrEqual(1)
    }
  })

  it('puts characters together that arrive in halves, and replaces what stays half', async () => {
    const { emit, rows } = await speaking()
    emit({ type: 'text', delta: 'a\uD83D' })
    emit({ type: 'text', delta: '\uDE80b' })
    emit({ type: 'text', delta: '\uDE80\uD83D' })
    emit({ type: 'segment' })
    emit({ type: 'text', delta: '\uD83D' })
    emit({ type: 'text', delta: '\uDE80' })
    await settle()
    expect((await rows()).map((row) => row.text)).toEqual(['a\u{1F680}b\uFFFD\uFFFD', '\u{1F680}'])
  })

  it('holds an agent back while too much waits, says so once, and goes on by itself', async () => {
    const { emit, sink, model, rows, timers } = await speaking({ waiting: 1000 })
    emit({ type: 'text', delta: 'A' })
    await settle()
    model.hold()
    expect(sink({ type: 'text', delta: 'x'.repeat(900) })).toBeUndefined()
    const pause = sink({ type: 'text', delta: 'x'.repeat(200) })
    expect(pause).toBeInstanceOf(Promise)
    let going = false
    void (pause as Promise<void>).then(() => (going = true))
    await settle()
    expect(going).toBe(false)
    model.release()
    await timers.advance(100)
    expect(going).toBe(true)
    emit({ type: 'text', delta: '!' })
    await timers.advance(100)
    const seen = await rows()
    expect(seen.filter((row) => row.kind === 'notice')).toMatchObject([{ notice: { code: 'agent_paused' } }])
    expect(seen[0]!.text).toBe('A' + 'x'.repeat(1100) + '!')
  })
})

describe('rows', () => {
  it('stand in the order in which things were said', async () => {
    const { emit, rows } = await speaking()
    emit({ type: 'reasoning', delta: 'r1' })
    emit({ type: 'text', delta: 't1' })
    emit({ type: 'reasoning', delta: 'r2' })
    emit({ type: 'text', delta: 't2' })
    emit({ type: 'segment' })
    emit({ type: 'text', delta: 't3' })
    emit({ type: 'notice', code: 'fallback_model', words: 'Using another' })
    emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other' })
    emit({ type: 'tool.started', call: 'd', parent: 'c', name: 'y', verb: 'other' })
    emit({ type: 'text', delta: 't4' })
    await settle()
    const seen = await rows()
    expect(seen.map((row) => [row.kind, row.text, row.state])).toEqual([
      ['thought', 'r1', 'done'], ['answer', 't1', 'done'], ['thought', 'r2', 'done'], ['answer', 't2', 'done'], ['answer', 't3', 'done'], ['notice', '', 'done'],
      ['tool', '', 'live'], ['tool', '', 'live'], ['answer', 't4', 'live'],
    ])
    expect(seen[7]!.parent).toBe(seen[6]!.id)
  })

  it('of a sub-agent stand under the call that sent it, also when that has ended first; under no row where nobody knows the call', async () => {
    const { emit, rows } = await speaking()
    emit({ type: 'tool.started', call: 'sent', name: 'delegate', verb: 'other' })
    emit({ type: 'tool.started', call: 'a', parent: 'sent', name: 'x', verb: 'other' })
    emit({ type: 'tool.closed', call: 'sent', state: 'done' })
    emit({ type: 'tool.started', call: 'b', parent: 'sent', name: 'y', verb: 'other' })
    emit({ type: 'tool.started', call: 'deep', parent: 'a', name: 'y', verb: 'other' })
    emit({ type: 'tool.started', call: 'lost', parent: 'nobody', name: 'z', verb: 'other' })
    await settle()
    const seen = await rows()
    const [sent, a] = seen
    expect(seen.map((row) => [row.state, row.parent])).toEqual([['done', undefined], ['live', sent!.id], ['live', sent!.id], ['live', a!.id], ['live', undefined]])
  })

  it('of an answer are cut and rewritten when the agent corrects itself', async () => {
    const { emit, rows, timers } = await speaking()
    emit({ type: 'text', delta: 'Hello wurld' })
    emit({ type: 'text.replace', from: 6, text: 'world' })
    emit({ type: 'text', delta: '!' })
    await timers.advance(50)
    expect((await rows()).map((row) => row.text)).toEqual(['Hello world!'])
    emit({ type: 'segment' })
    emit({ type: 'text.replace', from: 5, text: ', again' })
    await timers.advance(50)
    expect((await rows()).map((row) => row.text)).toEqual(['Hello', ', again'])
  })

  it('of tools are bounded and say when they were cut', async () => {
    const { emit, rows } = await speaking()
    const long = 'x'.repeat(TOOL_TEXT_LIMIT + 10)
    emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other', args: { deep: { text: 'y'.repeat(20_000) }, list: Array.from({ length: 500 }, (_, i) => i) } })
    emit({ type: 'tool.changed', call: 'c', change: { output: 'first' + long } })
    emit({ type: 'tool.closed', call: 'c', state: 'failed', result: long, exit: 2 })
    emit({ type: 'tool.closed', call: 'c', state: 'done' })
    emit({ type: 'tool.changed', call: 'nobody', change: { output: 'x' } })
    await settle()
    const [row] = await rows()
    if (row?.kind !== 'tool') throw new Error('no tool')
    expect(row).toMatchObject({ state: 'failed', tool: { cut: true, exit: 2 } })
    expect([row.tool.output!.length, row.tool.result!.length]).toEqual([TOOL_TEXT_LIMIT, TOOL_TEXT_LIMIT])
    expect(row.tool.output).not.toContain('first')
    expect(JSON.stringify(row.tool.args).length).toBeLessThan(20_000)
  })
})

describe('a plan', () => {
  it('has one row a run, replaced in place; an empty one is the newest, too, and the row ends with the run', async () => {
    const { emit, rows, timers, puppet, events, session } = await speaking()
    emit({ type: 'text', delta: 'I will ' })
    emit({ type: 'plan', entries: [{ text: 'Look\uD800', state: 'active', priority: 'high' }, { text: 'Write', state: 'pending' }] })
    emit({ type: 'text', delta: 'look' })
    emit({ type: 'plan', entries: [{ text: 'Look', state: 'done' }] })
    await timers.advance(100)
    expect(await rows()).toMatchObject([{ kind: 'answer', text: 'I will look', state: 'live' }, { kind: 'plan', state: 'live', text: '', plan: [{ text: 'Look', state: 'done' }] }])
    emit({ type: 'plan', entries: [] })
    await timers.advance(100)
    expect((await rows())[1]).toMatchObject({ kind: 'plan', plan: [] })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect((await rows())[1]).toMatchObject({ state: 'done', plan: [] })
    expect((await events(session)).filter((event) => event.type === 'row.opened' && event.kind === 'plan')).toMatchObject([{ plan: [{ text: 'Look\uFFFD', state: 'active', priority: 'high' }, { text: 'Write', state: 'pending' }] }])
  })

  it('that begins empty is recorded, and a very long one is bounded', async () => {
    const { emit, rows, timers } = await speaking()
    emit({ type: 'plan', entries: [] })
    await settle()
    expect(await rows()).toMatchObject([{ kind: 'plan', plan: [] }])
    emit({ type: 'plan', entries: Array.from({ length: 5000 }, () => ({ text: 'x'.repeat(20_000), state: 'pending' as const })) })
    await timers.advance(100)
    expect(JSON.stringify(await rows()).length).toBeLessThan(2_000_000)
  })
})

describe('what a later re-attach needs', () => {
  it('is in the log: the agent\'s session and its own name of the run, with its counters', async () => {
    const { emit, transcript, session, started, runOf } = await speaking()
    emit({ type: 'session.bound', foreign: 'agent-session', why: 'first' })
    emit({ type: 'turn.bound', foreign: 'agent-run', counters: { input: 12 } })
    await settle()
    expect((await transcript(session)).session).toMatchObject({ foreign: 'agent-session' })
    expect((await runOf(started)).bound).toEqual({ foreign: 'agent-run', counters: { input: 12 } })
  })
})

describe('the end of a run', () => {
  it('names the last answer as the final one, unless a tool came after it', async () => {
    const { emit, puppet, rows, runOf, started } = await speaking()
    emit({ type: 'text', delta: 'interim' })
    emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other' })
    emit({ type: 'tool.closed', call: 'c', state: 'done' })
    emit({ type: 'text', delta: 'final' })
    puppet.turn.end({ outcome: 'completed', reason: 'limit', usage: { input: 1, output: 2 } })
    await settle()
    expect(await runOf(started)).toMatchObject({ outcome: 'completed', reason: 'limit', finalRow: (await rows())[2]!.id, usage: { input: 1, output: 2 } })

    const other = await speaking()
    other.emit({ type: 'text', delta: 'interim' })
    other.emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other' })
    other.puppet.turn.end({ outcome: 'failed', problem: { code: 'provider_error', words: 'w'.repeat(5000) } })
    await settle()
    const run = await other.runOf(other.started)
    expect(run.finalRow).toBeUndefined()
    expect(run.problem!.words).toHaveLength(1200)
    expect((await other.rows()).at(-1)).toMatchObject({ kind: 'tool', state: 'unknown' })
  })

  it('is one append with everything that belongs to it', async () => {
    const { emit, puppet, timers, appends, started, runOf } = await speaking()
    await timers.advance(70)
    emit({ type: 'text', delta: 'first' })
    await timers.advance(100)
    emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other' })
    emit({ type: 'question.raised', question: 'q', call: 'c', request: request() })
    emit({ type: 'usage', usage: { input: 10 } })
    emit({ type: 'usage', usage: { output: 4 } })
    await timers.advance(100)
    emit({ type: 'context', messages: [{ role: 'assistant', content: 'first' }] })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    const last = appends.at(-1)!
    expect(last.events.map((event) => event.type)).toEqual(['approval.retired', 'row.closed', 'run.settled'])
    expect(last.context?.add).toMatchObject([{ message: { role: 'assistant', content: 'first' }, turn: started.turn }])
    expect(await runOf(started)).toMatchObject({ usage: { input: 10, output: 4 }, timings: { total: 270, firstToken: 70 } })
  })

  it('keeps an agent that crashes in its turn as a failure with its words', async () => {
    const { puppet, runOf, started } = await speaking()
    puppet.turn.crash(new Error('segmentation fault'))
    await settle()
    expect(await runOf(started)).toMatchObject({ outcome: 'failed', problem: { code: 'agent_died', words: 'segmentation fault' } })
  })
})

describe('the watchdog', () => {
  it('fails a run whose agent is silent for the budget, and keeps the chat busy until the agent has ended', async () => {
    const { emit, puppet, timers, runOf, started, runs } = await speaking()
    puppet.onStop = () => {}
    await timers.advance(300_000)
    emit({ type: 'reasoning', delta: 'hm' })
    await timers.advance(599_000)
    expect((await runOf(started)).state).toBe('running')
    await timers.advance(2_000)
    expect(await runOf(started)).toMatchObject({ outcome: 'failed', problem: { code: 'agent_silent' } })
    expect(puppet.turn.stops).toEqual(['server'])
    expect(runs.live()).toHaveLength(1)
    await timers.advance(15_000)
    expect(runs.live()).toEqual([])
  })

  it('never bites while a question or a tool is open', async () => {
    const { emit, timers, runOf, started, session, transcript } = await speaking()
    emit({ type: 'tool.started', call: 'c', name: 'x', verb: 'other' })
    await timers.advance(3_600_000)
    emit({ type: 'tool.closed', call: 'c', state: 'done' })
    emit({ type: 'question.raised', question: 'q', request: request() })
    await timers.advance(3_600_000)
    expect((await runOf(started)).state).toBe('running')
    emit({ type: 'question.withdrawn', question: 'q', why: 'withdrawn' })
    await timers.advance(599_000)
    expect((await runOf(started)).state).toBe('running')
    await timers.advance(700_000)
    expect(await runOf(started)).toMatchObject({ problem: { code: 'agent_silent' } })
    expect(checkInvariants(await transcript(session))).toEqual([])
  })
})
