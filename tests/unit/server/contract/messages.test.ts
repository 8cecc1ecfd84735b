import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apply, emptyTranscript } from '../../../../server/contract/fold'
import { toMessages, toToolCards } from '../../../../server/contract/messages'
import { todoStateOf } from '../../../../server/contract/todos'
import { arbitraryHistory } from '../../../support/history'
import { Story } from '../../../support/story'

function roles(story: Story): unknown[] {
  return toMessages(story.value).map(({ role, content, reasoning, tool_calls }) => [
    role, content, ...(reasoning ? [`thinks: ${String(reasoning)}`] : []), ...(tool_calls ? [(tool_calls as { id: string }[]).map(({ id }) => id)] : []),
  ])
}

describe('the original’s messages', () => {
  test('a message with files names them; one without has no such member', () => {
    const story = new Story().ask('t1', 'x').settle()
    const file = { id: 'att_1', name: 'a.png', size: 1, mime: 'image/png', digest: 'd' }
    story.say({ type: 'turn.admitted', turn: 't2', row: 't2.ask', n: 90, pos: '2zz', text: '', source: 'person', attachments: [file, { ...file, id: 'att_2', name: 'b.txt' }] })
    expect(toMessages(story.value).filter(({ role }) => role === 'user').map(({ attachments }) => attachments)).toEqual([undefined, ['a.png', 'b.txt']])
  })

  test('a turn is its question and one assistant message for each round, each followed by the results of its tools', () => {
    const story = new Story().ask('t1', 'Look')
      .think('r1', 'hm').close('r1').answer('r2', 'I look.').close('r2').tool('r3', { args: { path: 'a' } }).tool('r4').close('r3', { tool: { result: 'A' } }).close('r4', { tool: { output: 'B' } })
      .think('r5', 'so').close('r5').answer('r6', 'It is A.').close('r6').settle()
    expect(roles(story)).toEqual([
      ['user', 'Look'], ['assistant', 'I look.', 'thinks: hm', ['r3.call', 'r4.call']], ['tool', 'A'], ['tool', 'B'], ['assistant', 'It is A.', 'thinks: so'],
    ])
    const messages = toMessages(story.value)
    expect(messages[1]!.tool_calls).toEqual([
      { id: 'r3.call', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } }, { id: 'r4.call', type: 'function', function: { name: 'read_file', arguments: '{}' } },
    ])
    expect(messages[2]).toMatchObject({ tool_call_id: 'r3.call', name: 'read_file' })
  })

  test('words after words and thoughts after words begin another message, thoughts after thoughts do not', () => {
    const story = new Story().ask('t1', 'x').think('r1', 'a').close('r1').think('r2', 'b').close('r2').answer('r3', 'one').close('r3').answer('r4', 'two').close('r4').think('r5', 'c').close('r5')
    expect(roles(story)).toEqual([['user', 'x'], ['assistant', 'one', 'thinks: a\n\nb'], ['assistant', 'two'], ['assistant', '', 'thinks: c']])
  })

  test('ids are positive integers, unique, and those of the rows; they do not change as a turn goes on', () => {
    const story = new Story()
    const seen = new Map<unknown, unknown>()
    const look = (): void => {
      const ids = toMessages(story.value).flatMap((message) => (message.id === undefined ? [] : [message.id as number]))
      expect(new Set(ids).size).toBe(ids.length)
      for (const message of toMessages(story.value)) {
        if (message.id === undefined) continue
        expect(Number.isInteger(message.id) && (message.id as number) > 0).toBe(true)
        expect(seen.get(message.id) ?? message.role).toBe(message.role)
        seen.set(message.id, message.role)
      }
    }
    const steps: (() => unknown)[] = [
      () => story.ask('t1', 'x'), () => story.think('r1', 'a'), () => story.close('r1'), () => story.answer('r2', 'b'), () => story.close('r2'), () => story.tool('r3'),
      () => story.close('r3'), () => story.settle(), () => story.ask('t2', 'y'), () => story.tool('r4'), () => story.tool('r5'), () => story.close('r4'), () => story.close('r5'), () => story.answer('r6', 'z'),
    ]
    for (const step of steps) {
      step()
      look()
    }
    expect([...seen]).toEqual([[1, 'user'], [2, 'assistant'], [4, 'tool'], [5, 'user'], [6, 'assistant'], [7, 'tool'], [8, 'assistant']])
  })

  test('a settled turn carries its figures on its last answer, times in seconds', () => {
    const story = new Story().ask('t1', 'x').answer('r1', 'a').close('r1').tool('r2').close('r2').answer('r3', 'b').close('r3').settle({ usage: { input: 10, output: 3, cost: 0.5 } })
    const answers = toMessages(story.value).filter(({ role }) => role === 'assistant')
    expect(answers[0]).not.toHaveProperty('_turnDuration')
    expect(answers[1]).toMatchObject({ _turnUsage: { input_tokens: 10, output_tokens: 3, estimated_cost: 0.5 }, _turnDuration: 4, _firstTokenMs: 250, _usedModel: 'm-1', timestamp: story.value.rows.get('r3')!.at / 1000 })
    expect(answers[1]).not.toHaveProperty('_partial')
  })

  test('a failed turn keeps what it wrote as partial, and ends with one error message in the provider’s own words', () => {
    const story = new Story().ask('t1', 'x').answer('r1', 'half').close('r1').settle({ outcome: 'failed', problem: { code: 'rate_limit', words: '429 slow down' } })
    const [, partial, error] = toMessages(story.value)
    expect(partial).toMatchObject({ content: 'half', _partial: true })
    expect(error).toMatchObject({ role: 'assistant', _error: true, type: 'rate_limit', provider_details: '429 slow down', _turnDuration: 4, timestamp: story.value.seq })
    expect(error).not.toHaveProperty('id')
  })

  test.each([['cancelled', 'cancelled', undefined], ['interrupted', 'interrupted', 'server_restarted'], ['failed', 'error', undefined], ['failed', 'error', 'provider_unreachable']] as const)(
    'a turn that ended as %s tells the original’s type %s', (outcome, type, code) => {
      const story = new Story().ask('t1', 'x').settle({ outcome, ...(code ? { problem: { code } } : {}) })
      expect(toMessages(story.value).map((message) => message.type ?? message.role)).toEqual(['user', type])
    },
  )

  test('the last run decides: what was tried again shows neither the old text nor the old error', () => {
    const story = new Story().ask('t1', 'x').answer('r1', 'old').close('r1').settle({ outcome: 'failed', problem: { code: 'error' } })
    story.say({ type: 'rows.retracted', rows: ['r1'], turns: [], why: 'retry', counted: 1 }).run('t1.b', 'retried').answer('r2', 'new').close('r2').settle()
    expect(roles(story)).toEqual([['user', 'x'], ['assistant', 'new']])
  })

  test('a running tool is a call without a result, a denied one is told as an error', () => {
    const story = new Story().ask('t1', 'x').answer('r0', 'Let me see.').close('r0').tool('r1').tool('r2').close('r2', { state: 'denied' })
    expect(toMessages(story.value).slice(2)).toEqual([expect.objectContaining({ role: 'tool', tool_call_id: 'r2.call', is_error: true, _state: 'denied' })])
  })

  test('permissions, secrets, plans and notices are no messages', () => {
    const story = new Story().ask('t1', 'x').notice('r1', 'chunk_skipped').question('r2').raise('r2', 'a1').secret('r3', 's1').plan('r4', [{ text: 'One', state: 'active' }])
    expect(roles(story)).toEqual([['user', 'x']])
  })

  test('a word that the run took stands where it was said, the results of running tools before it', () => {
    const story = new Story().ask('t1', 'x').tool('r1').steer('r2', 's1', 'use staging').close('r1', { tool: { result: 'A' } }).delivered('r2', 's1').answer('r3', 'Staging it is.').close('r3').settle()
    expect(roles(story)).toEqual([['user', 'x'], ['assistant', '', ['r1.call']], ['tool', 'A'], ['user', 'use staging'], ['assistant', 'Staging it is.']])
    expect(toMessages(story.value)[3]).toEqual({ role: 'user', content: 'use staging', timestamp: story.value.rows.get('r2')!.at / 1000, id: 3, display_kind: 'steer' })
    expect(toMessages(story.value)[4]).toMatchObject({ _turnDuration: 4 })
  })

  test('a word that was given back is told once: as the message that it becomes', () => {
    const story = new Story().ask('t1', 'x').steer('r1', 's1', 'and then?').answer('r2', 'Done.').close('r2').returned('r1', 's1', 'queue', 'q1').queue('q1', 'and then?', { by: 'steer' }).settle()
    expect(roles(story)).toEqual([['user', 'x'], ['assistant', 'Done.']])
    story.say({ type: 'queue.taken', item: 'q1', turn: 't2' }).ask('t2', 'and then?')
    expect(roles(story)).toEqual([['user', 'x'], ['assistant', 'Done.'], ['user', 'and then?']])
  })

  test('a clarifying question is a line of the agent, its answer one of the person, and what follows is a message of its own', () => {
    const story = new Story().ask('t1', 'x').think('r1', 'hm').close('r1').clarify('r2', 'c1', { question: 'Which?' })
    expect(roles(story)).toEqual([['user', 'x'], ['assistant', '', 'thinks: hm'], ['assistant', 'Which?']])
    story.reply('r2', 'c1', 'left').close('r2').answer('r3', 'Left.').close('r3').settle()
    expect(roles(story)).toEqual([['user', 'x'], ['assistant', '', 'thinks: hm'], ['assistant', 'Which?'], ['user', 'left'], ['assistant', 'Left.']])
    expect(toMessages(story.value)[2]).toMatchObject({ id: 3, choices_offered: ['left', 'right'] })
    expect(toMessages(story.value)[3]).not.toHaveProperty('id')
  })

  test('a question that nobody answered stands without an answer', () => {
    const story = new Story().ask('t1', 'x').clarify('r1', 'c1').say({ type: 'clarify.retired', clarify: 'c1', row: 'r1', run: 't1.run', why: 'expired' }).close('r1', { state: 'cancelled' })
    expect(roles(story)).toEqual([['user', 'x'], ['assistant', 'Which one?']])
  })

  test('cases 42 and 43: the prompt is there once, from its admission on, whatever the agent returns and however often the session is read', () => {
    const story = new Story().ask('t1', 'c')
    const id = toMessages(story.value)[0]!.id
    const once = (): void => expect(toMessages(story.value).filter(({ role }) => role === 'user')).toMatchObject([{ content: 'c', id }])
    once()
    story.settle({ outcome: 'failed', problem: { code: 'error' } }).run('t1.again', 'retried')
    once()
    story.answer('r1', 'd').close('r1').settle()
    once()
  })

  test('an answer equal to the one before is an answer, a question asked again a question', () => {
    const story = new Story()
    for (const turn of ['t1', 't2']) story.ask(turn, 'ok?').answer(`${turn}.a`, 'ok').close(`${turn}.a`).settle()
    expect(roles(story)).toEqual([['user', 'ok?'], ['assistant', 'ok'], ['user', 'ok?'], ['assistant', 'ok']])
  })

  test('case 44: what a turn adds stands behind what was there, which stays as it was', () => {
    const story = new Story().ask('t1', 'a').answer('r1', 'b').close('r1').settle()
    const before = toMessages(story.value)
    story.ask('t2', 'c').answer('r2', 'd').close('r2').settle()
    expect(toMessages(story.value).slice(0, before.length)).toEqual(before)
    expect(roles(story)).toEqual([['user', 'a'], ['assistant', 'b'], ['user', 'c'], ['assistant', 'd']])
  })
})

test('cases 89, 92 and 93: messages only ever leave by a retraction that names their rows', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  console.log(`messages: seed ${seed}`)
  fc.assert(
    fc.property(arbitraryHistory({ deletable: false }), ({ appends }) => {
      const value = emptyTranscript()
      let before = new Set<unknown>()
      for (const event of appends.flatMap((append) => append.events)) {
        // A tool that goes on after a restart has no result yet.
        const leaving = event.type === 'rows.retracted' ? event.rows : event.type === 'run.started' ? (event.reopens ?? []) : []
        const retracted = new Set<unknown>(leaving.map((row) => value.rows.get(row)?.n))
        apply(value, event)
        const now = new Set<unknown>(toMessages(value).flatMap(({ id }) => (id === undefined ? [] : [id])))
        for (const id of before) if (!now.has(id) && !retracted.has(id)) throw new Error(`message ${String(id)} left by ${event.type}`)
        before = now
      }
    }),
    { numRuns: 500, seed },
  )
})

describe('the original’s list of what is to be done', () => {
  test('is the newest plan, whole', () => {
    const story = new Story().ask('t1', 'x')
    expect(todoStateOf(story.value)).toBeNull()
    story.plan('r1', [{ text: 'Look', state: 'done' }, { text: 'Change', state: 'active', priority: 'high' }, { text: 'Ask', state: 'pending' }, { text: 'Drop', state: 'cancelled' }])
    expect(todoStateOf(story.value)).toEqual({
      session_id: 'ses_1', stream_id: 't1.run', source: 'todo', ts: story.events.length, version: 1,
      todos: [{ id: '1', content: 'Look', status: 'completed' }, { id: '2', content: 'Change', status: 'in_progress' }, { id: '3', content: 'Ask', status: 'pending' }, { id: '4', content: 'Drop', status: 'cancelled' }],
      summary: { total: 4, pending: 1, in_progress: 1, completed: 1, cancelled: 1 },
    })
    story.close('r1').settle().ask('t2', 'y').plan('r2', [{ text: 'Next', state: 'active' }])
    expect(todoStateOf(story.value)).toMatchObject({ stream_id: 't2.run', todos: [{ content: 'Next' }] })
  })

  test('case 146: an empty list is a list, and its time never falls, also when the clock does', () => {
    const story = new Story().ask('t1', 'x').plan('r1', [{ text: 'Look', state: 'active' }])
    const { ts } = todoStateOf(story.value)!
    apply(story.value, { type: 'plan.replaced', row: 'r1', run: 't1.run', plan: [], session: 'ses_1', seq: story.value.seq + 1, at: 5 })
    expect(todoStateOf(story.value)).toMatchObject({ todos: [], summary: { total: 0 }, ts })
    // An event that was seen before brings no old plan back.
    expect(apply(story.value, story.events.at(-1)!).state).toBe('old')
    expect(todoStateOf(story.value)!.todos).toEqual([])
  })
})

test('tool cards point to the message that called them, also where agents use a call’s id twice', () => {
  const story = new Story().ask('t1', 'x').answer('r0', 'a').close('r0').tool('r1', { call: 'c1', args: { path: 'p', limit: 3 } }).close('r1', { tool: { result: 'R' } }).settle()
  story.ask('t2', 'y').answer('r3', 'b').close('r3').tool('r2', { call: 'c1' }).close('r2', { state: 'failed' }).answer('r4', 'c').close('r4').tool('r5', { call: 'c1' })
  const messages = toMessages(story.value)
  const cards = toToolCards(story.value, messages)
  expect(cards.map((card) => [card.tid, card.assistant_msg_idx, card.done, card.is_error, card.snippet, card.duration])).toEqual([
    ['c1', 1, true, undefined, 'R', 0.5], ['c1', 4, true, true, '', 0.5], ['c1', 6, false, undefined, '', undefined],
  ])
  expect(cards[0]!.args).toEqual({ path: 'p', limit: 3 })
  for (const card of cards) expect(messages[card.assistant_msg_idx]).toMatchObject({ role: 'assistant', tool_calls: [expect.objectContaining({ id: card.tid })] })
})
