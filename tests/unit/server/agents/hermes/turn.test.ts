import { describe, expect, it } from 'vitest'
import { HermesTurn } from '../../../../../server/agents/hermes/turn'
import type { HermesTurnParts } from '../../../../../server/agents/hermes/turn'
import { parseEvent } from '../../../../../server/agents/hermes/protocol/events'
import type { HermesEvent } from '../../../../../server/agents/hermes/protocol/events'
import type { AgentEvent, TurnEnd } from '../../../../../server/agents/port'
import { recording } from '../../../../support/recordings'

type Of<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>

interface Played { events: AgentEvent[]; end: TurnEnd | null; /** Rows of text as a reader sees them: a new one after anything else. */ texts: string[]; turn: HermesTurn }

const NOW = 1_000_000

function turnWith(parts: Partial<HermesTurnParts> = {}): HermesTurn {
  let n = 0
  return new HermesTurn({ now: () => NOW, cwd: '/w', approvals: 60_000, has: (tool) => tool !== 'nosuchtool', handle: () => `q${++n}`, ...parts })
}

/** Events of a recording, a turn each: from its first `message.start` to its end. */
function turnsIn(number: string): HermesEvent[][] {
  const turns: HermesEvent[][] = []
  const open = new Map<string, HermesEvent[]>()
  for (const { from, frame } of recording(number)) {
    const heard = from === 'program' ? parseEvent(frame) : null
    if (!heard?.event) continue
    if (heard.event.type === 'message.start' && !open.has(heard.session)) {
      const turn: HermesEvent[] = []
      open.set(heard.session, turn)
      turns.push(turn)
    }
    open.get(heard.session)?.push(heard.event)
    if (heard.event.type === 'message.complete' || heard.event.type === 'error') open.delete(heard.session)
  }
  return turns
}

function play(events: readonly HermesEvent[], turn = turnWith()): Played {
  const told = events.flatMap((event) => turn.hear(event))
  const all = [...told, ...turn.close()]
  return { events: all, end: turn.end, texts: textsOf(all), turn }
}

function textsOf(events: readonly AgentEvent[]): string[] {
  const rows: string[] = []
  let open = false
  for (const event of events) {
    if (event.type === 'text') {
      if (!open) rows.push('')
      rows[rows.length - 1] += event.delta
      open = true
    } else if (event.type === 'message') rows.push(event.text)
    else if (event.type === 'text.replace') rows[rows.length - 1] = rows.at(-1)!.slice(0, event.from) + event.text
    else if (event.type === 'segment' || event.type === 'reasoning' || event.type === 'tool.started' || event.type.endsWith('.raised')) open = false
  }
  return rows
}

function of<T extends AgentEvent['type']>(played: Played, type: T): Of<T>[] {
  return played.events.filter((event): event is Of<T> => event.type === type)
}

const delta = (text: string): HermesEvent => ({ type: 'message.delta', payload: { text } })
const spinner: HermesEvent = { type: 'thinking.delta', payload: { text: '(◔_◔) musing...' } }
const heard = (type: string, payload: object): HermesEvent => parseEvent({ method: 'event', params: { type, session_id: 's', payload } })!.event!
const complete = (text: string | null, more: object = {}): HermesEvent => heard('message.complete', { text, status: 'complete', ...more })
const start = (id: string, name: string, args: object): HermesEvent => heard('tool.start', { tool_id: id, name, context: 'label', args_text: JSON.stringify(args) })
const done = (id: string, name: string, result: unknown, more: object = {}): HermesEvent => heard('tool.complete', { tool_id: id, name, args: {}, result, ...more })

describe('a turn of Hermes', () => {
  it('is text, thought and end; a spinner, and the text that calls itself reasoning, are nothing that anybody thinks (trap 7, recording 01)', () => {
    const played = play(turnsIn('01')[0]!)
    expect(of(played, 'reasoning').map(({ delta: text }) => text).join('')).toBe('I weigh it')
    expect(played.texts).toEqual(['Hello **world**'])
    expect(played.end).toEqual({ outcome: 'completed' })
  })

  it('knows how full the context is (recording 01)', () => {
    expect(play(turnsIn('01')[0]!).turn.context).toEqual({ contextUsed: 1036, contextSize: 200_000 })
  })

  it('has a segment for each model call, and the blank line after tools belongs to none of them (recording 02)', () => {
    expect(play(turnsIn('02')[0]!).texts).toEqual(['I write a file', 'done'])
    expect(play(turnsIn('02')[1]!).texts).toEqual(['ok'])
  })

  it('shows arguments at a tool’s start and all of them at its end, its result, its output and its exit (recordings 02 and 03)', () => {
    const [write, patch] = of(play(turnsIn('02')[0]!), 'tool.started')
    expect(write).toMatchObject({ call: 'call_38_0', name: 'write_file', verb: 'write', target: 'a.txt', args: { path: 'a.txt', content: 'one\ntwo\n' }, locations: [{ path: 'a.txt' }] })
    expect(patch).toMatchObject({ name: 'patch', verb: 'change', target: 'a.txt' })
    const terse = play(turnsIn('03')[0]!)
    expect(of(terse, 'tool.started')[0]).not.toHaveProperty('args')
    expect(of(terse, 'tool.changed')[0]!.change).toHaveProperty('args')
    const [, shell] = of(play(turnsIn('02')[1]!), 'tool.closed').filter(({ exit }) => exit !== 0)
    expect(shell).toMatchObject({ state: 'failed', exit: 3, output: '' })
  })

  it('shows what was written as a unified diff without the colours of a terminal (recording 02)', () => {
    const [write, patch] = of(play(turnsIn('02')[0]!), 'tool.closed')
    expect(write!.diff).toBe('--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two')
    expect(patch!.diff).toBe('--- a/WORK/a.txt\n+++ b/WORK/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n')
    expect(write!.result).not.toContain('\u001b')
  })

  it('ends a tool that nobody has, which Hermes names and never runs (recording 02)', () => {
    const played = play(turnsIn('02')[1]!)
    expect(of(played, 'tool.started').map(({ name }) => name)).toEqual(['todo', 'terminal', 'nosuchtool'])
    const unknown = of(played, 'tool.started').find(({ name }) => name === 'nosuchtool')!
    expect(of(played, 'tool.closed').find(({ call }) => call === unknown.call)).toMatchObject({ state: 'failed' })
  })

  it('does not take a tool for missing whose call was cut off and is tried again', () => {
    const played = play([heard('tool.generating', { name: 'terminal' }), spinner, heard('tool.generating', { name: 'terminal' }), start('t', 'terminal', { command: 'true' }), done('t', 'terminal', { exit_code: 0 }), complete('')])
    expect(of(played, 'tool.started')).toHaveLength(1)
  })

  it('takes the list of what it is going to do for a plan (recording 02)', () => {
    expect(of(play(turnsIn('02')[1]!), 'plan')).toEqual([{ type: 'plan', entries: [{ text: 'first', state: 'active' }] }])
  })

  it('judges a tool by its result alone', () => {
    const closed = (result: unknown): string => of(play([start('t', 'some_tool', {}), done('t', 'some_tool', result), complete('x')]), 'tool.closed')[0]!.state
    expect(closed({ error: 'no' })).toBe('failed')
    expect(closed({ error: null, output: 'x', exit_code: 0 })).toBe('done')
    expect(closed({ success: false })).toBe('failed')
    expect(closed({ status: 'error' })).toBe('failed')
    expect(closed({ status: 'blocked', error: 'denied' })).toBe('denied')
    expect(closed({ status: 'pending_approval', exit_code: -1 })).toBe('denied')
    expect(closed('{"error":"in a text"}')).toBe('failed')
    expect(closed('just words')).toBe('done')
    expect(closed(null)).toBe('done')
  })

  it('closes a call of which the start was not seen, and tells calls apart that a model server numbers anew', () => {
    const late = play([done('t', 'read_file', { content: 'c' }), complete('x')])
    expect(late.events.map(({ type }) => type).slice(0, 3)).toEqual(['tool.started', 'tool.changed', 'tool.closed'])
    const twice = play([start('call_0', 'a', {}), done('call_0', 'a', {}), start('call_0', 'a', {}), done('call_0', 'a', {}), complete('x')])
    expect(of(twice, 'tool.started').map(({ call }) => call)).toEqual(['call_0', 'call_0 (2)'])
    expect(of(twice, 'tool.closed').map(({ call }) => call)).toEqual(['call_0', 'call_0 (2)'])
  })
})

describe('a turn of Hermes that is gone on with', () => {
  it('takes the end of a tool that was read from the store for told', () => {
    const turn = turnWith()
    turn.resume('', [{ call: 'open', name: 'terminal' }], ['open', 'ended'])
    const played = play([done('ended', 'terminal', { exit_code: 0 }), done('open', 'terminal', { exit_code: 0 }), complete('x')], turn)
    expect(of(played, 'tool.started')).toEqual([])
    expect(of(played, 'tool.closed').map(({ call }) => call)).toEqual(['open'])
  })
})

describe('questions of Hermes', () => {
  it('asks for a command with what Hermes offers, in its true meaning, and with a deadline before Hermes’ own (trap 1, recording 04)', () => {
    const asked = turnsIn('04').flatMap((events) => of(play(events), 'question.raised')).find(({ request }) => request.command === 'rm -rf WORK/x')
    expect(asked).toMatchObject({ nameless: true, request: { command: 'rm -rf WORK/x', reason: 'delete in root path', tool: 'terminal', deadline: NOW + 58_000 } })
    expect(asked!.call).toMatch(/^call_/)
    expect(asked!.request.choices.map(({ id }) => id)).toEqual(['once', 'session', 'always', 'deny'])
    expect(asked!.request.choices.find(({ id }) => id === 'always')!.consequence).toMatch(/delete in root path.*command_allowlist.*config\.yaml/)
    expect(asked!.request.choices.find(({ id }) => id === 'session')!.consequence).toMatch(/this chat/)
  })

  it('offers no choice that Hermes does not, or that is unknown, and always a no', () => {
    const offered = (payload: object): string[] => of(play([heard('approval.request', { command: 'c', ...payload })]), 'question.raised')[0]!.request.choices.map(({ id }) => id)
    expect(offered({ choices: ['once', 'bogus'] })).toEqual(['once', 'deny'])
    expect(offered({ choices: ['once', 'session', 'always', 'deny'], allow_permanent: false })).toEqual(['once', 'session', 'deny'])
    expect(offered({})).toEqual(['once', 'deny'])
  })

  it('belongs to the open tool that has its command', () => {
    const played = play([start('a', 'terminal', { command: 'rm -r x' }), start('b', 'terminal', { command: 'ls' }), heard('approval.request', { command: 'rm -r x', choices: ['once', 'deny'] })])
    expect(of(played, 'question.raised')[0]!.call).toBe('a')
  })

  it('is over with its tool when nobody answered in time: the command did not run (recording 05)', () => {
    const played = play(turnsIn('05')[0]!)
    expect(of(played, 'tool.closed')[0]).toMatchObject({ state: 'denied' })
  })

  it('takes a clarifying question with and without choices, and shows it once (recording 06)', () => {
    const played = play(turnsIn('06')[0]!)
    expect(of(played, 'clarify.raised').map(({ question, request }) => [question, request.question, request.choices])).toEqual([['f0356dd3', 'Which colour?', ['red', 'blue']], ['c43cb878', 'Why?', []]])
    expect(of(played, 'tool.started').map(({ name }) => name)).toEqual(['terminal'])
    expect(of(played, 'question.withdrawn').map(({ question }) => question)).toEqual(expect.arrayContaining(['f0356dd3', 'c43cb878']))
  })

  it('asks for a password with the command that wants it, and keeps nothing of it for later (recording 06)', () => {
    const [secret] = of(play(turnsIn('06')[0]!), 'secret.raised')
    expect(secret).toEqual({ type: 'secret.raised', question: 'd4b2ddca', request: { kind: 'sudo', prompt: 'The password for sudo: sudo id', deadline: NOW + 118_000 } })
  })
})

describe('how a turn of Hermes ends', () => {
  const ends = (): (TurnEnd | null)[] => turnsIn('10').map((events) => play(events).end)

  it('fails in the provider’s class, with its words (recording 10)', () => {
    const [unauthorized, limited, broken, malformed] = ends()
    expect(unauthorized).toEqual({ outcome: 'failed', problem: { code: 'auth_mismatch', words: 'HTTP 401: fake error 401', status: 401 } })
    expect(limited).toMatchObject({ problem: { code: 'rate_limit', status: 429 } })
    expect(broken).toMatchObject({ problem: { code: 'provider_error', status: 500 } })
    expect(malformed).toMatchObject({ problem: { code: 'provider_garbled' } })
  })

  it('shows what a cut stream said once, though each retry says it again, and has no words for why (recording 10)', () => {
    const cut = play(turnsIn('10')[4]!)
    expect(cut.texts).toEqual(['a'])
    expect(cut.end).toEqual({ outcome: 'failed', problem: { code: 'provider_error' } })
  })

  it('is no answer where the model said nothing, though Hermes calls it complete (recording 10)', () => {
    const empty = play(turnsIn('10')[5]!)
    expect(empty.texts).toEqual([])
    expect(empty.end).toMatchObject({ outcome: 'failed', problem: { code: 'no_response', words: expect.stringContaining('No reply') } })
  })

  it('may be an error and nothing else (trap 3, recording 10)', () => {
    const lone = play(turnsIn('10')[6]!)
    expect(lone.texts).toEqual(['half  pair'])
    expect(lone.end).toMatchObject({ outcome: 'failed', problem: { code: 'provider_garbled' } })
  })

  it('tells retries as notices, and the failure itself only at the end (trap 13, recording 10)', () => {
    expect(of(play(turnsIn('10')[1]!), 'notice').map(({ words }) => words)).toEqual(['⏱️ Rate limited. Waiting 2.8s (attempt 2/3)...', '⏱️ Rate limited. Waiting 4.6s (attempt 3/3)...'])
  })

  it('is complete with a reason where the tool limit ended it (recording 18)', () => {
    const limited = play(turnsIn('18')[0]!)
    expect(limited.end).toEqual({ outcome: 'completed', reason: 'limit' })
    expect(limited.texts.at(-1)).toContain('Fake title')
  })

  it('keeps what was said when it is interrupted, in text and in a tool (recording 07)', () => {
    const [inText, inTool] = turnsIn('07').map((events) => play(events))
    expect(inText!.texts).toEqual(['w0 w1 w2 w3 '])
    expect(inText!.end).toMatchObject({ outcome: 'interrupted' })
    expect(of(inTool!, 'tool.closed')[0]!.state).not.toBe('done')
    expect(inTool!.texts).toEqual([])
  })

  it.each([
    ['No LLM provider configured. Run `hermes model`.', 'no_model'], ['agent init failed: boom', 'agent_unavailable'], ['API call failed after 3 retries: Connection error.', 'provider_unreachable'],
    ['something else', 'error'],
  ])('knows the words “%s”', (words, code) => {
    expect(play([heard('error', { message: words })]).end).toMatchObject({ outcome: 'failed', problem: { code } })
  })
})

describe('the text of a turn of Hermes', () => {
  it('is what Hermes stored: a last segment that it corrects is corrected', () => {
    expect(play([delta('Hello wrld'), complete('Hello world!')]).texts).toEqual(['Hello world!'])
    expect(play([delta('Hello'), complete('Hello there')]).texts).toEqual(['Hello there'])
    expect(play([delta('Hello  '), complete('Hello')]).texts).toEqual(['Hello  '])
  })

  it('comes as one message where it was not streamed', () => {
    expect(play([complete('All at once')]).texts).toEqual(['All at once'])
    expect(play([heard('message.interim', { text: 'First', already_streamed: false }), start('t', 'a', {}), done('t', 'a', {}), complete('Then')]).texts).toEqual(['First', 'Then'])
  })

  it('is said once where a retry repeats its beginning and goes on', () => {
    expect(play([spinner, delta('The answer'), spinner, delta('The '), delta('answer is'), delta(' 42'), complete('The answerThe answer is 42')]).texts).toEqual(['The answer is 42'])
  })

  it('is thought once where a retry thinks it again', () => {
    const think = (text: string): HermesEvent => heard('reasoning.delta', { text })
    expect(of(play([spinner, think('Let me see'), spinner, think('Let me'), think(' see it'), delta('x'), complete('x')]), 'reasoning').map(({ delta: text }) => text).join('')).toBe('Let me see it')
    const twice = [spinner, think('Same.'), start('t', 'a', {}), done('t', 'a', {}), spinner, think('Same.'), delta('x'), complete('x')]
    expect(of(play(twice), 'reasoning').map(({ delta: text }) => text)).toEqual(['Same.', 'Same.'])
  })

  it('is said whole where the next call goes on with other words', () => {
    expect(play([spinner, delta('One. '), spinner, delta('Two.'), complete('One. Two.')]).texts).toEqual(['One. Two.'])
  })

  it('corrects only the row that is open when a thought parts a message', () => {
    expect(play([delta('Before'), heard('reasoning.delta', { text: 'hm' }), delta(' aftr'), complete('Before after')]).texts).toEqual(['Before', ' after'])
  })

  it('has thoughts that came in tags with the end, once', () => {
    expect(of(play([delta('x'), complete('x', { reasoning: 'I wonder' })]), 'reasoning').map(({ delta: text }) => text)).toEqual(['I wonder'])
    expect(of(play([heard('reasoning.delta', { text: 'I wonder' }), delta('x'), complete('x', { reasoning: 'I wonder' })]), 'reasoning')).toHaveLength(1)
  })
})

describe('sub-agents of Hermes', () => {
  it('are steps under the call that sent them out, though that has ended before they begin (recording 15)', () => {
    const events = recording('15').flatMap(({ from, frame }) => (from === 'program' ? (parseEvent(frame)?.event ?? []) : []))
    const played = play(events.slice(events.findIndex(({ type }) => type === 'message.start'), events.findIndex(({ type }) => type === 'status.update')))
    const [delegate, child] = of(played, 'tool.started')
    expect(delegate).toMatchObject({ name: 'delegate_task', call: 'call_127_0' })
    expect(child).toMatchObject({ name: 'subagent', parent: 'call_127_0', target: expect.stringContaining('child looks') })
    expect(of(played, 'tool.changed').find(({ call }) => call === child!.call)!.change.output).toContain('terminal sleep 1 + 1 command')
    const closed = of(played, 'tool.closed')
    expect(closed.map(({ call }) => call)).toEqual([child!.call, 'call_127_0'])
    expect(closed[0]).toMatchObject({ state: 'done', result: 'child done' })
  })

  it('that go on after the turn are left open by nobody', () => {
    const child = { subagent_id: 'sa-1', goal: 'g' }
    const played = play([
      start('d', 'delegate_task', { goal: 'g' }), done('d', 'delegate_task', { status: 'dispatched', goals: ['g'] }), heard('subagent.start', child), complete('I sent one out.'),
    ])
    expect(of(played, 'tool.closed').map(({ call, state }) => [call, state])).toEqual([['sa-1', 'unknown'], ['d', 'done']])
  })

  it('that are waited for close before their call', () => {
    const child = { subagent_id: 'sa-1', goal: 'g' }
    const played = play([start('d', 'delegate_task', { goal: 'g' }), heard('subagent.start', child), heard('subagent.complete', { ...child, status: 'interrupted' }), done('d', 'delegate_task', { results: [] }), complete('Done.')])
    expect(of(played, 'tool.started')[1]).toMatchObject({ parent: 'd' })
    expect(of(played, 'tool.closed').map(({ call, state }) => [call, state])).toEqual([['sa-1', 'cancelled'], ['d', 'done']])
  })
})
