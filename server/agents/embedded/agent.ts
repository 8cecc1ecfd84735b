import type { RunProblem, RunProblemCode } from '../../contract/problems'
import type { EndpointMissing, Models } from '../../models/port'
import { makeCaller } from '../../models/http'
import type { ProfileContext } from '../../profiles/context'
import type { ProcessTable } from '../../runs/processes'
import type { Agent, AgentEvent, AgentSession, Capability, Delivery, ModelOffer, Opening, Sink, Timers, TurnEnd, TurnInput } from '../port'
import { allowanceOf, allows } from './allowance'
import type { AllowedFile } from './allowed'
import { givenBy, withPictures } from './given'
import { type LoopInput, runLoop } from './loop'
import { fromStored, type Message } from './messages'
import { systemPrompt } from './prompt'
import { makeProvider, type Provider } from './provider'
import { closedPlaces } from './tools/area'
import { makeTools } from './tools/catalogue'
import type { Processes } from './tools/child'
import { rootOf } from './tools/confine'
import type { Tool } from './tools/tool'
import { Waiting } from './waiting'
import { Words } from './words'

/** Name of the agent towards people and in `agent.bound`. */
export const EMBEDDED = { kind: 'embedded', name: 'Talaria' } as const

const CAPABILITIES: Capability[] = ['reasoning', 'tool_arguments', 'tool_results', 'diffs', 'approvals', 'clarify', 'steer', 'stop', 'models', 'usage', 'workspace']

export interface EmbeddedDeps {
  models: Models
  timers: Timers
  /** Where started process groups are recorded: `store.noteProcess`, `store.forgetProcess`. */
  processes: Processes
  table: Pick<ProcessTable, 'bootId' | 'startTime'>
  /** The server's environment, of which commands get an allowed part. */
  env: Readonly<Record<string, string | undefined>>
  version: string
  /** Folders that file tools never enter: where this server keeps keys. */
  closed?: readonly string[]
  /** ms that a model may be silent; 10 minutes (spec/agents.md §4). */
  silence?: number
  /** Steps of a turn. */
  steps?: number
  /** What people allowed beyond once. */
  allowed: AllowedFile
  /** ms that a question of the model waits for an answer; an hour (spec/settlement.md §7.6). */
  clarify?: number
}

/** ms after which a model's question is answered with its own judgement. */
const CLARIFY = 3_600_000

/**
 * The agent that needs no other software (spec/agents.md §1): our loop over a model endpoint, with the workspace tools. Its history is the context that
 * `runs/` keeps; it is read anew at each turn, so that a retry or an edit needs nothing of this adapter.
 */
export function makeEmbedded(deps: EmbeddedDeps): Agent {
  const caller = makeCaller()
  const provider = makeProvider({ call: caller.call, timers: deps.timers, silence: deps.silence ?? 600_000 })
  const tools = makeTools({ timers: deps.timers, processes: deps.processes, table: deps.table, env: deps.env })
  const open = new Set<AgentSession>()
  return {
    kind: 'embedded',
    probe: async (profile) => {
      const model = await deps.models.defaultModel(profile)
      if (!model || model.provider === 'scripted') return { state: 'unavailable', code: 'no_model', words: (await deps.models.status(profile)).reason ?? 'No model is connected.' }
      return { state: 'ready', agent: { ...EMBEDDED, version: deps.version }, capabilities: CAPABILITIES, model }
    },
    open: async (opening, sink) => {
      const session = openSession(deps, provider, tools, opening, sink, () => open.delete(session))
      open.add(session)
      return session
    },
    models: (profile) => offers(deps.models, profile),
    end: async () => {
      await Promise.all([...open].map((session) => session.close()))
      await caller.end()
    },
  }
}

async function offers(models: Models, profile: ProfileContext): Promise<ModelOffer[]> {
  const { groups } = await models.offers(profile)
  return groups
    .filter((group) => group.source !== 'scripted')
    .flatMap((group) => [...group.models, ...group.extra_models].map((m) => ({ ref: { provider: group.provider_id, id: m.id }, label: m.label, contextSize: m.context_size })))
}

/** One live turn. */
interface Live { abort: AbortController; reason: 'person' | 'server' | 'delete' | 'store_failed' | null; waiting: Waiting; words: Words; ended: Promise<void> }

function openSession(deps: EmbeddedDeps, provider: Provider, tools: Tool[], opening: Opening, sink: Sink, closed: () => void): AgentSession {
  let live: Live | null = null
  let asked = 0

  const turn = async (input: TurnInput): Promise<TurnEnd> => {
    if (live) return { outcome: 'failed', problem: { code: 'error', words: 'Another turn of this chat is still running.' } }
    let done = (): void => undefined
    const now: Live = { abort: new AbortController(), reason: null, waiting: new Waiting(deps.timers), words: new Words(), ended: new Promise((resolve) => (done = resolve)) }
    live = now
    const emit = async (event: AgentEvent): Promise<void> => void (await sink(event))
    const who = { profile: opening.profile.name, session: opening.session }
    const io: TurnIo = {
      emit,
      signal: now.abort.signal,
      words: now.words,
      ask: async (call, request) => {
        const question = `${input.run}:${++asked}`
        const said = now.waiting.wait(question, 'choice', request.choices.map((choice) => choice.id))
        if (!now.abort.signal.aborted) await emit({ type: 'question.raised', question, call, request })
        const answer = await said
        return answer.kind === 'choice' ? answer.choice : 'stopped'
      },
      clarify: async (request, raised) => {
        const question = `${input.run}:${++asked}`
        const ms = deps.clarify ?? CLARIFY
        const said = now.waiting.wait(question, 'words', [], ms)
        await emit({ type: 'clarify.raised', question, request: { ...request, deadline: deps.timers.now() + ms } })
        await raised()
        const answer = await said
        if (answer.kind === 'over') await emit({ type: 'question.withdrawn', question, why: 'expired' })
        return answer.kind === 'words' ? { words: answer.words } : answer.kind === 'over' ? { words: null } : 'stopped'
      },
      allowed: async (deed) => allows(await deps.allowed.list(), who, deed),
      keepAllowed: async (choice, deed) => {
        const allowance = allowanceOf(choice, who, deed, deps.timers.now())
        if (allowance) await deps.allowed.add(allowance)
      },
    }
    try {
      const end = await begin(deps, provider, tools, opening, input, io)
      return now.reason === 'server' || now.reason === 'store_failed' ? { ...end, outcome: 'interrupted' } : end
    } catch (error) {
      return { outcome: 'failed', problem: { code: 'error', words: (error as Error).message.slice(0, 1200) } }
    } finally {
      live = null
      done()
    }
  }
  const stop = async (reason: 'person' | 'server' | 'delete' | 'store_failed'): Promise<void> => {
    if (!live) return
    live.reason ??= reason
    live.abort.abort()
    live.waiting.stop()
  }
  const decide = async (question: string, choice: string): Promise<Delivery> => {
    if (!live) return { state: 'refused', code: 'not_running' }
    return delivered(live.abort.signal.aborted ? 'gone' : live.waiting.choose(question, choice))
  }
  const answer = async (question: string, text: string): Promise<Delivery> => {
    if (!live) return { state: 'refused', code: 'not_running' }
    return delivered(live.abort.signal.aborted ? 'gone' : live.waiting.answer(question, text))
  }
  const steer = async (id: string, text: string): Promise<Delivery> => {
    if (!live || live.abort.signal.aborted) return { state: 'refused', code: 'not_running' }
    live.words.put(id, text)
    return { state: 'delivered' }
  }
  return {
    turn, decide, answer, steer, stop,
    close: async () => {
      const last = live?.ended
      await stop('server')
      await last
      closed()
    },
  }
}

function delivered(how: 'taken' | 'gone' | 'not_offered'): Delivery {
  if (how === 'taken') return { state: 'delivered' }
  return { state: 'refused', code: how === 'gone' ? 'question_gone' : 'unsupported' }
}

type TurnIo = LoopInput['io'] & { words: Words }

async function begin(deps: EmbeddedDeps, provider: Provider, tools: Tool[], opening: Opening, input: TurnInput, io: TurnIo): Promise<TurnEnd> {
  const keep = (messages: Message[]): Promise<void> => io.emit({ type: 'context', messages })
  const stored = fromStored(await opening.context())
  // Of an earlier attempt at this turn only the person's message may stand.
  const before = stored.filter((item) => item.turn !== input.turn).map((item) => item.message)
  const kept = stored.some((item) => item.turn === input.turn && item.message.role === 'user')
  const { message, notices } = await givenBy(input.text, input.attachments ?? [])
  const history = await withPictures([...before, message])
  if (!kept) await keep([message])
  for (const notice of notices) await io.emit(notice)

  let root: string
  try {
    root = await rootOf(opening.cwd)
  } catch (error) {
    return failed('error', (error as Error).message)
  }
  const model = input.model ?? opening.model ?? (await deps.models.defaultModel(opening.profile))
  if (!model) return failed('no_model', (await deps.models.status(opening.profile)).reason ?? 'No model is connected.')
  const endpoint = await deps.models.endpoint(opening.profile, model)
  if (endpoint.state === 'missing') return { outcome: 'failed', problem: problemOf(endpoint) }

  const used = new Set(stored.flatMap(({ message }) => (message.role === 'assistant' ? (message.calls ?? []).map((call) => call.id) : [])))
  return await runLoop({
    provider, endpoint, tools, history, io, keep, words: io.words, steps: deps.steps,
    scope: { area: { root, closed: await closedPlaces(opening.profile.home, deps.closed ?? []) }, session: opening.session, run: input.run },
    system: systemPrompt({ root, tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })), today: new Date(deps.timers.now()).toISOString().slice(0, 10) }),
    callId: (given, step) => {
      const id = used.has(given) ? `${given}_${input.run.slice(-6)}_${step}` : given
      let unique = id
      for (let n = 2; used.has(unique); n++) unique = `${id}_${n}`
      used.add(unique)
      return unique
    },
  })
}

function problemOf(missing: EndpointMissing): RunProblem {
  const code: RunProblemCode = missing.code === 'needs_key' || missing.code === 'sign_in' ? 'auth_mismatch' : missing.code === 'model_unknown' ? 'model_not_found' : missing.code === 'no_model' ? 'no_model' : 'agent_unavailable'
  return { code, words: missing.words, ...(missing.hint !== undefined && { hint: missing.hint }) }
}

function failed(code: RunProblemCode, words: string): TurnEnd {
  return { outcome: 'failed', problem: { code, words } }
}
