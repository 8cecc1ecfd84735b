import { describe, expect, test } from 'vitest'
import { historyOf, storedMessages, undoTo } from '../../../../../server/agents/hermes/history'
import type { HermesProgram, StoredSession } from '../../../../../server/agents/hermes/port'
import type { HermesMessage } from '../../../../../server/agents/hermes/protocol/rest'
import { hermesMessage } from '../../../../../server/agents/hermes/protocol/rest'
import { testProfile } from '../../../../support/runs-rig'

let ids = 0
const row = (role: string, content: unknown, more: Record<string, unknown> = {}): HermesMessage => hermesMessage.parse({ id: ++ids, role, content, timestamp: 1_796_061_484.6, ...more })

/** A program that holds these rows, and notes what it was called with. */
function programOf(rows: HermesMessage[], stored: StoredSession | null = { id: 'one', counters: { input: 1000, output: 50 }, messages: rows.length }) {
  const calls: unknown[] = []
  const seeds: unknown[] = []
  const program = {
    ready: async () => undefined, messages: async () => rows, stored: async () => stored,
    call: async (method: string, params: unknown) => { calls.push([method, params]); return {} },
    importSession: async (session: unknown) => { seeds.push(session); return 'new' },
  } as unknown as HermesProgram
  return { program, calls, seeds, history: historyOf(() => program) }
}

describe('rows of Hermes (spec/hermes-home.md §4)', () => {
  test('are words, tools with what they are about, and results with their end', () => {
    const messages = storedMessages([
      row('user', 'Look'),
      row('assistant', 'Running two.', {
        reasoning: 'First I look.', tool_calls: [{ id: 'call_a1', type: 'function', function: { name: 'terminal', arguments: '{"command": "ls"}' } }, { name: 'read_file', arguments: '{"path": "a.md"}' }],
      }),
      row('tool', '{"output": "a.md", "exit_code": 0, "error": null}', { tool_call_id: 'call_a1', tool_name: 'terminal' }),
      row('tool', '{"error": "no such file"}', { tool_call_id: 'call 2' }),
      row('assistant', 'There.', { reasoning_content: 'Hm.' }),
      row('system', 'not for people'),
    ])
    expect(messages.map(({ id: _, at: __, ...message }) => message)).toEqual([
      { role: 'user', text: 'Look' },
      {
        role: 'assistant', text: 'Running two.', reasoning: 'First I look.',
        calls: [{ call: 'call_a1', name: 'terminal', verb: 'run', target: 'ls', args: { command: 'ls' } }, { call: 'call 2', name: 'read_file', verb: 'read', target: 'a.md', args: { path: 'a.md' } }],
      },
      { role: 'tool', call: 'call_a1', state: 'done', result: 'a.md' },
      { role: 'tool', call: 'call 2', state: 'failed', result: 'no such file' },
      { role: 'assistant', text: 'There.', reasoning: 'Hm.', calls: [] },
    ])
    expect(messages[0]!.at).toBe(1_796_061_484_600)
  })

  test.each([
    ['[System: model switched to x]', 'marker'], ['[IMPORTANT: Background process 1 finished]', 'begins'], ['[ASYNC DELEGATION BATCH COMPLETE]\nx', 'begins'], ['earlier\n[CONTEXT COMPACTION — summary]', 'marker'],
    ['[IMPORTANT] read this', null], ['System: hello', null],
  ])('a user row that nobody typed is told apart: %s', (text, synthetic) => {
    expect(storedMessages([row('user', text)])[0]).toMatchObject({ text, ...(synthetic ? { synthetic } : {}) })
    expect('synthetic' in storedMessages([row('user', text)])[0]!).toBe(synthetic !== null)
  })

  test('what Hermes adds to a message for its model is no word of the person', () => {
    const texts = ['describe this\n\n[Image attached at: /home/demo/red.png]\n[screenshot]', 'see\n\n--- Attached Context ---\n# file\nx', 'prompt\n[screenshot]']
    expect(storedMessages(texts.map((text) => row('user', text))).map((message) => 'text' in message && message.text)).toEqual(['describe this', 'see', 'prompt'])
    expect(storedMessages([row('user', [{ type: 'text', text: 'parts' }, { type: 'image_url', image_url: { url: 'data:' } }])])[0]).toMatchObject({ text: 'parts' })
  })

  test('an interruption is no answer', () => {
    expect(storedMessages([row('assistant', 'Operation interrupted.')])[0]).toMatchObject({ text: '', synthetic: 'marker' })
  })
})

describe('the store', () => {
  test('has another mark once anything was written, and none where there is no session', async () => {
    const profile = testProfile()
    const one = programOf([row('user', 'x')])
    const two = programOf([row('user', 'x')], { id: 'one', counters: { input: 1000, output: 51 }, messages: 1 })
    const gone = programOf([], null)
    expect(await one.history.mark(profile, 'one')).not.toBe(await two.history.mark(profile, 'one'))
    expect(await one.history.mark(profile, 'one')).toBe((await one.history.read(profile, 'one'))!.mark)
    expect([await gone.history.mark(profile, 'one'), await gone.history.read(profile, 'one')]).toEqual([null, null])
  })

  test('is asked again only when its files have changed since before the last answer', async () => {
    const profile = testProfile()
    let sign: string | null = 'one'
    let counter = 0
    const program = { ready: async () => undefined, stored: async () => ({ id: 'one', counters: {}, messages: ++counter }) } as unknown as HermesProgram
    const history = historyOf(() => program, async () => sign)
    const first = await history.mark(profile, 'one')
    expect([await history.mark(profile, 'one'), counter]).toEqual([first, 1])
    await history.mark(profile, 'another')
    expect(counter).toBe(2)
    sign = 'two'
    expect(await history.mark(profile, 'one')).not.toBe(first)
    // What is not known is never taken for unchanged.
    sign = null
    const [a, b] = [await history.mark(profile, 'one'), await history.mark(profile, 'one')]
    expect(a).not.toBe(b)
  })

  test('is another one for another profile', () => {
    const { history } = programOf([])
    expect(history.store(testProfile('work'))).not.toBe(history.store(testProfile('home')))
  })

  test('remembers the end of a chat that is longer than one import may be', async () => {
    const { history, seeds } = programOf([])
    const messages = Array.from({ length: 12_000 }, (_, i) => ({ role: 'user' as const, text: `${i}` }))
    await history.seed(testProfile(), { title: '', cwd: '/w', messages })
    const { messages: sent } = seeds[0] as { messages: { content: string }[] }
    expect(sent).toHaveLength(10_000)
    expect(sent.at(-1)!.content).toBe('11999')
    await history.seed(testProfile(), { title: 'T', cwd: '/w', messages: [{ role: 'user', text: 'x'.repeat(4_000_000) }, { role: 'assistant', text: 'y' }] })
    expect(seeds[1]).toMatchObject({ title: 'T', messages: [{ role: 'assistant', content: 'y' }] })
  })
})

describe('taking back', () => {
  const rows = [row('user', 'one'), row('assistant', 'a'), row('user', '[System: model switched]'), row('user', 'two'), row('assistant', 'b')]

  test('counts Hermes\' own user rows from the end, markers too', async () => {
    const { program, calls } = programOf(rows)
    await undoTo(program, 'live', 'one', String(rows[3]!.id))
    await undoTo(program, 'live', 'one', String(rows[0]!.id))
    expect(calls).toEqual([['command.dispatch', { session_id: 'live', name: 'undo', arg: '1' }], ['command.dispatch', { session_id: 'live', name: 'undo', arg: '3' }]])
  })

  test('a row that is not there any more takes nothing back', async () => {
    const { program, calls } = programOf(rows)
    await expect(undoTo(program, 'live', 'one', '999999')).rejects.toThrow('does not hold')
    await expect(undoTo(program, 'live', 'one', '0')).rejects.toThrow('does not hold')
    expect(calls).toEqual([])
  })
})
