import type { PlanEntry } from '../../contract/rows'
import type { Usage } from '../../contract/session'
import type { AgentEvent, TurnEnd } from '../port'
import { Delegated } from './delegated'
import { hermesProblem, noReply } from './problem'
import type { HermesEvent, Payload } from './protocol/events'
import { keptApproval, keptClarify, raisedOf, raisedSecret } from './questions'
import { Repeat } from './repeat'
import { Spoken } from './spoken'
import { closingOf, described, headOf } from './tools'

export interface HermesTurnParts {
  /** Server's ms. */
  now(): number
  cwd: string
  /** ms that an approval waits in Hermes. */
  approvals: number
  /** Whether Hermes has a tool of this name; undefined: not known. */
  has(tool: string): boolean | undefined
  /** A handle for a question that has no id. */
  handle(): string
}

interface Tool { call: string; name: string; command: string | undefined; shown: boolean; questions: Set<string>; changed: boolean }

/**
 * One turn of Hermes: its events as ours. Every trap of spec/hermes-rpc.md §0 and §9 that lies in the events of a turn is handled here and in what this
 * is made of (`hermes.md` says where). No I/O; time is a parameter.
 */
export class HermesTurn {
  readonly #p: HermesTurnParts
  readonly #spoken = new Spoken()
  readonly #delegated = new Delegated()
  /** By Hermes' ids. */
  #tools = new Map<string, Tool>()
  /** Calls that were used: some model servers count them anew in each step. */
  #used = new Set<string>()
  /** Tools that the model has named and that have not begun. */
  #named: string[] = []
  /** Clarifying questions of before our restart, whose call is not known. */
  #again = new Set<string>()
  /** What it has thought in this model call. */
  #thought = ''
  #rethought = new Repeat()
  #end: TurnEnd | null = null
  #error: string | null = null
  #limit = false
  #context: Pick<Usage, 'contextUsed' | 'contextSize'> = {}

  constructor(parts: HermesTurnParts) {
    this.#p = parts
  }

  /** Set once Hermes has said how the turn ended; the session may still be busy with it for some ms (trap 5). */
  get end(): TurnEnd | null {
    return this.#end ?? (this.#error === null ? null : { outcome: 'failed', problem: hermesProblem(this.#error, 'error') })
  }

  /** How full the model's context is, as far as Hermes has said. */
  get context(): Pick<Usage, 'contextUsed' | 'contextSize'> {
    return this.#context
  }

  /** Hermes' ids of the tools that run: only while there is one does a word into the turn reach the model (trap 8). */
  get open(): string[] {
    return [...this.#tools.keys()]
  }

  /** Everything that was streamed, as `inflight.assistant` counts it. */
  get streamed(): string {
    return this.#spoken.all
  }

  /** Goes on after our restart: what was streamed until now, the tools that still run, and every call that was shown. */
  resume(streamed: string, open: readonly { call: string; name: string }[], shown: Iterable<string>): void {
    this.#spoken.all = streamed
    for (const { call, name } of open) this.#tools.set(call, { call, name, command: undefined, shown: true, questions: new Set(), changed: true })
    for (const call of shown) this.#used.add(call)
  }

  hear(event: HermesEvent): AgentEvent[] {
    switch (event.type) {
      case 'message.delta':
        return [...this.#unknown(), ...this.#spoken.say(event.payload.text)]
      case 'reasoning.delta': {
        const fresh = this.#rethought.take(this.#thought, event.payload.text)
        if (fresh === '') return []
        this.#thought += fresh
        this.#spoken.part()
        return [...this.#unknown(), { type: 'reasoning', delta: fresh }]
      }
      case 'thinking.delta':
        // A phrase at the beginning of each model call, and nothing that anybody thinks (trap 7).
        return event.payload.text === '' ? [] : this.#called()
      case 'message.interim':
        this.#callOver()
        return this.#spoken.interim(event.payload.text)
      case 'message.complete':
        return this.#complete(event.payload)
      case 'error':
        // The first of several counts; it may be the only end (trap 3).
        this.#error ??= event.payload.message ?? ''
        return []
      case 'tool.generating':
        this.#named.push(event.payload.name)
        return []
      case 'tool.start':
        return this.#start(event.payload)
      case 'tool.complete':
        return this.#closed(event.payload)
      case 'approval.request':
        return this.#approval(event.payload)
      case 'clarify.request': {
        this.#spoken.part()
        const raised = raisedOf(event.payload.request_id, keptClarify(event.payload, this.#p.now()), this.#p.cwd)
        this.#newest((tool) => tool.name === 'clarify')?.questions.add(raised.question)
        return [raised]
      }
      case 'sudo.request':
      case 'secret.request': {
        this.#spoken.part()
        const tool = this.#newest((each) => event.type !== 'sudo.request' || each.command !== undefined)
        const raised = raisedSecret(event, tool?.command, this.#p.now())
        tool?.questions.add(raised.question)
        return [raised]
      }
      case 'sudo.expire':
      case 'secret.expire':
        return [{ type: 'question.withdrawn', question: event.payload.request_id, why: 'expired' }]
      case 'status.update':
        return this.#status(event.payload)
      case 'subagent.start':
      case 'subagent.thinking':
      case 'subagent.tool':
      case 'subagent.progress':
      case 'subagent.complete':
        return this.#delegated.hear(event)
      // The session's: who it is, and where turns begin. A second beginning is none (trap 4).
      case 'session.info':
      case 'session.title':
      case 'message.start':
        return []
    }
  }

  /** A question of before our restart is raised again, under its own handle. */
  asked(call: string | undefined, question: string): void {
    const tool = call === undefined ? this.#newest((each) => each.name === 'clarify') : [...this.#tools.values()].find((each) => each.call === call)
    if (tool) tool.questions.add(question)
    else this.#again.add(question)
  }

  /** Nothing more comes: sub-agents and what was put off for them end. */
  close(): AgentEvent[] {
    return [...(this.end?.outcome === 'completed' ? this.#unknown() : []), ...this.#delegated.close()]
  }

  #callOver(): void {
    this.#thought = ''
    this.#rethought.end()
  }

  #called(): AgentEvent[] {
    const events = this.#unknown()
    this.#rethought.begin(this.#thought)
    this.#spoken.call()
    return events
  }

  /** What the model named and Hermes did not run when it goes on: there is no such tool (recording 02). One that it has was cut off in a call that is tried again. */
  #unknown(): AgentEvent[] {
    if (this.#named.length === 0 || this.#tools.size > 0) return []
    const names = this.#named.filter((name) => this.#p.has(name) !== true)
    this.#named = []
    return names.flatMap((name): AgentEvent[] => {
      const call = this.#fresh(`unknown ${name}`)
      this.#spoken.tool()
      return [{ type: 'tool.started', call, name, verb: 'other' }, { type: 'tool.closed', call, state: 'failed', result: `Hermes Agent has no tool “${name}”.` }]
    })
  }

  #start(payload: Payload<'tool.start'>): AgentEvent[] {
    const at = this.#named.indexOf(payload.name)
    if (at >= 0) this.#named.splice(at, 1)
    if (this.#tools.has(payload.tool_id)) return []
    const head = headOf(payload, this.#p.cwd)
    const call = this.#fresh(payload.tool_id)
    const command = typeof head.args?.command === 'string' ? head.args.command : undefined
    // A clarifying question has a row of its own that says everything about the call.
    const shown = payload.name !== 'clarify'
    this.#tools.set(payload.tool_id, { call, name: payload.name, command, shown, questions: new Set(), changed: head.args === undefined })
    this.#callOver()
    this.#spoken.tool()
    if (payload.name === 'delegate_task') this.#delegated.began(call)
    return shown ? [{ type: 'tool.started', call, name: payload.name, ...head }] : []
  }

  #closed(payload: Payload<'tool.complete'>): AgentEvent[] {
    const known = this.#tools.get(payload.tool_id)
    // It was read from the store already, after a loss.
    if (!known && this.#used.has(payload.tool_id)) return []
    const before = known ? [] : this.#start({ tool_id: payload.tool_id, name: payload.name, context: undefined, args_text: undefined })
    const tool = known ?? this.#tools.get(payload.tool_id)!
    this.#tools.delete(payload.tool_id)
    const asked = payload.name === 'clarify' ? [...tool.questions, ...this.#again] : [...tool.questions]
    if (payload.name === 'clarify') this.#again.clear()
    const withdrawn = asked.map((question): AgentEvent => ({ type: 'question.withdrawn', question, why: 'expired' }))
    if (!tool.shown) return [...before, ...withdrawn]
    const changes: AgentEvent[] = payload.args ? [{ type: 'tool.changed', call: tool.call, change: { args: payload.args, ...(tool.changed ? targetOf(payload, this.#p.cwd) : {}) } }] : []
    const end = { type: 'tool.closed' as const, call: tool.call, ...closingOf(payload) }
    const closed = tool.name === 'delegate_task' ? this.#delegated.ended(tool.call, payload, end) : end
    return [...before, ...withdrawn, ...changes, ...planOf(payload), ...(closed ? [closed] : [])]
  }

  /** It names no tool: it is the one that has this command, else the newest (recording 04). */
  #approval(payload: Payload<'approval.request'>): AgentEvent[] {
    this.#spoken.part()
    const tool = this.#newest((each) => each.command === payload.command) ?? this.#newest(() => true)
    const kept = keptApproval(payload, this.#p.now(), this.#p.approvals, { name: tool?.name ?? 'terminal', ...(tool?.shown ? { call: tool.call } : {}) })
    return [raisedOf(this.#p.handle(), kept, this.#p.cwd)]
  }

  #status({ kind, text }: Payload<'status.update'>): AgentEvent[] {
    if (text === undefined || text === '') return []
    if (/iteration budget exhausted/i.test(text)) this.#limit = true
    // `process` begins a turn of its own; `status` says that nothing is to be said; a failure is said by the turn's end.
    if (kind !== 'lifecycle' && kind !== 'compacting' && kind !== 'compressing') return []
    return text.startsWith('❌') ? [] : [{ type: 'notice', code: kind === 'lifecycle' ? 'agent_note' : 'agent_compacts', words: text }]
  }

  #complete({ text = '', status, reasoning, usage, warning }: Payload<'message.complete'>): AgentEvent[] {
    if (usage?.context_used !== undefined && usage.context_max !== undefined) this.#context = { contextUsed: usage.context_used, contextSize: usage.context_max }
    const noted = warning ? [{ type: 'notice' as const, code: 'agent_note', words: warning }] : []
    const none = status === 'complete' ? noReply(text) : null
    if (status === 'interrupted') this.#end ??= { outcome: 'interrupted', problem: { code: 'interrupted' } }
    else if (status === 'error') this.#end ??= { outcome: 'failed', problem: this.#spoken.isStreamed(text) ? { code: 'provider_error' } : hermesProblem(text.replace(/^Error: /, ''), 'provider_error') }
    else if (none === 'empty' || (text.trim() === '' && !this.#spoken.any && this.#spoken.all.trim() === '')) this.#end ??= { outcome: 'failed', problem: { code: 'no_response', ...(text.trim() === '' ? {} : { words: text }) } }
    else this.#end ??= { outcome: 'completed', ...(none === 'limit' || this.#limit ? { reason: 'limit' } : {}) }
    if (this.#end.outcome !== 'completed') return noted
    // Think tags in the text were not streamed; their content comes here alone (spec/hermes-rpc.md §9).
    const thought: AgentEvent[] = reasoning && this.#thought === '' ? [{ type: 'reasoning', delta: reasoning }] : []
    return [...this.#unknown(), ...(this.#spoken.any ? [] : thought), ...this.#spoken.complete(text), ...(this.#spoken.any ? thought : []), ...noted]
  }

  #newest(fits: (tool: Tool) => boolean): Tool | undefined {
    return [...this.#tools.values()].findLast(fits)
  }

  #fresh(id: string): string {
    let call = id
    for (let n = 2; this.#used.has(call); n++) call = `${id} (${n})`
    this.#used.add(call)
    return call
  }
}

function targetOf(payload: Payload<'tool.complete'>, cwd: string): { target?: string } {
  const { target } = described(payload.name, payload.args, cwd)
  return target === undefined ? {} : { target }
}

const STATES: Record<string, PlanEntry['state']> = { pending: 'pending', in_progress: 'active', completed: 'done', cancelled: 'cancelled' }

function planOf({ todos }: Payload<'tool.complete'>): AgentEvent[] {
  return todos ? [{ type: 'plan', entries: todos.map(({ content, status }) => ({ text: content, state: STATES[status ?? ''] ?? 'pending' })) }] : []
}
