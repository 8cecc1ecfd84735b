import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgentEvent, Binding, Opening, Reattached, TurnEnd } from '../../../../../server/agents/port'
import { messageOf, reattach } from '../../../../../server/agents/hermes/reattach'
import { HermesFault } from '../../../../../server/agents/hermes/port'
import { HermesSession } from '../../../../../server/agents/hermes/session'
import type { HermesSessionParts } from '../../../../../server/agents/hermes/session'
import { FakeTimers } from '../../../../support/fake-timers'
import { HermesPuppet } from '../../../../support/hermes-puppet'

const profile = { name: 'default', home: '/h', scope: '/h', env: {}, isLaunch: true }
const opening: Opening = { profile, session: 'ses', cwd: '/w', model: null, context: async () => [] }
const input = (text: string) => ({ turn: 'trn', run: 'run', text, model: null, retry: false })
const complete = (text: string) => ({ text, status: 'complete' })

let clock: FakeTimers
let program: HermesPuppet
let events: AgentEvent[]
let deaf: number
let session: HermesSession
let parts: HermesSessionParts

beforeEach(() => {
  clock = new FakeTimers()
  program = new HermesPuppet('/w')
  events = []
  deaf = 0
  parts = { program, timers: clock, realpath: async (path) => path, closed: () => undefined, deaf: () => void deaf++, cured: async () => undefined }
})
afterEach(() => session?.close())

const sink = (event: AgentEvent): void => void events.push(event)
async function opened(more: Partial<Opening> = {}): Promise<HermesSession> {
  session = new HermesSession(parts, { ...opening, ...more }, sink)
  await session.open()
  return session
}
const texts = (): string => events.flatMap((event) => (event.type === 'text' ? [event.delta] : [])).join('')
const types = (): string[] => events.map(({ type }) => type)

/** A turn that was submitted and has begun. */
async function begun(text = 'hello'): Promise<{ end: Promise<TurnEnd> }> {
  const end = session.turn(input(text))
  await clock.advance(0)
  await program.say('message.start')
  return { end }
}
const free = (): Promise<void> => program.say('session.info', { running: false })

describe('a chat with Hermes', () => {
  it('makes a session in the chat’s folder, with its model and effort, and says which one', async () => {
    await opened({ model: { provider: 'openrouter', id: 'hermes-4' }, effort: 'high' })
    expect(program.called('session.create')).toEqual([{ cwd: '/w', source: 'talaria', model: 'hermes-4', provider: 'openrouter', reasoning_effort: 'high' }])
    expect(events).toEqual([{ type: 'session.bound', foreign: 'stored1', why: 'first' }])
  })

  describe('files of a message', () => {
    const file = (name: string, mime: string) => ({ id: name, name, mime, size: 1, path: `/files/${name}` })
    const given = (...attachments: ReturnType<typeof file>[]) => session.turn({ ...input('look'), attachments })
    beforeEach(async () => {
      program.answers['image.attach'] = ({ path }) => ({ attached: true, path: `/hermes${(path as string)}` })
      program.answers['file.attach'] = ({ name }) => ({ attached: true, ref_text: `@file:${name as string}` })
      await opened()
    })

    it('pictures go along by themselves, other files are named before the words', async () => {
      void given(file('a.png', 'image/png'), file('b.txt', 'text/plain'), file('c.pdf', 'application/pdf'))
      await clock.advance(0)
      expect(program.called('image.attach')).toEqual([{ session_id: 'live1', path: '/files/a.png' }])
      expect(program.called('prompt.submit')).toEqual([{ session_id: 'live1', text: '@file:b.txt @file:c.pdf\n\nlook' }])
    })

    it('one that Hermes does not take is told, and the message goes without it', async () => {
      program.answers['file.attach'] = () => {
        throw new HermesFault('rpc', 'no such file', 4016)
      }
      void given(file('b.txt', 'text/plain'))
      await clock.advance(0)
      expect(events.at(-1)).toEqual({ type: 'notice', code: 'file_not_read', params: { name: 'b.txt' }, words: 'no such file' })
      expect(program.called('prompt.submit')).toEqual([{ session_id: 'live1', text: 'look' }])
    })

    it('a message whose session was lost while its files were given goes to the new one, files and all', async () => {
      let first = true
      program.answers['image.attach'] = () => {
        if (first) program.lose('program')
        first = false
        return { attached: true, path: '/hermes/a.png' }
      }
      const end = given(file('a.png', 'image/png'))
      await clock.advance(10)
      const { session_id: live } = program.called('prompt.submit')[0] as { session_id: string }
      expect(program.called('prompt.submit')).toHaveLength(1)
      expect(program.called('image.attach').at(-1)).toEqual({ session_id: live, path: '/files/a.png' })
      expect(program.called('image.attach')).toHaveLength(2)
      await program.say('message.start')
      await program.say('message.complete', complete('seen'))
      await free()
      expect(await end).toMatchObject({ outcome: 'completed' })
    })

    it('a message that Hermes refuses leaves no picture to the next one', async () => {
      program.answers['prompt.submit'] = () => {
        throw new HermesFault('rpc', 'session busy', 4009)
      }
      expect(await given(file('a.png', 'image/png'))).toMatchObject({ outcome: 'failed' })
      expect(program.called('image.detach')).toEqual([{ session_id: 'live1', path: '/hermes/files/a.png' }])
    })
  })

  it('goes on in its stored session, and says nothing of it', async () => {
    await opened({ foreign: 'old' })
    expect(program.called('session.resume')).toEqual([{ session_id: 'old' }])
    expect(events).toEqual([])
  })

  it('begins anew where Hermes has no such session any more', async () => {
    program.answers['session.resume'] = () => {
      throw new HermesFault('rpc', 'session not found', 4007)
    }
    await opened({ foreign: 'old' })
    expect(events).toEqual([{ type: 'session.bound', foreign: 'stored1', why: 'reseeded' }])
  })

  it('is refused in another folder than it asked for, which Hermes takes silently, and in another profile', async () => {
    program.answers['session.create'] = () => ({ session_id: 'l', stored_session_id: 's', info: { cwd: '/elsewhere', profile_name: 'default' } })
    await expect(opened()).rejects.toThrow('/w')
    program.answers['session.create'] = () => ({ session_id: 'l', stored_session_id: 's', info: { cwd: '/w', profile_name: 'work' } })
    await expect(opened()).rejects.toMatchObject({ code: 'wrong_profile' })
    expect(program.called('session.close')).toHaveLength(2)
  })

  it('has its turn before it sends it: the beginning may come before the answer (trap 6, recording 01)', async () => {
    await opened()
    program.answers['prompt.submit'] = async () => {
      await program.say('message.start')
      await program.say('message.delta', { text: 'Quick.' })
      await program.say('message.complete', complete('Quick.'))
      await free()
      return { status: 'streaming' }
    }
    await expect(session.turn(input('hello'))).resolves.toMatchObject({ outcome: 'completed' })
    expect(texts()).toBe('Quick.')
  })

  it('is busy until Hermes says that it is free, and asks where it does not say (trap 5)', async () => {
    await opened()
    const { end } = await begun()
    let over = false
    void end.then(() => (over = true))
    await program.say('message.complete', complete('x'))
    await clock.advance(1_999)
    expect(over).toBe(false)
    program.answers['session.active_list'] = () => ({ sessions: [{ id: 'live1', session_key: 'stored1', status: 'working' }] })
    await clock.advance(1)
    expect(over).toBe(false)
    program.answers['session.active_list'] = () => ({ sessions: [{ id: 'live1', session_key: 'stored1', status: 'idle' }] })
    await clock.advance(2_000)
    expect(over).toBe(true)
  })

  it('ends with a failed build, which says an error twice and begins nothing (trap 3a)', async () => {
    await opened()
    const end = session.turn(input('hello'))
    await clock.advance(0)
    await program.say('error', { message: 'agent init failed: No LLM provider configured.' })
    await program.say('error', { message: 'No LLM provider configured.' })
    await clock.advance(2_000)
    await expect(end).resolves.toMatchObject({ outcome: 'failed', problem: { code: 'no_model' } })
  })

  it('sends no half characters, and what begins with a slash as it is (recording 10)', async () => {
    await opened()
    void session.turn(input('/help half \ud83d pair \u{1F680}'))
    await clock.advance(0)
    expect(program.called('prompt.submit')).toEqual([{ session_id: 'live1', text: '/help half  pair \u{1F680}' }])
  })

  it('counts what a turn used by what Hermes stored, and a counter that fell from 0', async () => {
    await opened()
    program.counters = {}
    const first = await begun()
    expect(events.at(-1)).toEqual({ type: 'turn.bound', foreign: 'stored1', counters: { rows: 0 } })
    program.counters = { input: 700, output: 20, cached: 300, reasoning: 0 }
    await program.say('message.complete', complete('x'))
    await free()
    expect(await first.end).toEqual({ outcome: 'completed', usage: { input: 700, output: 20, cached: 300 } })
    const second = await begun()
    expect(events.findLast(({ type }) => type === 'turn.bound')).toMatchObject({ counters: { input: 700, output: 20 } })
    program.counters = { input: 100, output: 60, cached: 300 }
    await program.say('message.complete', complete('x'))
    await free()
    expect(await second.end).toEqual({ outcome: 'completed', usage: { input: 100, output: 40 } })
  })

  it('follows its stored session where compaction moves it, and takes its title', async () => {
    await opened()
    await program.say('session.info', { running: false, stored_session_id: 'moved' })
    await program.say('session.title', { session_id: 'moved', title: 'A title' })
    await program.say('session.title', { session_id: 'another', title: 'Not ours' })
    expect(events.slice(1)).toEqual([{ type: 'session.bound', foreign: 'moved', why: 'rotated' }, { type: 'title', text: 'A title' }])
  })

  it('gives its live session back after ten minutes of rest, and opens it again for the next turn', async () => {
    await opened()
    await clock.advance(600_000)
    expect(program.called('session.close')).toEqual([{ session_id: 'live1' }])
    const { end } = await begun()
    expect(program.called('session.resume')).toEqual([{ session_id: 'stored1' }])
    await program.say('message.complete', complete('x'))
    await free()
    expect(await end).toMatchObject({ outcome: 'completed' })
  })

  it('keeps it while something that it sent into the background is to come back', async () => {
    await opened()
    const { end } = await begun()
    await program.say('tool.start', { tool_id: 't', name: 'terminal', context: '' })
    await program.say('tool.complete', { tool_id: 't', name: 'terminal', args: {}, result: { exit_code: 0, notify_on_complete: true } })
    await program.say('message.complete', complete('x'))
    await free()
    await end
    await clock.advance(700_000)
    expect(program.called('session.close')).toEqual([])
  })

  it('changes model and effort between turns, and only where they change', async () => {
    await opened()
    const end = session.turn({ ...input('hello'), model: { provider: 'p', id: 'other' }, effort: 'low' })
    await clock.advance(0)
    expect(program.called('config.set')).toEqual([{ session_id: 'live1', key: 'model', value: 'other --provider p --session' }, { session_id: 'live1', key: 'reasoning', value: 'low' }])
    await program.say('message.start')
    await program.say('message.complete', complete('x'))
    await free()
    await end
    void session.turn({ ...input('hello'), model: { provider: 'p', id: 'other' }, effort: 'low' })
    await clock.advance(0)
    expect(program.called('config.set')).toHaveLength(2)
  })
})

describe('turns of Hermes that nobody submitted', () => {
  const background = async (): Promise<void> => {
    await program.say('status.update', { kind: 'process', text: '[IMPORTANT: Background process …]' })
    await program.say('message.start')
    await program.say('message.start')
  }

  it('have their own words and end, and a second beginning is none (trap 4, recording 16)', async () => {
    await opened()
    events = []
    await background()
    await program.say('message.delta', { text: 'It is done.' })
    await program.say('message.complete', complete('It is done.'))
    await free()
    await clock.advance(0)
    expect(types()).toEqual(['turn.began', 'text', 'turn.ended'])
    expect(events[0]).toMatchObject({ text: '[IMPORTANT: Background process …]', source: 'agent' })
    expect(events[2]).toMatchObject({ end: { outcome: 'completed' } })
  })

  it('go before one of ours that was queued behind them', async () => {
    await opened()
    events = []
    await background()
    const mine = session.turn(input('hello'))
    await clock.advance(0)
    await program.say('message.delta', { text: 'Theirs.' })
    await program.say('message.complete', complete('Theirs.'))
    await program.say('message.start')
    await clock.advance(0)
    await program.say('message.delta', { text: 'Ours.' })
    await program.say('message.complete', complete('Ours.'))
    await free()
    expect(await mine).toMatchObject({ outcome: 'completed' })
    expect(types().filter((type) => type !== 'turn.bound')).toEqual(['turn.began', 'text', 'turn.ended', 'text'])
    expect(texts()).toBe('Theirs.Ours.')
  })
})

describe('a Hermes that says nothing', () => {
  it('is asked for life each minute while a tool works, and fails when it has not answered ten times', async () => {
    await opened()
    const { end } = await begun()
    await program.say('tool.start', { tool_id: 't', name: 'terminal', context: '' })
    let asked = 0
    let silent = false
    program.answers['session.active_list'] = () => {
      asked++
      if (silent) throw new HermesFault('slow', 'no answer')
      return { sessions: [{ id: 'live1', session_key: 'stored1', status: 'working' }] }
    }
    await clock.advance(20 * 60_000)
    expect(asked).toBe(20)
    silent = true
    await clock.advance(9 * 60_000)
    expect(deaf).toBe(0)
    await clock.advance(60_000)
    expect(await end).toMatchObject({ outcome: 'failed', problem: { code: 'agent_silent' } })
    expect(deaf).toBe(1)
  })
})

describe('stopping Hermes', () => {
  it('is over when it says so, and what it calls denied or failed is cancelled (recording 07)', async () => {
    await opened()
    const { end } = await begun()
    await program.say('tool.start', { tool_id: 't', name: 'terminal', context: '', args_text: '{"command":"rm -rf x"}' })
    await program.say('approval.request', { command: 'rm -rf x', choices: ['once', 'deny'] })
    const stopped = session.stop()
    await program.say('tool.complete', { tool_id: 't', name: 'terminal', args: {}, result: { status: 'blocked', error: 'BLOCKED', exit_code: -1 } })
    await program.say('message.complete', { text: null, status: 'interrupted' })
    await free()
    expect(await end).toEqual({ outcome: 'cancelled' })
    await clock.advance(1_000)
    await stopped
    expect(events.findLast(({ type }) => type === 'tool.closed')).toMatchObject({ state: 'cancelled' })
  })

  it('is over where Hermes swallowed the message and says nothing at all (trap 3b)', async () => {
    await opened()
    const end = session.turn(input('hello'))
    await clock.advance(0)
    const stopped = session.stop()
    await clock.advance(1_000)
    await stopped
    expect(await end).toEqual({ outcome: 'cancelled' })
    expect(program.called('session.close')).toEqual([])
  })

  it('closes the session where it does not end, and the next turn opens it again', async () => {
    await opened()
    const { end } = await begun()
    program.answers['session.active_list'] = () => ({ sessions: [{ id: 'live1', session_key: 'stored1', status: 'working' }] })
    const stopped = session.stop()
    await clock.advance(5_000)
    await stopped
    expect(await end).toEqual({ outcome: 'cancelled' })
    expect(program.called('session.close')).toEqual([{ session_id: 'live1' }])
    expect(deaf).toBe(0)
  })

  it('takes a program that does not answer for one that hangs', async () => {
    await opened()
    const { end } = await begun()
    program.answers['session.interrupt'] = () => {
      throw new HermesFault('slow', 'no answer')
    }
    await session.stop()
    expect(await end).toEqual({ outcome: 'cancelled' })
    expect(deaf).toBe(1)
  })

  it('comes before the session closes: a close alone stops nothing (trap 12)', async () => {
    await opened()
    await begun()
    await session.close()
    expect(program.calls.slice(-2).map(({ method }) => method)).toEqual(['session.interrupt', 'session.close'])
  })
})

describe('answers to Hermes', () => {
  const ask = async (command = 'rm -rf x'): Promise<string> => {
    await program.say('tool.start', { tool_id: 't', name: 'terminal', context: '', args_text: JSON.stringify({ command }) })
    await program.say('approval.request', { command, choices: ['once', 'session', 'deny'] })
    return events.flatMap((event) => (event.type === 'question.raised' ? [event.question] : [])).at(-1)!
  }

  it('reach it once, and only as offered', async () => {
    await opened()
    await begun()
    const question = await ask()
    expect(await session.decide(question, 'always')).toMatchObject({ state: 'refused', code: 'relay_failed' })
    expect(await session.decide(question, 'bogus')).toMatchObject({ state: 'refused' })
    expect(await session.decide(question, 'once')).toEqual({ state: 'delivered' })
    expect(await session.decide(question, 'once')).toMatchObject({ state: 'refused', code: 'question_gone' })
    expect(program.called('approval.respond')).toEqual([{ session_id: 'live1', choice: 'once' }])
  })

  it('do not reach it after its deadline, after its tool, or while another question is open', async () => {
    await opened()
    await begun()
    const late = await ask()
    await clock.advance(58_000)
    expect(await session.decide(late, 'once')).toMatchObject({ code: 'question_gone' })
    await program.say('tool.complete', { tool_id: 't', name: 'terminal', args: {}, result: { status: 'blocked' } })
    const next = await ask('chmod 777 y')
    expect(await session.decide(late, 'once')).toMatchObject({ code: 'question_gone' })
    await program.say('approval.request', { command: 'another', choices: ['once', 'deny'] })
    expect(await session.decide(next, 'once')).toMatchObject({ code: 'question_gone' })
    expect(program.called('approval.respond')).toEqual([])
  })

  it('are not given twice where nobody knows whether the first arrived', async () => {
    await opened()
    await begun()
    const question = await ask()
    program.answers['approval.respond'] = () => {
      throw new HermesFault('slow', 'no answer')
    }
    expect(await session.decide(question, 'once')).toMatchObject({ code: 'relay_failed' })
    expect(await session.decide(question, 'once')).toMatchObject({ code: 'question_gone' })
    expect(program.called('approval.respond')).toHaveLength(1)
  })

  it('to a clarifying question go by its id, and one that Hermes has dropped is gone (recording 06)', async () => {
    await opened()
    await begun()
    await program.say('clarify.request', { request_id: 'c1', question: 'Which?', choices: null })
    program.answers['clarify.respond'] = () => {
      throw new HermesFault('rpc', 'no pending answer request', 4009)
    }
    expect(await session.answer('c1', 'blue')).toEqual({ state: 'refused', code: 'question_gone' })
  })

  it('a secret is given as it is, and nothing where the person does not', async () => {
    await opened()
    await begun()
    await program.say('sudo.request', { request_id: 's1' })
    expect(await session.give('s1', null)).toEqual({ state: 'delivered' })
    expect(program.called('sudo.respond')).toEqual([{ request_id: 's1', password: '' }])
  })
})

describe('words into a turn of Hermes', () => {
  it('wait for a tool, and count as used once it has ended and the model goes on (trap 8, recording 08)', async () => {
    await opened()
    await begun()
    await program.say('message.delta', { text: 'I look.' })
    expect(await session.steer('st', 'Mind the gap')).toEqual({ state: 'delivered' })
    expect(program.called('session.steer')).toEqual([])
    await program.say('tool.start', { tool_id: 't', name: 'terminal', context: '' })
    await clock.advance(0)
    expect(program.called('session.steer')).toEqual([{ session_id: 'live1', text: 'Mind the gap' }])
    await program.say('tool.complete', { tool_id: 't', name: 'terminal', args: {}, result: { exit_code: 0 } })
    expect(types()).not.toContain('steer.delivered')
    await program.say('message.delta', { text: 'I mind.' })
    expect(events.at(-1)).toEqual({ type: 'steer.delivered', steer: 'st', evidence: 'inferred' })
  })

  it('that find no tool are never sent, and nobody says that they were used', async () => {
    await opened()
    const { end } = await begun()
    await session.steer('st', 'Mind the gap')
    await program.say('message.delta', { text: 'Done.' })
    await program.say('message.complete', complete('Done.'))
    await free()
    await end
    expect(program.called('session.steer')).toEqual([])
    expect(types()).not.toContain('steer.delivered')
    expect(await session.steer('st2', 'Late')).toEqual({ state: 'refused', code: 'not_running' })
  })

  it('that Hermes does not take are refused', async () => {
    await opened()
    await begun()
    await program.say('tool.start', { tool_id: 't', name: 'terminal', context: '' })
    program.answers['session.steer'] = () => ({ status: 'rejected' })
    expect(await session.steer('st', 'Mind the gap')).toMatchObject({ state: 'refused', code: 'relay_failed' })
  })
})

describe('when Hermes is lost', () => {
  it('a turn ends as interrupted where its program died', async () => {
    await opened()
    const { end } = await begun()
    program.lose('program')
    expect(await end).toMatchObject({ outcome: 'interrupted', problem: { code: 'agent_died' } })
  })

  it('a turn goes on where only the socket was lost, with what it said meanwhile', async () => {
    await opened()
    const { end } = await begun()
    await program.say('message.delta', { text: 'One ' })
    program.answers['session.resume'] = () => ({ session_id: 'live1', session_key: 'stored1', running: true, inflight: { assistant: 'One two ' }, info: program.info('stored1') })
    program.lose('socket')
    await clock.advance(0)
    await program.say('message.delta', { text: 'three' })
    await program.say('message.complete', complete('One two three'))
    await free()
    expect(await end).toMatchObject({ outcome: 'completed' })
    expect(texts()).toBe('One two three')
  })

  it('a tool that ended meanwhile ends, and a turn that did ends as it is stored', async () => {
    await opened()
    const { end } = await begun()
    await program.say('tool.start', { tool_id: 'c1', name: 'terminal', context: '' })
    const none = { content: '', tool_call_id: undefined, tool_name: undefined, tool_calls: undefined, reasoning: undefined, reasoning_content: undefined, timestamp: undefined, finish_reason: undefined }
    program.rows = [{ ...none, id: 1, role: 'user', content: 'hello' }, { ...none, id: 2, role: 'tool', tool_call_id: 'c1', content: '{"output":"out","exit_code":0}' }, { ...none, id: 3, role: 'assistant', content: 'All of it.' }]
    program.lose('socket')
    await clock.advance(0)
    expect(await end).toMatchObject({ outcome: 'completed' })
    expect(events.find(({ type }) => type === 'tool.closed')).toMatchObject({ call: 'c1', state: 'done' })
    expect(events.find(({ type }) => type === 'message')).toEqual({ type: 'message', text: 'All of it.' })
  })

  it('a message that was sent in that moment is sent again where Hermes does not have it, and not where it has', async () => {
    for (const [rows, sent] of [[0, 2], [1, 1]] as const) {
      program = new HermesPuppet('/w')
      parts = { ...parts, program }
      await opened()
      let first = true
      program.answers['prompt.submit'] = () => {
        if (!first) return { status: 'streaming' }
        first = false
        program.rows = Array.from({ length: rows }, (_, id) => ({ id, role: 'user', content: 'hello', tool_call_id: undefined, tool_name: undefined, tool_calls: undefined, reasoning: undefined, reasoning_content: undefined, timestamp: undefined, finish_reason: undefined }))
        program.lose('program')
        throw new HermesFault('lost', 'gone')
      }
      const end = session.turn(input('hello'))
      await clock.advance(10)
      expect(program.called('prompt.submit')).toHaveLength(sent)
      if (sent === 1) expect(await end).toMatchObject({ outcome: 'failed' })
    }
  })
})

describe('after our restart', () => {
  const back = (binding: Partial<Binding> = {}): Promise<Reattached> =>
    reattach({ ...parts, make: (own, given, to) => (session = new HermesSession(own, given, to)) }, opening, { turn: 'trn', run: 'run', foreign: 'stored9', questions: [], counters: { rows: 0 }, ...binding }, sink)
  const row = (id: number, role: string, more: object = {}) => ({ id, role, content: '', tool_call_id: undefined, tool_name: undefined, tool_calls: undefined, reasoning: undefined, reasoning_content: undefined, timestamp: undefined, finish_reason: undefined, ...more })
  const running = (assistant: string) => () => ({ session_id: 'live9', session_key: 'stored9', running: true, inflight: { user: 'hello', assistant, streaming: true }, info: program.info('stored9') })

  it('a turn goes on with the text so far, and its end is its own (recording 19)', async () => {
    program.answers['session.resume'] = running('Half an ')
    const found = await back({ shown: [{ kind: 'answer', text: 'Half' }] })
    expect(found).toMatchObject({ state: 'running', message: 'Half an ', open: [] })
    await program.say('message.delta', { text: 'answer' })
    await program.say('message.complete', complete('Half an answer'))
    await free()
    expect(await (found as Extract<Reattached, { state: 'running' }>).end).toMatchObject({ outcome: 'completed' })
    expect(texts()).toBe('answer')
  })

  it('its open approval is asked again and can be answered without an id; one whose time is over is not (trap 11)', async () => {
    program.answers['session.resume'] = running('')
    const kept = (due: number, call: string) => JSON.stringify({ kind: 'approval', command: 'rm -rf x', pattern: 'p', choices: ['once', 'deny'], due, call, tool: 'terminal' })
    await back({ shown: [{ kind: 'tool', call: 'c1', live: true }], questions: [kept(clock.now() + 5_000, 'c1'), kept(clock.now() - 1, 'c1')] })
    const asked = events.filter((event) => event.type === 'question.raised')
    expect(asked).toHaveLength(1)
    expect(await session.decide(asked[0]!.question, 'deny')).toEqual({ state: 'delivered' })
    expect(program.called('approval.respond')).toEqual([{ session_id: 'live9', choice: 'deny' }])
  })

  it('its clarifying question is asked again under the id that Hermes knows', async () => {
    program.answers['session.resume'] = running('')
    await back({ questions: [JSON.stringify({ kind: 'clarify', id: 'c7', question: 'Which?', choices: ['a'], due: clock.now() + 5_000 })] })
    expect(await session.answer('c7', 'a')).toEqual({ state: 'delivered' })
    expect(program.called('clarify.respond')).toEqual([{ request_id: 'c7', answer: 'a' }])
  })

  it('a tool that ended meanwhile ends with what was stored of it, and one that nobody saw is shown', async () => {
    program.answers['session.resume'] = running('')
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"command":"ls"}' } })
    program.rows = [row(1, 'user', { content: 'hello' }), row(2, 'assistant', { tool_calls: [call('c1', 'terminal'), call('c2', 'terminal')] }), row(3, 'tool', { tool_call_id: 'c1', content: '{"output":"out","exit_code":0}' })]
    const found = await back({ shown: [{ kind: 'tool', call: 'c1', live: true }] })
    expect(found).toMatchObject({ open: ['c1'] })
    expect(events).toMatchObject([{ type: 'tool.closed', call: 'c1', state: 'done', output: 'out' }, { type: 'tool.started', call: 'c2', target: 'ls' }])
  })

  it('a turn that ended meanwhile ends with what Hermes stored, and the session is not kept', async () => {
    program.rows = [row(1, 'user', { content: 'hello' }), row(2, 'assistant', { content: 'All of it.' })]
    program.counters = { input: 10 }
    expect(await back({ shown: [{ kind: 'answer', text: 'All' }] })).toEqual({ state: 'ended', end: { outcome: 'completed', usage: { input: 10 } }, message: 'All of it.', closed: [] })
    expect(program.called('session.close')).toHaveLength(1)
  })

  it('a turn of which nothing is stored is gone, and one without an answer was cut off', async () => {
    expect(await back()).toEqual({ state: 'gone' })
    program.rows = [row(1, 'user', { content: 'hello' }), row(2, 'assistant', { tool_calls: [] }), row(3, 'tool', { tool_call_id: 'c', content: '{}' })]
    expect(await back()).toMatchObject({ state: 'ended', end: { outcome: 'interrupted' }, message: null })
  })

  it('takes what was shown off the text so far', () => {
    const answer = (text: string) => ({ kind: 'answer', text }) as const
    const tool = { kind: 'tool', call: 'c', live: false } as const
    expect(messageOf('First\n\nSecond', [answer('First'), tool, answer('Sec')])).toBe('Second')
    expect(messageOf('First\n\nSecond', [answer('First'), tool])).toBe('Second')
    expect(messageOf('First', [answer('First'), tool])).toBeNull()
    expect(messageOf('', [])).toBeNull()
    expect(messageOf('Other', [answer('First')])).toBe('Other')
  })
})
