import fc from 'fast-check'
import type { ApprovalRequest } from '../../server/contract/approvals'
import type { Draft, Event, RowOpened } from '../../server/contract/events'
import { posAfter } from '../../server/contract/ids'
import type { RowState } from '../../server/contract/rows'
import type { AgentRef, RunOutcome } from '../../server/contract/session'
import type { Append } from '../../server/store/port'

/** A history that a sound server could have written: whole appends in order, each valid after the ones before it. */
export interface History { session: string; appends: Append[] }

/** What a history does next; `a` and `b` choose among what is possible then. */
interface Step { op: Op; a: number; b: number; join: boolean }

const OPS = [
  'grow', 'thought', 'answer', 'tool', 'close', 'raise', 'decide', 'withdraw', 'cut', 'change', 'notice', 'question', 'usage', 'stop', 'settle', 'admit', 'retry', 'reattach', 'rename', 'flag', 'undo',
] as const
type Op = (typeof OPS)[number] | 'delete'
/** Growth and rows are common, ends are rare enough that runs get long. */
const WEIGHTS: Partial<Record<Op, number>> = { grow: 9, thought: 2, answer: 3, tool: 4, close: 4, raise: 4, decide: 3, settle: 3, admit: 2 }
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
interface Live { row: string; kind: 'thought' | 'answer' | 'tool' | 'question'; length: number; cuts: number[]; approval?: string; decided?: string }
/** Which live rows an operation can be done to. */
const FITS: Partial<Record<Op, (row: Live) => boolean>> = {
  grow: speaks, cut: speaks, change: ({ kind }) => kind === 'tool', raise: (row) => !speaks(row) && !row.approval,
  decide: ({ approval }) => approval !== undefined, withdraw: ({ approval, decided }) => (approval ?? decided) !== undefined, close: ({ approval }) => approval === undefined,
}
function speaks({ kind }: Live): boolean {
  return kind === 'thought' || kind === 'answer'
}

interface RunState { id: string; stopping: boolean; live: Live[] }
interface TurnState { id: string; row: string; attempts: number; rows: string[]; answers: Set<string>; last?: RunOutcome }

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
  #drafts: Draft[] = []
  #fence: number | undefined

  constructor(readonly session: string) {
    this.#drafts.push({ type: 'session.created', title: 'New chat', titleBy: 'provisional', profile: 'default', workspace: '/w', agent: null, model: null, source: 'talaria' })
    this.flush()
  }

  do({ op, a, b }: Step): void {
    if (this.#deleted) return
    if (op === 'rename') return void this.#drafts.push({ type: 'session.changed', title: `Title ${a}`, titleBy: 'person' })
    if (op === 'flag') return void this.#drafts.push(a % 2 ? { type: 'session.changed', pinned: b % 2 === 1 } : { type: 'session.changed', archived: b % 2 === 1, model: { provider: 'p', id: `m${b}` } })
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
    } else if (turn?.last === 'interrupted' && b % 2) this.#start(turn, 'reattached')
    else if (turn && turn.last !== 'completed' && a % 2) {
      if (turn.rows.length > 0) this.#drafts.push({ type: 'rows.retracted', rows: turn.rows, turns: [], why: 'retry', by: turn.id, counted: turn.answers.size })
      turn.rows = []
      turn.answers = new Set()
      this.#start(turn, 'retried')
    } else if (op !== 'grow') {
      if (this.#turns.length === 0) this.#drafts.push({ type: 'agent.bound', agent: AGENT, why: 'first' })
      const opening = this.#opening('')
      const admitted: TurnState = { id: this.#mint('trn'), row: opening.row, attempts: 0, rows: [], answers: new Set() }
      this.#turns.push(admitted)
      this.#drafts.push({ type: 'turn.admitted', turn: admitted.id, row: opening.row, n: opening.n, pos: opening.pos, text: TEXTS[a % TEXTS.length]!, source: 'person' })
      this.#start(admitted, 'sent')
    }
  }

  #busy(op: Op, a: number, b: number, { id: run, live, stopping }: RunState, turn: TurnState): void {
    const fitting = live.filter((row) => FITS[op]?.(row) ?? true)
    const row = fitting[a % Math.max(1, fitting.length)]
    const text = TEXTS[b % TEXTS.length]!
    const approval = row?.approval
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
      row.approval = this.#mint('apr')
      delete row.decided
      this.#drafts.push({ type: 'approval.raised', ...kept, approval: row.approval, request: REQUEST })
    } else if (op === 'decide' && approval) {
      const kind = b % 2 ? 'once' : 'deny'
      this.#drafts.push({ type: 'approval.decided', ...kept, approval, choice: kind === 'once' ? 'y' : 'n', kind, by: 'person' })
      row.decided = approval
      delete row.approval
    } else if (op === 'withdraw') {
      // A decided question too: its answer did not reach the agent (spec/log.md §9).
      this.#drafts.push({ type: 'approval.retired', ...kept, approval: (approval ?? row.decided)!, why: b % 2 ? 'expired' : 'withdrawn' })
      delete row.approval
      delete row.decided
    } else if (op === 'close') {
      this.#run!.live = live.filter((other) => other !== row)
      const states: Exclude<RowState, 'live'>[] = row.kind === 'tool' ? ['done', 'failed', 'denied'] : ['done']
      this.#drafts.push({ type: 'row.closed', ...kept, state: states[b % states.length]!, duration: b, ...(row.kind === 'tool' ? { tool: { result: text, exit: b % 2 } } : {}) })
    }
  }

  #start(turn: TurnState, cause: 'sent' | 'retried' | 'reattached'): void {
    const run = this.#mint('run')
    this.#fence = ++this.#generation
    this.#run = { id: run, stopping: false, live: [] }
    this.#drafts.push({ type: 'run.started', run, turn: turn.id, generation: this.#generation, attempt: ++turn.attempts, cause, agent: AGENT, model: { provider: 'p', id: 'm' } })
  }

  #settle(turn: TurnState, outcome: RunOutcome, b: number): void {
    const { id: run, live } = this.#run!
    for (const { row, kind, approval } of live) {
      if (approval) this.#drafts.push({ type: 'approval.retired', approval, row, run, why: 'run_ended' })
      this.#drafts.push({ type: 'row.closed', row, run, state: kind === 'tool' && outcome !== 'completed' ? 'unknown' : 'done', duration: b })
    }
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
