import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunProblemCode } from '../../server/contract/problems'
import { calls, delta, event, type FakeModel, type Reply, says, startFakeModel, stream } from '../support/fake-model'
import { closedPort, embeddedHome, type Home, SECRET } from './embedded-rig'
import { Chat } from './embedded-turn'

const json = (status: number, body: unknown): Reply => ({ status, headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(body)] })

/** What a provider may refuse with, and the class it falls in (spec/settlement.md §8.2). */
const REFUSALS: [string, Reply, RunProblemCode, RegExp][] = [
  ['a model that does not exist (OpenAI)', json(404, { error: { message: 'The model `gpt-9` does not exist or you do not have access to it.', type: 'invalid_request_error', code: 'model_not_found' } }), 'model_not_found', /^The model `gpt-9` does not exist/],
  ['a model that does not exist (Ollama)', json(404, { error: { message: 'model "llama9" not found, try pulling it first', type: 'api_error' } }), 'model_not_found', /try pulling it first/],
  ['a model that does not exist (400)', json(400, { error: { message: 'foo/bar is not a valid model ID', code: 400 } }), 'model_not_found', /not a valid model ID/],
  ['a key that is refused', json(401, { error: { message: 'Incorrect API key provided: sk-bad', code: 'invalid_api_key' } }), 'auth_mismatch', /Incorrect API key/],
  ['a key that may not', json(403, { detail: 'Forbidden for this project' }), 'auth_mismatch', /Forbidden for this project/],
  ['a used-up quota that comes as 429', json(429, { error: { message: 'You exceeded your current quota, please check your plan and billing details.', code: 'insufficient_quota' } }), 'quota_exhausted', /exceeded your current quota/],
  ['no credits', json(402, { error: { message: 'Insufficient credits' } }), 'quota_exhausted', /Insufficient credits/],
  ['too many requests', json(429, { message: 'Slow down' }), 'rate_limit', /^Slow down$/],
  ['too long a conversation', json(400, { error: { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' } }), 'context_full', /maximum context length/],
  ['a validation error of a list', json(422, { detail: [{ msg: 'field required', loc: ['body'] }, { msg: 'bad value' }] }), 'provider_error', /^field required; bad value$/],
  ['a broken server', { status: 500, headers: { 'content-type': 'text/plain' }, pieces: ['Internal Server Error'] }, 'provider_error', /^Internal Server Error$/],
  ['a page of a proxy', { status: 502, headers: { 'content-type': 'text/html' }, pieces: ['<html><head><title>502</title><style>p{}</style></head><body><h1>Bad Gateway</h1><script>alert(1)</script></body></html>'] }, 'provider_error', /^502 Bad Gateway$/],
  ['a redirect', { status: 307, headers: { location: 'http://127.0.0.1:9/v1/chat/completions' }, pieces: [] }, 'provider_error', /redirects to/],
]

describe('a turn that the provider refuses', () => {
  let fake: FakeModel
  let home: Home
  let chat: Chat

  beforeEach(async () => {
    fake = await startFakeModel()
    home = await embeddedHome(fake.base)
    chat = new Chat(home)
  })
  afterEach(async () => {
    await home.end()
    await fake.close()
    rmSync(home.folder, { recursive: true, force: true })
  })

  it.each(REFUSALS)('%s fails with its class and the provider’s own words, after one request', async (_, reply, code, words) => {
    fake.next(reply)
    const end = await chat.say('hi')
    expect(end).toMatchObject({ outcome: 'failed', problem: { code, status: reply.status } })
    expect(end.problem!.words).toMatch(words)
    expect(fake.asked()).toHaveLength(1)
  })

  it('keys are removed from words, and words are bounded', async () => {
    fake.next(json(401, { error: { message: `Key ${SECRET} and Bearer abcdefghijklmnop and sk-other-0123456789abc are bad. ${'long '.repeat(2000)}` } }))
    const { problem } = await chat.say('hi')
    expect(problem!.words).toMatch(/^Key \[key\] and \[key\] and \[key\] are bad/)
    expect(problem!.words!.length).toBeLessThanOrEqual(1200)
    expect(fake.requests[0]!.headers.authorization).toBe(`Bearer ${SECRET}`)
    expect(JSON.stringify(chat.events)).not.toContain(SECRET)
  })

  it('a key that looks like none is removed as well', async () => {
    const plain = await embeddedHome(fake.base, { config: `model: {default: m, provider: custom, base_url: "${fake.base}", api_key: correcthorsebattery}\n` })
    fake.next(json(401, { error: { message: 'No user has the key correcthorsebattery.' } }))
    expect(await new Chat(plain).say('hi')).toMatchObject({ problem: { code: 'auth_mismatch', words: 'No user has the key [key].' } })
    await plain.end()
    rmSync(plain.folder, { recursive: true, force: true })
  })

  it('a server that is gone is unreachable, in the network’s words', async () => {
    const lost = await embeddedHome(`http://127.0.0.1:${await closedPort()}/v1`)
    const end = await new Chat(lost).say('hi')
    expect(end).toMatchObject({ outcome: 'failed', problem: { code: 'provider_unreachable', words: expect.stringMatching(/ECONNREFUSED/), hint: expect.any(String) } })
    await lost.end()
    rmSync(lost.folder, { recursive: true, force: true })
  })

  it('a kept connection that the server closed meanwhile costs no turn', async () => {
    const seen: number[] = []
    let sockets = 0
    const server = createServer((request, response) => {
      const socket = request.socket as typeof request.socket & { n?: number }
      socket.n ??= ++sockets
      seen.push(socket.n)
      request.resume().on('end', () => {
        // The second call on a connection finds it closing.
        if (seen.length === 2) return void socket.destroy()
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(says('Hello.').map(event).join('') + 'data: [DONE]\n\n')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const kept = await embeddedHome(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
    const other = new Chat(kept)
    expect(await other.say('one')).toMatchObject({ outcome: 'completed' })
    expect(await other.say('two')).toMatchObject({ outcome: 'completed' })
    expect(seen).toEqual([1, 1, 2])
    await kept.end()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    rmSync(kept.folder, { recursive: true, force: true })
  })

  it('the message stands once in the context after a failure and a retry', async () => {
    fake.next({ pieces: [event(delta({ content: 'Half' })), 'RESET'] }, stream(...says('Whole.')), stream(...says('Next.')))
    await chat.say('hi')
    expect(await chat.retry('hi')).toMatchObject({ outcome: 'completed' })
    expect(chat.context.map((item) => item.message)).toEqual([{ role: 'user', text: 'hi' }, { role: 'assistant', text: 'Whole.' }])
    await chat.say('and')
    expect(fake.asked()[2]!.messages).toEqual([expect.anything(), { role: 'user', content: 'hi' }, { role: 'assistant', content: 'Whole.' }, { role: 'user', content: 'and' }])
  })

  it('case 53: a turn without end is asked for closing words at its limit, and completes with them', async () => {
    const short = await embeddedHome(fake.base, { steps: 3 })
    fake.answer = (request) => (JSON.stringify(request.body.messages).includes('limit of 3 steps') ? stream(...says('I looked three times.')) : stream(...calls({ id: 'same', name: 'list', args: {} })))
    const other = new Chat(short)
    expect(await other.say('loop')).toMatchObject({ outcome: 'completed', reason: 'limit' })
    expect(new Set(other.of('tool.started').map((e) => e.call)).size).toBe(3)
    expect(other.text).toBe('I looked three times.')
    expect(other.context.at(-1)!.message).toEqual({ role: 'assistant', text: 'I looked three times.' })
    expect(JSON.stringify(other.context)).not.toContain('limit of 3 steps')
    await short.end()
    rmSync(short.folder, { recursive: true, force: true })
  })

  it('case 52: a turn that has no words at its limit fails as tool_limit_reached, runs nothing more, and the next turn works', async () => {
    const short = await embeddedHome(fake.base, { steps: 2 })
    fake.answer = () => stream(...calls({ id: 'same', name: 'list', args: {} }))
    const other = new Chat(short)
    expect(await other.say('loop')).toMatchObject({ outcome: 'failed', problem: { code: 'tool_limit_reached', words: expect.stringContaining('2 steps') } })
    expect(other.of('tool.started')).toHaveLength(2)
    fake.answer = () => stream(...says('Fine.'))
    expect(await other.say('go on')).toMatchObject({ outcome: 'completed' })
    await short.end()
    rmSync(short.folder, { recursive: true, force: true })
  })

  it('without a model nothing is asked, and the reason is said', async () => {
    const none = await embeddedHome(fake.base, { config: '{}\n' })
    expect(await none.agent.probe(none.profile)).toMatchObject({ state: 'unavailable', code: 'no_model', words: expect.any(String) })
    expect(await new Chat(none).say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'no_model' } })
    await none.end()
    rmSync(none.folder, { recursive: true, force: true })
  })

  it('a provider that needs a sign-in says so', async () => {
    const signed = await embeddedHome(fake.base, { config: 'model: {default: hermes-4, provider: nous}\n' })
    expect(await signed.agent.probe(signed.profile)).toMatchObject({ state: 'unavailable', words: expect.stringMatching(/Nous Portal needs a sign-in/) })
    await signed.end()
    rmSync(signed.folder, { recursive: true, force: true })
  })

  it('probing tells name, capabilities and the model of the configuration', async () => {
    expect(await home.agent.probe(home.profile)).toMatchObject({ state: 'ready', agent: { kind: 'embedded' }, model: { provider: 'custom', id: 'fake-model' }, capabilities: expect.arrayContaining(['approvals', 'diffs', 'stop']) })
  })
})

describe('the embedded agent on Anthropic’s interface', () => {
  let fake: FakeModel
  let home: Home
  let chat: Chat

  const sse = (...events: Record<string, unknown>[]): Reply => ({ pieces: events.map((e) => `event: ${String(e.type)}\ndata: ${JSON.stringify(e)}\n\n`) })
  const start = { type: 'message_start', message: { usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 } } }
  const stop = (reason: string): Record<string, unknown>[] => [{ type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 20 } }, { type: 'message_stop' }]

  beforeEach(async () => {
    fake = await startFakeModel()
    home = await embeddedHome('', { config: `providers:\n  claude-test: {base_url: "http://127.0.0.1:${fake.port}", api_key: "\${FAKE_KEY}", api_mode: anthropic_messages}\nmodel: {default: claude-x, provider: claude-test}\n` })
    chat = new Chat(home)
    writeFileSync(join(home.workspace, 'a.txt'), 'alpha\n')
  })
  afterEach(async () => {
    await home.end()
    await fake.close()
    rmSync(home.folder, { recursive: true, force: true })
  })

  it('thinks, uses a tool, and gives thought and result back in its shape', async () => {
    fake.next(
      sse(
        start, { type: 'ping' },
        { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Look ' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'first.' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'SIG' } },
        { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Reading.' } },
        { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} } },
        { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"pa' } },
        { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: 'th":"a.txt"}' } },
        { type: 'content_block_stop', index: 2 }, ...stop('tool_use'),
      ),
      sse(start, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'It says alpha.' } }, ...stop('end_turn')),
    )
    expect(await chat.say('read a')).toMatchObject({ outcome: 'completed', usage: { input: 200, cached: 180, output: 40, contextUsed: 120 } })
    expect(chat.thought).toBe('Look first.')
    expect(chat.text).toBe('Reading.It says alpha.')
    const [first, second] = fake.asked()
    expect(fake.requests[0]).toMatchObject({ path: '/v1/messages', headers: { 'x-api-key': SECRET, 'anthropic-version': '2023-06-01' } })
    expect(first).toMatchObject({ model: 'claude-x', max_tokens: 8192, stream: true, system: expect.any(String), messages: [{ role: 'user', content: [{ type: 'text', text: 'read a' }] }] })
    expect(second!.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'read a' }] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Look first.', signature: 'SIG' }, { type: 'text', text: 'Reading.' }, { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a.txt' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '1\talpha\n' }] },
    ])
  })

  it('an error event in mid-answer fails with its words', async () => {
    fake.next(sse(start, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } }, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'rate_limit', words: 'Overloaded' } })
    expect(chat.text).toBe('Half')
  })

  it('a refused key, an unknown model and a JSON body are understood', async () => {
    fake.next(json(401, { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }))
    expect(await chat.say('hi')).toMatchObject({ problem: { code: 'auth_mismatch', words: 'invalid x-api-key' } })
    fake.next(json(404, { type: 'error', error: { type: 'not_found_error', message: 'model: claude-x' } }))
    expect(await chat.say('hi')).toMatchObject({ problem: { code: 'model_not_found', words: 'model: claude-x' } })
    fake.next(json(200, { type: 'message', content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn', usage: { input_tokens: 3, output_tokens: 2 } }))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed', usage: { input: 3, output: 2 } })
  })

  it('a limit of answer tokens is learned from the refusal', async () => {
    fake.next(json(400, { type: 'error', error: { type: 'invalid_request_error', message: 'max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens' } }), sse(start, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } }, ...stop('end_turn')))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'completed' })
    expect(fake.asked()[1]!.max_tokens).toBe(4096)
  })

  it('a cut stream is a failure that keeps what came', async () => {
    fake.next(sse(start, { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'shell', input: {} } }, { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"command":"rm' } }))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_error' } })
    expect(chat.of('tool.started')).toEqual([])
    fake.next(sse(start, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } }))
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { code: 'provider_error', words: expect.stringMatching(/middle/) } })
    expect(chat.text).toBe('Half')
  })
})
