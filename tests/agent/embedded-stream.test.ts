import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemTimers } from '../../server/runs/timers'
import { calls, delta, event, type FakeModel, type Piece, says, startFakeModel, stream } from '../support/fake-model'
import { embeddedHome, type Home } from './embedded-rig'
import { Chat } from './embedded-turn'

/** Oddities of real endpoints (spec/reports.md, area PRV), played by a real server. */
describe('the embedded agent and the streams of real endpoints', () => {
  let fake: FakeModel
  let home: Home
  let chat: Chat

  beforeEach(async () => {
    fake = await startFakeModel()
    home = await embeddedHome(fake.base, { silence: 3_000 })
    chat = new Chat(home)
    writeFileSync(join(home.workspace, 'a.txt'), 'alpha\n')
    writeFileSync(join(home.workspace, 'b.txt'), 'beta\n')
  })
  afterEach(async () => {
    await home.end()
    await fake.close()
    rmSync(home.folder, { recursive: true, force: true })
  })

  const usage = { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 40 }, completion_tokens_details: { reasoning_tokens: 3 } }

  it('a last chunk with empty choices and usage is usage (R212)', async () => {
    fake.next(stream(...says('Hello'), { choices: [], usage }))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed', usage: { input: 100, output: 7, cached: 40, reasoning: 3, contextUsed: 107 } })
    expect(chat.text).toBe('Hello')
  })

  it('chunks without choices, with null choices and with empty ones say nothing (R213, R214)', async () => {
    fake.next(stream({ choices: [], prompt_filter_results: [] }, { id: 'only' }, { choices: null }, { choices: [null] }, { choices: [{}] }, ...says('Hello')))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed' })
    expect(chat.text).toBe('Hello')
  })

  it('deltas with a role only, null deltas and null content say nothing (R215)', async () => {
    fake.next(stream(delta({ role: 'assistant' }), delta(null), delta({ content: null, reasoning_content: null, tool_calls: null }), ...says('Hel', 'lo')))
    await chat.say('hi')
    expect(chat.text).toBe('Hello')
    expect(chat.thought).toBe('')
  })

  it('tool arguments in fragments are put together (R217)', async () => {
    fake.next(
      stream(
        delta({ tool_calls: [{ index: 0, id: 'x1', type: 'function', function: { name: 'read', arguments: '' } }] }),
        delta({ tool_calls: [{ index: 0, function: { arguments: '{"pa' } }] }),
        delta({ tool_calls: [{ index: 1, id: 'x2', type: 'function', function: { name: 'read', arguments: '{"path":' } }] }),
        delta({ tool_calls: [{ index: 0, function: { arguments: 'th":"a.txt"}' } }] }),
        delta({ tool_calls: [{ index: 1, function: { arguments: '"b.txt"}' } }] }),
        delta({}, 'tool_calls'),
      ),
      stream(...says('Read.')),
    )
    expect(await chat.say('read')).toMatchObject({ outcome: 'completed' })
    expect(chat.of('tool.closed').map((e) => e.result)).toEqual(['1\talpha\n', '1\tbeta\n'])
  })

  it('calls that share an index are told apart by their ids (R217)', async () => {
    fake.next(
      stream(
        delta({ tool_calls: [{ index: 0, id: 'x1', function: { name: 'read', arguments: '{"path":' } }] }),
        delta({ tool_calls: [{ index: 0, id: 'x2', function: { name: 'read', arguments: '{"path":' } }] }),
        delta({ tool_calls: [{ index: 0, id: 'x1', function: { arguments: '"a.txt"}' } }] }),
        delta({ tool_calls: [{ index: 0, id: 'x2', function: { arguments: '"b.txt"}' } }] }),
        delta({}, 'tool_calls'),
      ),
      stream(...says('Read.')),
    )
    await chat.say('read')
    expect(chat.of('tool.closed').map((e) => e.result)).toEqual(['1\talpha\n', '1\tbeta\n'])
  })

  it('fragments that could belong to either of two calls run neither (R217)', async () => {
    fake.next(
      stream(
        delta({ tool_calls: [{ index: 0, id: 'x1', function: { name: 'read', arguments: '{"path":' } }] }),
        delta({ tool_calls: [{ index: 0, id: 'x2', function: { name: 'read', arguments: '{"path":' } }] }),
        delta({ tool_calls: [{ function: { arguments: '"a.txt"}' } }] }),
        delta({}, 'tool_calls'),
      ),
      stream(...says('Sorry.')),
    )
    expect(await chat.say('read')).toMatchObject({ outcome: 'completed' })
    expect(chat.of('tool.closed').map((e) => e.state)).toEqual(['failed', 'failed'])
    expect(chat.of('tool.closed')[0]!.result).toMatch(/mixed/)
  })

  it('an id only on the first fragment and a closing fragment with the name alone are one call (R217)', async () => {
    fake.next(
      stream(
        delta({ tool_calls: [{ id: 'x1', type: 'function', function: { name: 'read', arguments: '{"path":"a' } }] }),
        delta({ tool_calls: [{ function: { arguments: '.txt"' } }] }),
        delta({ tool_calls: [{ function: { name: 'read', arguments: '}' } }] }),
        delta({}, 'tool_calls'),
      ),
      stream(...says('Read.')),
    )
    await chat.say('read')
    expect(chat.of('tool.closed').map((e) => [e.call, e.result])).toEqual([['x1', '1\talpha\n']])
  })

  it('a call whose arguments do not parse is not run; twice ends the turn with one clear error (R218)', async () => {
    const cut = stream(delta({ tool_calls: [{ index: 0, id: 'x1', function: { name: 'shell', arguments: '{"command":"touch made.txt' } }] }), delta({}, 'tool_calls'))
    fake.next(cut, cut, stream(...says('never asked')))
    expect(await chat.say('run')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_garbled' } })
    expect(fake.asked()).toHaveLength(2)
    expect(chat.of('question.raised')).toEqual([])
    expect(chat.of('tool.closed').map((e) => e.state)).toEqual(['failed', 'failed'])
    expect(new Set(chat.of('tool.started').map((e) => e.call)).size).toBe(2)
  })

  for (const [name, write] of Object.entries({
    'CRLF line ends': (text: string) => [text.replaceAll('\n', '\r\n')],
    'CR line ends': (text: string) => [text.replaceAll('\n', '\r')],
    'no blank behind data:': (text: string) => [text.replaceAll('data: ', 'data:')],
    'comments between': (text: string) => [`: ping\n\n${text.replaceAll('\n\n', '\n\n: OPENROUTER PROCESSING\n\n')}`],
    'cuts between CR and LF': (text: string) => text.replaceAll('\n', '\r\n').split(/(?<=\r)/),
    'one byte at a time': (text: string) => [...Buffer.from(text)].map((byte) => Uint8Array.of(byte)),
    'no blank line between events': (text: string) => [text.replaceAll('\n\n', '\n')],
    'no [DONE]': (text: string) => [text.replace('data: [DONE]\n\n', '')],
    'no [DONE] and no last line end': (text: string) => [text.replace('\n\ndata: [DONE]\n\n', '')],
    'a byte order mark': (text: string) => [`\uFEFF${text}`],
  } satisfies Record<string, (text: string) => Piece[]>))
    it(`${name} changes nothing of the answer (R220)`, async () => {
      fake.next({ pieces: write(`${says('Grüße ', '\u{1F680}', ' end').map(event).join('')}data: [DONE]\n\n`) })
      expect(await chat.say('hi')).toMatchObject({ outcome: 'completed' })
      expect(chat.text).toBe('Grüße \u{1F680} end')
      expect(chat.of('notice')).toEqual([])
    })

  it('an event of the kind error without a data line fails the turn (R222)', async () => {
    fake.next({ pieces: [event(delta({ content: 'Half' })), 'event: error\nid: 3\n\n'] })
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_error', words: expect.stringMatching(/error/) } })
    expect(chat.text).toBe('Half')
  })

  it('an error object in a 200 stream fails the turn with its words', async () => {
    fake.next(stream(delta({ content: 'Half' }), { error: { message: 'Upstream is on fire', code: 502, metadata: { raw: '{"error":{"message":"GPU lost"}}' } } }))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_error', status: 502, words: 'Upstream is on fire: GPU lost' } })
    expect(chat.text).toBe('Half')
  })

  it('an end reason of error is no normal end (R230)', async () => {
    fake.next(stream({ choices: [{ index: 0, delta: { content: 'Half' }, finish_reason: 'error', error: { message: 'Provider disconnected' } }] }))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { words: 'Provider disconnected' } })
  })

  it('a stream that ends in the middle of tool arguments runs nothing, and the next message works (R224)', async () => {
    fake.next({ pieces: [event(delta({ tool_calls: [{ index: 0, id: 'x1', function: { name: 'shell', arguments: '{"comm' } }] }))] }, stream(...says('Fine.')))
    expect(await chat.say('run')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_error', words: expect.stringMatching(/middle/) } })
    expect(chat.of('tool.started')).toEqual([])
    expect(await chat.say('again')).toMatchObject({ outcome: 'completed' })
    expect(fake.asked()[1]!.messages).toEqual([expect.objectContaining({ role: 'system' }), { role: 'user', content: 'run\n\nagain' }])
  })

  it('reasoning alone is shown, and one request says that there was no answer (R225)', async () => {
    fake.next(stream(delta({ reasoning_content: 'Hmm, ' }), delta({ reasoning_content: 'hard.' }), delta({}, 'stop')))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'no_response', words: expect.stringMatching(/no answer/) } })
    expect(chat.thought).toBe('Hmm, hard.')
    expect(fake.asked()).toHaveLength(1)
  })

  it('a leading think tag is a thought, however it is cut; a later one is text (R226)', async () => {
    fake.next(stream(...says('<thi', 'nk>pl', 'an</thi', 'nk>\n\nans', 'wer ', '<think>', 'no</think>')))
    await chat.say('hi')
    expect(chat.thought).toBe('plan')
    expect(chat.text).toBe('answer <think>no</think>')
  })

  it('a think tag in a code fence stays text (R226)', async () => {
    fake.next(stream(...says('```\n<think>', 'x</think>\n```')))
    await chat.say('hi')
    expect(chat.text).toBe('```\n<think>x</think>\n```')
    expect(chat.thought).toBe('')
  })

  for (const [name, chunks] of Object.entries({
    'in the same chunk': [delta({ content: 'Hel', reasoning: 'Hel' }), delta({ content: 'lo', reasoning: 'lo' })],
    'piece by piece before it': [delta({ reasoning_content: 'Hel' }), delta({ content: 'Hel' }), delta({ reasoning_content: 'lo' }), delta({ content: 'lo' })],
    'after it': [delta({ content: 'Hello' }), delta({ reasoning_content: 'Hel' }), delta({ reasoning_content: 'lo' })],
    'whole before it': [delta({ reasoning_content: 'Hello' }), delta({ content: 'Hello' })],
  }))
    it(`an answer mirrored in the reasoning field ${name} is shown once, as the answer (R227)`, async () => {
      fake.next(stream(...chunks, delta({}, 'stop')))
      await chat.say('hi')
      expect(chat.text).toBe('Hello')
      expect(chat.thought).toBe('')
    })

  it('reasoning that is no mirror is whole', async () => {
    fake.next(stream(delta({ reasoning_content: 'The' }), delta({ content: 'Then' }), delta({ reasoning_content: 'se are thoughts' }), delta({ content: ' more' }), delta({}, 'stop')))
    await chat.say('hi')
    expect(chat.text).toBe('Then more')
    expect(chat.thought).toBe('These are thoughts')
  })

  it('a JSON body instead of a stream is one answer (R229)', async () => {
    fake.next({ headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: 'Hello', reasoning_content: 'Thought' }, finish_reason: 'stop' }], usage })] })
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed', usage: { input: 100 } })
    expect(chat.text).toBe('Hello')
    expect(chat.thought).toBe('Thought')
  })

  it('a last chunk that repeats the whole answer does not double it (R229)', async () => {
    fake.next(stream(delta({ content: 'Hello ' }), delta({ content: 'world' }), { choices: [{ index: 0, delta: {}, message: { content: 'Hello world' }, finish_reason: 'stop' }] }))
    await chat.say('hi')
    expect(chat.text).toBe('Hello world')
    fake.next(stream(delta({ content: 'Good ' }), delta({ content: 'bye' }), delta({ content: 'Good bye' }, 'stop')))
    chat.events.length = 0
    await chat.say('hi')
    expect(chat.text).toBe('Good bye')
  })

  it('named progress events are neither answer nor context (R231)', async () => {
    fake.next({ pieces: [event(delta({ content: 'Hel' })), 'event: hermes.tool.progress\ndata: {"choices":[{"delta":{"content":"🔍 web"}}]}\n\n', ...[delta({ content: 'lo' }), delta({}, 'stop')].map(event)] }, stream(...says('ok')))
    await chat.say('hi')
    expect(chat.text).toBe('Hello')
    await chat.say('and')
    expect(JSON.stringify(fake.asked()[1])).not.toContain('web"')
  })

  it('an empty list of tool calls is never sent (R232)', async () => {
    fake.next(stream(delta({ content: 'Hello', tool_calls: [] }), delta({ tool_calls: [] }, 'stop')), stream(...says('ok')))
    await chat.say('hi')
    await chat.say('and')
    expect(fake.asked()[1]!.messages).toEqual([expect.anything(), { role: 'user', content: 'hi' }, { role: 'assistant', content: 'Hello' }, { role: 'user', content: 'and' }])
  })

  it('a failed stream does not end streaming for later turns (R235)', async () => {
    fake.next({ pieces: ['RESET'] }, stream(...says('Hello')))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_unreachable' } })
    expect(await chat.say('again')).toMatchObject({ outcome: 'completed' })
    expect(fake.asked().map((body) => body.stream)).toEqual([true, true])
  })

  it('an invalid chunk is left out and counted', async () => {
    fake.next({ pieces: [event(delta({ content: 'Hel' })), 'data: {"choices":[{"delta":\n\n', ...[delta({ content: 'lo' }), delta({}, 'stop')].map(event), 'data: [DONE]\n\n'] })
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed' })
    expect(chat.text).toBe('Hello')
    expect(chat.of('notice')).toMatchObject([{ code: 'provider_chunks_skipped', params: { n: 1 } }])
  })

  it('a web page with status 200 is told as one', async () => {
    fake.next({ headers: { 'content-type': 'text/html' }, pieces: ['<html><body>captive portal</body></html>'] })
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_garbled', words: expect.stringMatching(/web page/) } })
    expect(chat.text).toBe('')
  })

  it('silence after a few words fails the turn as silent; comments are no sign of life', async () => {
    const tick = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 50))
    fake.next({ pieces: [event(delta({ content: 'Half' })), ...Array.from({ length: 200 }, (): Piece[] => [tick, ': still here\n\n']).flat()] })
    const quick = await embeddedHome(fake.base, { silence: 300 })
    const other = new Chat(quick)
    expect(await other.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'agent_silent' } })
    expect(other.text).toBe('Half')
    await fake.requests[0]!.closed
    await quick.end()
    rmSync(quick.folder, { recursive: true, force: true })
  })

  it('an answer may take longer than the silence that is allowed', async () => {
    const tick = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 120))
    fake.next({ pieces: [...Array.from({ length: 8 }, (_, i): Piece[] => [event(delta({ content: `${i}` })), tick]).flat(), event(delta({}, 'stop')), 'data: [DONE]\n\n'] })
    const quick = await embeddedHome(fake.base, { silence: 500 })
    const other = new Chat(quick)
    expect(await other.say('hi')).toMatchObject({ outcome: 'completed' })
    expect(other.text).toBe('01234567')
    await quick.end()
    rmSync(quick.folder, { recursive: true, force: true })
  })

  it('a connection reset in the middle keeps what came', async () => {
    fake.next({ pieces: [event(delta({ content: 'Half an answer' })), 'RESET'] })
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_unreachable' } })
    expect(chat.text).toBe('Half an answer')
  })

  it('an end without any sign that the answer is complete is said', async () => {
    fake.next({ pieces: [event(delta({ content: 'Maybe whole' }))] })
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed' })
    expect(chat.of('notice')).toMatchObject([{ code: 'answer_end_unconfirmed' }])
  })

  it('an end in the middle of an event is a cut answer, and nothing that was left out', async () => {
    fake.next({ pieces: [event(delta({ content: 'Half an ans' })), 'data: {"choices":[{"delta":{"conte'] })
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_error', words: expect.stringMatching(/middle of the answer/) } })
    expect(chat.text).toBe('Half an ans')
    expect(chat.of('notice')).toEqual([])
  })

  it('an answer cut by its length is said', async () => {
    fake.next(stream(delta({ content: 'So long' }), delta({}, 'length')))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed', reason: 'length' })
    expect(chat.of('notice')).toMatchObject([{ code: 'answer_cut_length' }])
  })

  it('arguments that take long give signs of life, which show nothing', async () => {
    let time = 0
    const slow = await embeddedHome(fake.base, { timers: { ...systemTimers(), monotonic: () => (time += 1_000) } })
    const pieces = [...'{"path":"a.txt"}'].map((args, i) => delta({ tool_calls: [{ index: 0, ...(i === 0 && { id: 'x' }), function: { ...(i === 0 && { name: 'read' }), arguments: args } }] }))
    fake.next(stream(...pieces, delta({}, 'tool_calls')), stream(...says('Read.')))
    const other = new Chat(slow)
    expect(await other.say('read')).toMatchObject({ outcome: 'completed' })
    const before = other.events.slice(0, other.events.findIndex((e) => e.type === 'tool.started')).filter((e) => e.type === 'text')
    expect(before.length).toBeGreaterThan(1)
    expect(before.length).toBeLessThan(pieces.length)
    expect(before.every((e) => e.delta === '')).toBe(true)
    await slow.end()
    rmSync(slow.folder, { recursive: true, force: true })
  })

  it('stopping in mid-answer closes the connection to the provider', async () => {
    fake.next({ pieces: [event(delta({ content: 'Half' })), 'HANG'] })
    const end = chat.say('hi')
    await chat.until(() => chat.text === 'Half')
    await (await chat.session).stop('person')
    expect(await end).toMatchObject({ outcome: 'cancelled' })
    await fake.requests[0]!.closed
    expect(chat.context.map((item) => item.message)).toEqual([{ role: 'user', text: 'hi' }, { role: 'assistant', text: 'Half' }])
  })

  it('backpressure of the sink holds back what is read', async () => {
    fake.next(stream(...says(...Array.from({ length: 50 }, (_, i) => `w${i} `))))
    let open = 0
    let most = 0
    const session = await home.agent.open({ profile: home.profile, session: 's', cwd: home.workspace, model: null, context: async () => [] }, async (e) => {
      if (e.type !== 'text') return
      most = Math.max(most, ++open)
      await new Promise((resolve) => setImmediate(resolve))
      open--
    })
    await session.turn({ turn: 't', run: 'r', text: 'hi', model: null, retry: false })
    expect(most).toBe(1)
  })

  it('reasoning goes back with tool turns only where it is demanded, also when that is learned from a refusal (R228)', async () => {
    const thinking = (): ReturnType<typeof stream> => stream(delta({ reasoning_content: 'Look ' }), delta({ reasoning_content: 'first.' }), ...calls({ name: 'read', args: { path: 'a.txt' } }))
    fake.next(thinking(), stream(...says('Done.')))
    await chat.say('read')
    expect(JSON.stringify(fake.asked()[1])).not.toContain('reasoning_content')
    fake.next(thinking(), { status: 400, pieces: ['{"error":{"message":"Missing reasoning_content in the assistant message"}}'] }, stream(...says('Done.')))
    await chat.say('read again')
    const third = fake.asked()[4]!.messages as { role: string; reasoning_content?: string; tool_calls?: unknown[] }[]
    expect(third.filter((m) => m.tool_calls).map((m) => m.reasoning_content)).toEqual(['Look first.', 'Look first.'])
  })

  it('a configured limit of the answer is sent, under the name that the server wants', async () => {
    const limited = await embeddedHome(fake.base, { config: `model: {default: gpt-x, provider: custom, base_url: "${fake.base}", max_tokens: 500}\n` })
    fake.next({ status: 400, pieces: ['{"error":{"message":"Unsupported parameter: max_tokens is not supported with this model. Use max_completion_tokens instead."}}'] }, stream(...says('Hello')))
    expect(await new Chat(limited).say('hi')).toMatchObject({ outcome: 'completed' })
    expect(fake.asked().map((body) => [body.max_tokens, body.max_completion_tokens])).toEqual([[500, undefined], [undefined, 500]])
    await limited.end()
    rmSync(limited.folder, { recursive: true, force: true })
  })

  it('a server that refuses stream_options or tools is asked again without them, once', async () => {
    fake.next({ status: 400, pieces: ['{"error":{"message":"Unrecognized request argument supplied: stream_options"}}'] }, { status: 400, pieces: ['{"error":"fake-model does not support tools"}'] }, stream(...says('Hello')))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed' })
    const last = fake.asked()[2]!
    expect(last).not.toHaveProperty('stream_options')
    expect(last).not.toHaveProperty('tools')
    fake.next(stream(...says('Again')))
    await chat.say('hi')
    expect(fake.asked()).toHaveLength(4)
  })
})
