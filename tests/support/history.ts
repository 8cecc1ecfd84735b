import fc from 'fast-check'
import type { Attachment } from '../../server/contract/attachments'
import type { ApprovalRequest } from '../../server/contract/approvals'
import type { Draft, Event, RowOpened } from '../../server/contract/events'
import { posAfter } from '../../server/contract/ids'
import type { ClarifyRequest, SecretRequest } from '../../server/contract/questions'
import type { PlanEntry, RowState } from '../../server/contract/rows'
import type { AgentRef, RunOutcome } from '../../server/contract/session'
import type { Append } from '../../server/store/port'

/** A history that a sound server could have written: whole appends in order, each valid after the ones before it. */
export interface History { session: string; appends: Append[] }

/** What a history does next; `a` and `b` choose among what is possible then. */
interface Step { op: Op; a: number; b: number; join: boolean }

const OPS = [
  'grow', 'thought', 'answer', 'tool', 'close', 'raise', 'decide', 'withdraw', 'cut', 'change', 'notice', 'question', 'clarify', 'secret', 'reply', 'steer', 'hear', 'plan', 'bind', 'usage', 'stop', 'settle',
  'admit', 'enqueue', 'arrange', 'rename', 'flag', 'undo',
] as const
type Op = (typeof OPS)[number] | 'delete'
/** Growth and rows are common, ends are rare enough that runs get long. */
const WEIGHTS: Partial<Record<Op, number>> = { grow: 9, thought: 2, answer: 3, tool: 4, close: 4, raise: 4, decide: 3, reply: 3, hear: 2, settle: 4, admit: 2, enqueue: 2, arrange: 2 }
const CHOICES: Op[] = OPS.flatMap((op) => Array.from({ length: WEIGHTS[op] ?? 1 }, () => op))
/** One integer per step, since thousands of histories are made: the operation, two choices of 0…63, and whether the append goes on. */
const STEP: fc.Arbitrary<Step> = fc
  .integer({ min: 0, max: CHOICES.length * 64 * 64 * 2 - 1 })
  .map((n) => ({ op: CHOICES[n % CHOICES.length]!, a: Math.floor(n / CHOICES.length) % 64, b: Math.floor(n / CHOICES.length / 64) % 64, join: n >= CHOICES.length * 64 * 64 }))

const TEXTS = ['a', ' the next words', '\n\n# Head\n', '```ts\nlet x = 1\n', '雪が降る。', '👩‍👩‍👧', 'é', '<b>&amp;</b>', 'x'.repeat(300), '| a | b |\n']
const AGENT: AgentRef = { kind: 'scripted', name: 'Scripted', version: '1' }
const REQUEST: ApprovalRequest = {
  action: 'Run a command', command: 'make all', tool: 'shell', cwd: '/w', risk: 'high', choices: [{ id: 'y', kind: 'once' }, { id: 'n', kind: 'deny' }],
}
const CLARIFY: ClarifyRequest = { question: 'Which?', choices: ['left', 'right'], free: true, deadline: 1_700_000_900_000 }
const SECRET: SecretRequest = { kind: 'secret', prompt: 'The key', env: 'KEY' }

/**
 * Histories of one session. `steps` bounds their length; `deletable` lets some end with the session's deletion. Texts are well-formed UTF-16, so
 * that they survive any store.
 */
export function arbitraryHistory(options: { steps?: number; deletable?: boolean; session?: string } = {}): fc.Arbitrary<History> {
  const session = options.session ?? 'ses_1'
  const most = options.steps ?? 40
  return fc
    .tuple(fc.noBias(fc.array(STEP, { minLength: Math.ceil(most / 3), maxLength: most, size: 'max' })), fc.nat(9))
    .map(([steps, end]) => historyOf(session, options.deletable !== false && end === 0 ? [...steps, { op: 'delete', a: 0, b: 0, join: false }] : steps))
}

/** `cuts`: lengths at which the text may be cut without halving a character. */
interface Live {
  row: string
  kind: 'thought' | 'answer' | 'tool' | 'question' | 'steer' | 'plan'
  length: number
  cuts: number[]
  asks?: { kind: 'approval' | 'clarify' | 'secret'; id: string; state: 'open' | 'answered' | 'retired' }
  steer?: string
}
/** Which live rows an operation can be done to. */
const FITS: Partial<Record<Op, (row: Live) => boolean>> = {
  grow: speaks, cut: speaks, change: ({ kind }) => kind === 'tool', raise: ({ kind, asks }) => (kind === 'tool' || kind === 'question') && asks?.state !== 'open',
  decide: ({ asks }) => asks?.kind === 'approval' && asks.state === 'open', reply: ({ asks }) => asks !== undefined && asks.kind !== 'approval' && asks.state === 'open',
  withdraw: ({ asks }) => asks !== undefined && asks.state !== 'retired', hear: ({ kind }) => kind === 'steer', close: ({ kind, asks }) => asks?.state !== 'open' && kind !== 'steer',
}
function speaks({ kind }: Live): boolean {
  return kind === 'thought' || kind === 'answer'
}

interface RunState { id: string; stopping: boolean; live: Live[]; planned: boolean }
/** `left`: rows that the end of the last run closed, which a re-attached one may open again. */
interface TurnState { id: string; row: string; attempts: number; rows: string[]; answers: Set<string>; last?: RunOutcome; left: Live[] }

/** A little session machine: does what a step asks, or something near it that is possible now, or nothing. */
class Machine {
  readonly appends: Append[] = []
  #seq = 0
  #n = 0
  #pos = ''
  #ids = 0
  #generation = 0
  #deleted = false
  #turns: TurnState[] = []
  #run: RunState | null = null
  #queue: string[] = []
  #drafts: Draft[] = []
  #beside: { id: string; foreign: string }[] = []
  #fence: number | undefined

  constructor(readonly session: string) {
    this.#drafts.push({ type: 'session.created', title: 'New chat', titleBy: 'provisional', profile: 'default', workspace: '/w', agent: null, model: null, source: 'talaria' })
    this.flush()
  }

  do({ op, a, b }: Step): void {
    if (this.#deleted) return
    if (op === 'rename') return void this.#drafts.push({ type: 'session.changed', title: `Title ${a}`, titleBy: 'person' })
    if (op === 'flag') return this.#flag(a, b)
    if (op === 'enqueue') return void this.#enqueue(TEXTS[a % TEXTS.length]!, 'person', b % 3 ? undefined : this.#queue[b % Math.max(1, this.#queue.length)], a % 7 === 0)
    if (op === 'arrange') return this.#arrange(a, b)
    if (op === 'bind') return this.#bind(a, b)
    const turn = this.#turns[this.#turns.length - 1]
    if (this.#run && turn) this.#busy(op, a, b, this.#run, turn)
    else this.#idle(op, a, b, turn)
  }

  /** An append holds events of one generation only, so nothing joins behind the end of a run. */
  get joinable(): boolean {
    return this.#drafts[this.#drafts.length - 1]?.type !== 'run.settled'
  }

  /** Ends the append; the next step begins another. */
  flush(): void {
    if (this.#drafts.length === 0) return
    const events = this.#drafts.map((draft) => ({ ...draft, session: this.session, seq: ++this.#seq, at: 1_700_000_000_000 + this.#seq * 7 }) as Event)
    this.#drafts = []
    const append: Append = { session: this.session, expectSeq: events[0]!.seq, events, urgency: events.every(({ type }) => type === 'row.grew') ? 'soon' : 'now' }
    if (this.#fence !== undefined) append.generation = this.#fence
    if (this.#beside.length > 0) append.beside = this.#beside
    this.#beside = []
    this.appends.push(append)
    if (!this.#run) this.#fence = undefined
  }

  #idle(op: Op, a: number, b: number, turn: TurnState | undefined): void {
    if (op === 'undo' && turn) {
      this.#drafts.push({ type: 'rows.retracted', rows: [turn.row, ...turn.rows], turns: [turn.id], why: 'undo', counted: 1 + turn.answers.size })
      this.#turns.pop()
    } else if (op === 'delete') {
      this.#drafts.push({ type: 'session.deleted' })
      this.#deleted = true
    } else if (turn?.last === 'interrupted' && b % 2) this.#start(turn, 'reattached', turn.left.filter((_, i) => (a >> i) % 2 === 0))
    else if (turn && turn.last !== 'completed' && a % 2) {
      if (turn.rows.length > 0) this.#drafts.push({ type: 'rows.retracted', rows: turn.rows, turns: [], why: 'retry', by: turn.id, counted: turn.answers.size })
      turn.rows = []
      turn.answers = new Set()
      this.#start(turn, 'retried')
    } else if (op !== 'grow') {
      if (this.#turns.length === 0) this.#drafts.push({ type: 'agent.bound', agent: AGENT, why: 'first' })
      const opening = this.#opening('')
      const admitted: TurnState = { id: this.#mint('trn'), row: opening.row, attempts: 0, rows: [], answers: new Set(), left: [] }
      this.#turns.push(admitted)
      const item = b % 2 ? this.#queue.shift() : undefined
      if (item) this.#drafts.push({ type: 'queue.taken', item, turn: admitted.id })
      const source = item ? 'queue' : a % 5 ? 'person' : 'agent'
      this.#drafts.push({ type: 'turn.admitted', turn: admitted.id, row: opening.row, n: opening.n, pos: opening.pos, text: TEXTS[a % TEXTS.length]!, source, ...filesOf(a) })
      this.#start(admitted, 'sent')
    }
  }

  #busy(op: Op, a: number, b: number, { id: run, live, stopping }: RunState, turn: TurnState): void {
    const fitting = live.filter((row) => FITS[op]?.(row) ?? true)
    const row = fitting[a % Math.max(1, fitting.length)]
    const text = TEXTS[b % TEXTS.length]!
    const kept = { run, row: row?.row ?? '' }
    if (op === 'thought' || op === 'answer' || op === 'question') {
      if (live.length >= 4) return
      const first = op !== 'question' && b % 3 > 0 ? text : ''
      this.#open(turn, { row: '', kind: op, length: first.length, cuts: [0] }, { ...this.#opening(turn.id, run), kind: op, ...(first ? { text: first } : {}) })
    } else if (op === 'tool') {
      if (live.length >= 4) return
      const parent = live.find(({ kind }) => kind === 'tool')
      this.#open(turn, { row: '', kind: 'tool', length: 0, cuts: [0] }, {
        ...this.#opening(turn.id, run), kind: 'tool', ...(parent && b % 2 ? { parent: parent.row } : {}),
        tool: { call: `call_${this.#ids}`, name: 'read_file', verb: 'read', target: `f${a}.ts`, args: { path: `f${a}.ts`, limit: b } },
      })
    } else if (op === 'clarify' || op === 'secret') {
      if (live.length >= 4) return
      this.#open(turn, { row: '', kind: 'question', length: 0, cuts: [0] }, { ...this.#opening(turn.id, run), kind: 'question' })
      this.#ask(op, this.#run!.live.at(-1)!, run, b)
    } else if (op === 'steer') {
      if (live.length >= 4 || stopping) return
      const steer = this.#mint('str')
      this.#open(turn, { row: '', kind: 'steer', length: 0, cuts: [0], steer }, { ...this.#opening(turn.id, run), kind: 'steer', text })
      this.#drafts.push({ type: 'steer.accepted', steer, row: this.#run!.live.at(-1)!.row, run })
    } else if (op === 'plan') {
      const plan: PlanEntry[] = Array.from({ length: b % 3 }, (_, i) => ({ text: `Step ${a}.${i}`, state: i === 0 ? 'active' : 'pending' }))
      const held = live.find(({ kind }) => kind === 'plan')
      if (held) this.#drafts.push({ type: 'plan.replaced', row: held.row, run, plan })
      else if (!this.#run!.planned) {
        this.#run!.planned = true
        this.#open(turn, { row: '', kind: 'plan', length: 0, cuts: [0] }, { ...this.#opening(turn.id, run), kind: 'plan', plan })
      }
    } else if (op === 'notice') {
      this.#open(turn, null, { ...this.#opening(turn.id, run), kind: 'notice', notice: { code: 'chunk_skipped', params: { n: a }, words: text } })
    } else if (op === 'delete') {
      if (!stopping) this.#drafts.push({ type: 'run.stopping', run, turn: turn.id, by: 'delete' })
      this.#settle(turn, 'cancelled', b)
      this.#idle('delete', a, b, turn)
    } else if (op === 'usage') {
      this.#drafts.push({ type: 'usage.reported', run, turn: turn.id, usage: { input: a, output: b } })
    } else if (op === 'stop' && !stopping && a % 2) {
      this.#run!.stopping = true
      this.#drafts.push({ type: 'run.stopping', run, turn: turn.id, by: 'person' })
    } else if (op === 'settle') {
      this.#settle(turn, stopping ? 'cancelled' : (['completed', 'completed', 'failed', 'interrupted'] as const)[a % 4]!, b)
    } else if (!row) return
    else if (op === 'grow') {
      this.#drafts.push({ type: 'row.grew', ...kept, at0: row.length, text })
      row.cuts.push(row.length)
      row.length += text.length
    } else if (op === 'cut') {
      row.cuts.length = 1 + (b % row.cuts.length)
      row.length = row.cuts[row.cuts.length - 1]!
      this.#drafts.push({ type: 'row.cut', ...kept, keep: row.length, why: 'agent_corrected' })
    } else if (op === 'change') {
      this.#drafts.push({ type: 'row.changed', ...kept, tool: b % 2 ? { output: text } : { title: `T${b}`, locations: [{ path: 'f.ts', line: b }] } })
    } else if (op === 'raise') {
      this.#ask(row.asks?.kind ?? 'approval', row, run, b)
      if (row.asks!.kind === 'approval' && a % 5 === 0) this.#answer(row, run, 'once', 'auto')
    } else if (op === 'decide') {
      this.#answer(row, run, b % 2 ? 'once' : 'deny', 'person')
    } else if (op === 'reply') {
      const { kind, id } = row.asks!
      this.#drafts.push(kind === 'clarify' ? { type: 'clarify.answered', ...kept, clarify: id, answer: text } : { type: 'secret.answered', ...kept, secret: id, given: b % 2 === 1 })
      row.asks!.state = 'answered'
    } else if (op === 'withdraw') {
      // An answered question too: its answer did not reach the agent (spec/log.md §9).
      this.#retire(row, run, b % 2 ? 'expired' : 'withdrawn')
    } else if (op === 'hear') {
      this.#run!.live = live.filter((other) => other !== row)
      this.#steered(row, run, b % 3 ? (b % 2 ? 'seen' : 'inferred') : 'draft')
    } else if (op === 'close') {
      this.#run!.live = live.filter((other) => other !== row)
      const states: Exclude<RowState, 'live'>[] = row.kind === 'tool' ? ['done', 'failed', 'denied'] : ['done']
      this.#drafts.push({ type: 'row.closed', ...kept, state: states[b % states.length]!, duration: b, ...(row.kind === 'tool' ? { tool: { result: text, exit: b % 2 } } : {}) })
    }
  }

  #flag(a: number, b: number): void {
    if (a % 3 === 0) this.#drafts.push({ type: 'session.changed', approvals: b % 2 ? 'all' : 'ask' })
    else this.#drafts.push(a % 3 === 1 ? { type: 'session.changed', pinned: b % 2 === 1 } : { type: 'session.changed', archived: b % 2 === 1, model: { provider: 'p', id: `m${b}` } })
  }

  #bind(a: number, b: number): void {
    const turn = this.#turns.at(-1)
    if (this.#run && turn && a % 2) this.#drafts.push({ type: 'run.bound', run: this.#run.id, turn: turn.id, foreign: `foreign ${b}`, ...(b % 2 ? { counters: { input: b } } : {}) })
    else if (turn) this.#drafts.push(b % 4 === 0 ? { type: 'agent.bound', agent: { ...AGENT, version: `${b}` }, why: 'changed' } : { type: 'agent.bound', agent: AGENT, foreign: `stored ${b}`, why: 'rotated' })
  }

  #enqueue(text: string, by: 'person' | 'steer', before?: string, send?: boolean): string {
    const item = this.#mint('que')
    this.#drafts.push({ type: 'queue.added', item, text, by, ...(before ? { before } : {}), ...(send ? { send: true as const } : {}), ...filesOf(this.#queue.length + 1) })
    this.#place(item, before)
    return item
  }

  #arrange(a: number, b: number): void {
    const queue = this.#queue
    const item = queue[a % Math.max(1, queue.length)]
    const other = queue[b % Math.max(1, queue.length)]
    if (!item || !other) return
    const text = TEXTS[b % TEXTS.length]!
    if (b % 4 === 0) this.#drafts.push({ type: 'queue.changed', item, text, ...filesOf(a) })
    else if (b % 4 === 1) {
      const before = a % 3 ? other : undefined
      this.#drafts.push({ type: 'queue.moved', item, ...(before ? { before } : {}), ...(a % 5 ? {} : { send: true as const }) })
      if (before === item) return
      queue.splice(queue.indexOf(item), 1)
      this.#place(item, before)
    } else if (b % 4 === 2 && item !== other) {
      this.#drafts.push({ type: 'queue.combined', items: [item, other], text, ...filesOf(a) })
      queue.splice(queue.indexOf(other), 1)
    } else {
      this.#drafts.push({ type: 'queue.removed', items: [item] })
      queue.splice(queue.indexOf(item), 1)
    }
  }

  #place(item: string, before: string | undefined): void {
    const at = before === undefined ? -1 : this.#queue.indexOf(before)
    this.#queue.splice(at < 0 ? this.#queue.length : at, 0, item)
  }

  #ask(kind: 'approval' | 'clarify' | 'secret', live: Live, run: string, b: number): void {
    const id = this.#mint({ approval: 'apr', clarify: 'clr', secret: 'sec' }[kind])
    const { row } = live
    live.asks = { kind, id, state: 'open' }
    if (kind === 'approval') this.#drafts.push({ type: 'approval.raised', approval: id, row, run, request: b % 6 ? REQUEST : { ...REQUEST, waits: true } })
    else this.#drafts.push(kind === 'clarify' ? { type: 'clarify.raised', clarify: id, row, run, request: CLARIFY } : { type: 'secret.raised', secret: id, row, run, request: SECRET })
    if (kind !== 'secret' && b % 2) this.#beside.push({ id, foreign: `theirs ${b}` })
  }

  #answer(live: Live, run: string, kind: 'once' | 'deny', by: 'person' | 'auto'): void {
    this.#drafts.push({ type: 'approval.decided', approval: live.asks!.id, row: live.row, run, choice: kind === 'once' ? 'y' : 'n', kind, by })
    live.asks!.state = 'answered'
  }

  #retire({ asks, row }: Live, run: string, why: 'run_ended' | 'expired' | 'withdrawn'): void {
    const { kind, id } = asks!
    asks!.state = 'retired'
    if (kind === 'approval') this.#drafts.push({ type: 'approval.retired', approval: id, row, run, why })
    else this.#drafts.push(kind === 'clarify' ? { type: 'clarify.retired', clarify: id, row, run, why } : { type: 'secret.retired', secret: id, row, run, why })
  }

  #steered({ row, steer }: Live, run: string, how: 'seen' | 'inferred' | 'draft' | 'queue'): void {
    if (how === 'seen' || how === 'inferred') this.#drafts.push({ type: 'steer.delivered', steer: steer!, row, run, evidence: how })
    else {
      const item = how === 'queue' ? this.#enqueue('given back', 'steer', this.#queue[0]) : undefined
      this.#drafts.push({ type: 'steer.returned', steer: steer!, row, run, to: how, ...(item ? { item } : {}) })
    }
    this.#drafts.push({ type: 'row.closed', row, run, state: how === 'seen' || how === 'inferred' ? 'done' : 'cancelled', duration: 1 })
  }

  #start(turn: TurnState, cause: 'sent' | 'retried' | 'reattached', reopened: Live[] = []): void {
    const run = this.#mint('run')
    this.#fence = ++this.#generation
    this.#run = { id: run, stopping: false, live: reopened, planned: reopened.some(({ kind }) => kind === 'plan') }
    turn.left = []
    this.#drafts.push({
      type: 'run.started', run, turn: turn.id, generation: this.#generation, attempt: ++turn.attempts, cause, agent: AGENT, model: { provider: 'p', id: 'm' },
      ...(reopened.length > 0 ? { reopens: reopened.map(({ row }) => row) } : {}),
    })
  }

  #settle(turn: TurnState, outcome: RunOutcome, b: number): void {
    const { id: run, live } = this.#run!
    for (const row of live) {
      if (row.asks?.state === 'open') this.#retire(row, run, 'run_ended')
      if (row.kind === 'steer') this.#steered(row, run, outcome === 'completed' ? 'queue' : 'draft')
      else this.#drafts.push({ type: 'row.closed', row: row.row, run, state: row.kind === 'tool' && outcome !== 'completed' ? 'unknown' : 'done', duration: b })
    }
    turn.left = live.filter(({ kind }) => kind !== 'question' && (kind !== 'steer' || outcome !== 'completed'))
    const finalRow = [...turn.answers].pop()
    this.#drafts.push({
      type: 'run.settled', run, turn: turn.id, outcome, timings: { total: b * 10, firstToken: b }, ...(b % 2 ? { usage: { input: b, output: b + 1 } } : {}),
      ...(finalRow ? { finalRow } : {}), ...(outcome === 'failed' ? { problem: { code: 'rate_limit' as const, words: 'slow down', status: 429 } } : {}),
      ...(outcome === 'interrupted' ? { problem: { code: 'server_restarted' as const } } : {}),
    })
    turn.last = outcome
    this.#run = null
  }

  #open(turn: TurnState, live: Live | null, opened: RowOpened): void {
    this.#drafts.push({ type: 'row.opened', ...opened })
    turn.rows.push(opened.row)
    if (opened.kind === 'answer') turn.answers.add(opened.row)
    if (live) this.#run!.live.push({ ...live, row: opened.row })
  }

  #opening(turn: string, run?: string): { row: string; n: number; pos: string; turn: string; run?: string } {
    this.#pos = posAfter(this.#pos)
    return { row: this.#mint('row'), n: ++this.#n, pos: this.#pos, turn, ...(run ? { run } : {}) }
  }

  #mint(kind: string): string {
    return `${kind}_${this.session}_${++this.#ids}`
  }
}

function historyOf(session: string, steps: Step[]): History {
  const machine = new Machine(session)
  for (const step of steps) {
    machine.do(step)
    if (!step.join || !machine.joinable) machine.flush()
  }
  machine.flush()
  return { session, appends: machine.appends }
}

/** Now and then a message has files, and now and then a change says that it has none. */
function filesOf(n: number): { attachments?: Attachment[] } {
  const file = (k: number): Attachment => ({ id: `att_${k}`, name: `n-${k}.png`, size: k, mime: 'image/png', digest: 'd'.repeat(64) })
  return n % 4 === 1 ? { attachments: [file(n), file(n + 1)] } : n % 4 === 2 ? { attachments: [] } : {}
}
