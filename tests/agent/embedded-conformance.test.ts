import { rmSync } from 'node:fs'
import { event, calls as callChunks, delta, startFakeModel, type Piece, type Reply, type SeenRequest } from '../support/fake-model'
import { conformance } from './conformance'
import { closedPort, embeddedHome } from './embedded-rig'
import { agentRig, type Cue, type ProblemKind, type ToolCue } from './rig'

conformance('the embedded agent', async (options) => {
  const fake = await startFakeModel()
  const gone = await closedPort()
  const plays = new Map<string, Reply[]>()
  let refusing = false
  const home = await embeddedHome(fake.base, {
    ...(options.clarify === undefined ? {} : { clarify: options.clarify }),
    wrap: (models) => ({
      ...models,
      endpoint: async (profile, model) => {
        const endpoint = await models.endpoint(profile, model)
        return refusing && endpoint.state === 'ready' ? { ...endpoint, baseUrl: `http://127.0.0.1:${gone}/v1` } : endpoint
      },
    }),
  })
  fake.answer = (request) => plays.get(lastPlay(request))?.[stepOf(request)] ?? null
  const rig = agentRig(home.agent, 'embedded', { ...options, profile: home.profile, folder: home.folder })
  return {
    ...rig,
    message: (cues) => {
      if (cues.some((cue) => cue.cue === 'later' || (cue.cue === 'tools' && cue.calls.some((call) => call.tool === 'shell' && call.ms !== undefined)))) return null
      refusing = cues.some((cue) => cue.cue === 'problem' && cue.kind === 'refused')
      const name = `play-${plays.size + 1}`
      plays.set(name, replies(cues))
      return `Please ${name}.`
    },
    told: (words) => JSON.stringify(fake.asked()).includes(JSON.stringify(words).slice(1, -1)),
    leftovers: async () => home.alive().length,
    close: async () => {
      await rig.close()
      await home.end()
      await fake.close()
      rmSync(home.folder, { recursive: true, force: true })
    },
  }
})

interface Said { role: string; content: unknown }

/** Which play the person asked for last; words into the turn name none. */
function lastPlay(request: SeenRequest): string {
  return JSON.stringify(request.body.messages).match(/play-\d+/g)?.pop() ?? ''
}

/** How many messages of the model stand behind that. */
function stepOf(request: SeenRequest): number {
  const messages = request.body.messages as Said[]
  const asked = messages.findLastIndex((m) => m.role === 'user' && /play-\d+/.test(String(m.content)))
  return messages.slice(asked).filter((m) => m.role === 'assistant').length
}

/** One reply of the model for each step: tools end one. */
function replies(cues: Cue[]): Reply[] {
  const out: Reply[] = []
  let pieces: Piece[] = []
  const end = (finish: string): void => {
    out.push({ pieces: [...pieces, event(delta({}, finish)), 'data: [DONE]\n\n'] })
    pieces = []
  }
  for (const cue of cues) {
    switch (cue.cue) {
      case 'text':
        pieces.push(...cue.deltas.map((content) => event(delta({ content }))))
        break
      case 'reasoning':
        pieces.push(...cue.deltas.map((reasoning_content) => event(delta({ reasoning_content }))))
        break
      case 'bytes':
        pieces.push(...[...Buffer.from(event(delta({ content: cue.text })))].map((byte) => Uint8Array.of(byte)))
        break
      case 'tools':
        pieces.push(...callChunks(...cue.calls.map((call, i) => ({ id: `c${i}`, ...toolCall(call) }))).slice(0, -1).map(event))
        end('tool_calls')
        break
      case 'clarify':
        pieces.push(...callChunks({ id: 'q', name: 'ask_person', args: { question: cue.question, choices: cue.choices } }).slice(0, -1).map(event))
        end('tool_calls')
        break
      case 'later':
        break
      case 'silence':
        out.push({ pieces: [...pieces, 'HANG'] })
        return out
      case 'problem':
        out.push({ ...PROBLEMS[cue.kind], pieces: [...pieces, ...PROBLEMS[cue.kind].pieces] })
        return out
    }
  }
  end('stop')
  return out
}

function toolCall(call: ToolCue): { name: string; args: Record<string, unknown> } {
  switch (call.tool) {
    case 'read':
    case 'read_missing':
      return { name: 'read', args: { path: call.file } }
    case 'unknown':
      return { name: call.name, args: {} }
    case 'write':
      return { name: 'write', args: { path: call.file, content: call.text } }
    case 'shell':
      return { name: 'shell', args: { command: call.command } }
    case 'slow':
      return { name: 'shell', args: { command: 'sleep 20' } }
  }
}

const json = (status: number, message: string, type: string): Reply => ({ status, headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify({ error: { message, type } })] })

const PROBLEMS: Record<ProblemKind, Reply> = {
  unauthorized: json(401, 'Incorrect API key provided', 'invalid_request_error'),
  rate_limited: json(429, 'Rate limit reached', 'rate_limit_error'),
  server_error: json(500, 'The server had an error', 'server_error'),
  refused: { pieces: [] },
  hang: { pieces: ['HANG'] },
  empty: { pieces: [event(delta({ role: 'assistant', content: '' })), event(delta({}, 'stop')), 'data: [DONE]\n\n'] },
  cut: { pieces: ['RESET'] },
  malformed: { pieces: ['data: {"this is not json\n\n', 'data: }{\n\n'] },
}
