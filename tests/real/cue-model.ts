import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cue, ProblemKind } from '../agent/rig'

interface Call { name: string; args: Record<string, unknown> }
interface Said { do: 'say'; reasoning: string[]; text: string[]; bytes: boolean; calls: Call[]; then: 'end' | 'silence' | 'cut' }

/** One step of a script: what the model does in one call. */
export type Step = Said | { do: 'fail'; kind: ProblemKind }

interface Message { role: string; content: unknown }

/** A model server in this process that plays scripts: a message names one (`script:3`), and the number of tool results since then says which step is next. */
export interface CueModel {
  base: string
  /** Words for a message that plays these steps. */
  script(steps: Step[], later?: string): string
  /** Whether any request held these words. */
  told(words: string): boolean
  end(): Promise<void>
}

export async function startCueModel(): Promise<CueModel> {
  const scripts = new Map<string, Step[]>()
  const requests: string[] = []
  const open = new Set<ServerResponse>()
  let count = 0
  const server = createServer((request, response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    void read(request).then((body) => {
      if (request.url?.includes('/models')) return json(response, 200, { object: 'list', data: ['fake-model', 'other-model'].map((id) => ({ id, object: 'model', created: 1, owned_by: 'tests', context_length: 128_000 })) })
      requests.push(JSON.stringify(body))
      const { messages = [], tools = [], stream } = body as { messages?: Message[]; tools?: unknown[]; stream?: boolean }
      const step: Step = tools.length === 0 ? say('A title') : nextOf(messages, scripts)
      return step.do === 'fail' ? fail(response, step.kind) : stream === true ? streamed(response, step) : json(response, 200, whole(step))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    script(steps, later) {
      const id = `script:${++count};`
      scripts.set(id, steps)
      if (later !== undefined) scripts.set(`later:${count};`, [say(later)])
      return id
    },
    told: (words) => requests.some((request) => request.includes(JSON.stringify(words).slice(1, -1)) || request.includes(JSON.stringify(JSON.stringify(words)).slice(3, -3))),
    end: () => new Promise((resolve) => {
      for (const response of open) response.destroy()
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}

export function say(...text: string[]): Said {
  return { do: 'say', reasoning: [], text, bytes: false, calls: [], then: 'end' }
}

/** Cues as steps: each call of tools ends a step. Null: this model cannot. `call`: how a tool is called. */
export function stepsOf(cues: readonly Cue[], call: (cue: Extract<Cue, { cue: 'tools' }>['calls'][number]) => Call | null): Step[] | null {
  const steps: Step[] = []
  let step = fresh()
  for (const cue of cues) {
    if (cue.cue === 'text') step.text.push(...cue.deltas)
    else if (cue.cue === 'bytes') {
      step.text.push(cue.text)
      step.bytes = true
    } else if (cue.cue === 'reasoning') step.reasoning.push(...cue.deltas)
    else if (cue.cue === 'silence') step.then = 'silence'
    else if (cue.cue === 'problem') {
      if (cue.kind === 'cut') step.then = 'cut'
      else steps.push({ do: 'fail', kind: cue.kind })
    } else if (cue.cue === 'tools') {
      const calls = cue.calls.map(call)
      if (calls.includes(null)) return null
      step.calls = calls as Call[]
      steps.push(step)
      step = fresh()
    } else if (cue.cue === 'clarify') {
      if (cue.ms !== undefined) return null
      step.calls = [{ name: 'clarify', args: { question: cue.question, ...(cue.choices.length > 0 ? { choices: cue.choices } : {}) } }]
      steps.push(step)
      step = fresh()
    }
  }
  return [...steps, step]
}

function fresh(): Said {
  return { do: 'say', reasoning: [], text: [], bytes: false, calls: [], then: 'end' }
}

function nextOf(messages: readonly Message[], scripts: ReadonlyMap<string, Step[]>): Step {
  for (const [at, message] of [...messages.entries()].toReversed()) {
    const named = message.role === 'user' ? flat(message.content).match(/(?:script|later):\d+;/g)?.at(-1) : undefined
    const steps = named === undefined ? undefined : scripts.get(named)
    if (!steps) continue
    let results = messages.slice(at + 1).filter(({ role }) => role === 'tool').length
    for (const step of steps) {
      const calls = step.do === 'say' ? step.calls.length : 0
      if (calls === 0 || results < calls) return step
      results -= calls
    }
  }
  return say('There is no script for this.')
}

function flat(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? '')
}

async function read(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return {}
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function fail(response: ServerResponse, kind: ProblemKind): void {
  switch (kind) {
    case 'unauthorized':
      return json(response, 401, { error: { message: 'Incorrect API key provided', type: 'invalid_request_error', code: 'invalid_api_key' } })
    case 'rate_limited':
      return json(response, 429, { error: { message: 'Rate limit reached', type: 'rate_limit_error', code: null } })
    case 'server_error':
      return json(response, 500, { error: { message: 'The server had an error', type: 'server_error', code: null } })
    case 'refused':
      return void response.socket?.destroy()
    case 'empty':
      return void streamed(response, say())
    case 'malformed':
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {this is not json\n\n')
    case 'hang':
    case 'cut':
      // It has the request, and says nothing.
  }
}

const USAGE = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020, prompt_tokens_details: { cached_tokens: 300 }, completion_tokens_details: { reasoning_tokens: 3 } }
let calls = 0

async function streamed(response: ServerResponse, step: Said): Promise<void> {
  const id = ++calls
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
    `data: ${JSON.stringify({ id: `c${id}`, object: 'chat.completion.chunk', created: 1, model: 'fake-model', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`
  const write = async (text: string): Promise<void> => {
    if (!step.bytes) return void response.write(text)
    for (const byte of Buffer.from(text, 'utf8')) response.write(Buffer.from([byte]))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await write(chunk({ role: 'assistant', content: '' }))
  for (const reasoning of step.reasoning) await write(chunk({ reasoning_content: reasoning }))
  for (const text of step.text) await write(chunk({ content: text }))
  if (step.then === 'silence') return
  if (step.then === 'cut') {
    // What was written has to be read before the end.
    await new Promise((resolve) => setTimeout(resolve, 50))
    return void response.socket?.destroy()
  }
  for (const [index, { name, args }] of step.calls.entries()) await write(chunk({ tool_calls: [{ index, id: `call_${id}_${index}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }))
  await write(chunk({}, step.calls.length > 0 ? 'tool_calls' : 'stop'))
  response.write(`data: ${JSON.stringify({ id: `c${id}`, object: 'chat.completion.chunk', created: 1, model: 'fake-model', choices: [], usage: USAGE })}\n\n`)
  response.end('data: [DONE]\n\n')
}

function whole(step: Said): object {
  const id = ++calls
  const tools = step.calls.map(({ name, args }, index) => ({ id: `call_${id}_${index}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }))
  return {
    id: `c${id}`, object: 'chat.completion', created: 1, model: 'fake-model', usage: USAGE,
    choices: [{ index: 0, message: { role: 'assistant', content: step.text.join('') || null, ...(tools.length > 0 ? { tool_calls: tools } : {}) }, finish_reason: tools.length > 0 ? 'tool_calls' : 'stop' }],
  }
}
