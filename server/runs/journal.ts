import type { AgentEvent, Timers } from '../agents/port'
import type { Choice } from '../contract/approvals'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import type { DividerHead, Row, RowState } from '../contract/rows'
import type { AgentRef, RunOutcome, Usage } from '../contract/session'
import type { ContextItem } from '../store/port'
import { Asking } from './asking'
import type { Ledger } from './ledger'
import { LiveRows } from './live-rows'
import type { LiveRow } from './live-rows'
import { PlanRow } from './plan-row'
import { Questions } from './questions'
import type { Question } from './questions'
import { TextRows } from './text-rows'
import { ToolRows } from './tool-rows'
import { wellFormed } from './wellformed'
import { WORDS_LIMIT } from './words'

export interface JournalParts {
  ledger: Ledger
  mint: Mint
  timers: Timers
  run: string
  turn: string
  generation: number
  userRow: string
  agent: AgentRef
  /** What the run itself does not write: a title for the chat. */
  onTitle: (text: string) => void
}

/** What a run's end adds to the log before it, and what it says of the run. */
export interface Closing { drafts: Draft[]; context: ContextItem[]; finalRow?: string; firstToken?: number; total: number; usage?: Usage }

/**
 * Turns what an agent reports into rows of its run's own turn (spec/log.md §3–5): the one place where rows, questions and their ids are
 * born. Everything is synchronous; durability is the ledger's. After `close` nothing more is taken.
 */
export class Journal {
  readonly #p: JournalParts
  readonly #rows: LiveRows
  readonly #text: TextRows
  readonly #tools: ToolRows
  readonly #plan: PlanRow
  readonly questions: Questions
  readonly asking: Asking
  #usage: Usage | undefined
  #closed = false
  #startedAt: number
  lastEventAt: number

  /** `onAuto`: a question was answered as its chat always answers; the agent is to be told when `committed` resolves. */
  constructor(parts: JournalParts, onAuto: (question: Question, choice: Choice, committed: Promise<void>) => void) {
    this.#p = parts
    this.#startedAt = parts.timers.monotonic()
    this.lastEventAt = this.#startedAt
    this.#rows = new LiveRows(parts)
    this.#text = new TextRows(this.#rows, this.#startedAt)
    this.#tools = new ToolRows(this.#rows, parts)
    this.#plan = new PlanRow(this.#rows)
    this.questions = new Questions(parts.run, parts.mint, (row) => this.#rows.closing(row, 'cancelled'))
    this.asking = new Asking({
      rows: this.#rows, questions: this.questions, timers: parts.timers, tool: (call) => this.#tools.get(call), endText: () => this.#text.ending(), onAuto,
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /** True while the agent waits for a tool or a person rather than for its model. */
  get waits(): boolean {
    return this.#tools.any || this.questions.any
  }

  /** The agent's reasoning may repeat its words (`AgentSession.echoes`): from now on they are compared. */
  watchEcho(): void {
    this.#text.watchEcho()
  }

  take(event: AgentEvent): void {
    if (this.#closed) return
    this.lastEventAt = this.#p.timers.monotonic()
    switch (event.type) {
      case 'text':
        if (event.delta !== '') this.asking.spoke()
        return this.#text.say(event.delta)
      case 'reasoning':
        return this.#text.think(event.delta)
      case 'text.replace':
        this.asking.spoke()
        return this.#text.replace(event.from, event.text)
      case 'message':
        this.asking.spoke()
        return this.#text.message(event.text)
      case 'segment':
        return this.#text.end()
      case 'tool.started': {
        const opened = this.#tools.started(event)
        if (opened) this.#rows.push([...this.#text.endForTool(), opened])
        return
      }
      case 'tool.changed':
        return this.#tools.changed(event)
      case 'tool.closed': {
        const row = this.#tools.get(event.call)
        if (row) this.asking.toolEnded(row.id, event.state === 'cancelled' ? 'run_ended' : 'expired', () => this.#tools.closing(event))
        return
      }
      case 'question.raised':
        return this.asking.approval(event)
      case 'clarify.raised':
        return this.asking.clarify(event)
      case 'secret.raised':
        return this.asking.secret(event)
      case 'question.withdrawn':
        return this.asking.withdraw(event.question, event.why)
      case 'plan':
        return this.#plan.replace(event.entries)
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage }
        return this.#rows.push([{ type: 'usage.reported', run: this.#p.run, turn: this.#p.turn, usage: this.#usage }], 'soon')
      case 'notice':
        return this.notice(event.code, event.params, event.words)
      case 'session.bound':
        return this.#rows.push([{ type: 'agent.bound', agent: this.#p.agent, foreign: event.foreign, why: event.why }])
      case 'turn.bound':
        return this.#rows.push([{ type: 'run.bound', run: this.#p.run, turn: this.#p.turn, foreign: event.foreign, ...(event.counters ? { counters: event.counters } : {}) }])
      case 'title':
        return this.#p.onTitle(event.text)
      case 'context':
        return this.#rows.keep(event.messages)
      // Words into the turn, and turns that nobody submitted, are kept by the run and its actor.
      case 'steer.delivered':
      case 'turn.began':
      case 'turn.ended':
        return
    }
  }

  /** True while a row may still change. */
  isLive(row: string): boolean {
    return this.#rows.has(row)
  }

  /** A row that says something about the run; born done. */
  notice(code: string, params?: Record<string, string | number>, words?: string): void {
    if (this.#closed) return
    const notice = { code, ...(params ? { params } : {}), ...(words === undefined ? {} : { words: wellFormed(words.slice(0, WORDS_LIMIT)) }) }
    this.#rows.push([this.#rows.open({ kind: 'notice', state: 'done', notice }).draft])
  }

  /** A row that says something about the chat from here on; the draft is the caller's to push. */
  divider(code: DividerHead['code']): Draft {
    return this.#rows.open({ kind: 'divider', state: 'done', divider: { code } }).draft
  }

  /** What stands of the last answer, for a comparison with the agent's own copy. */
  get answer(): string | undefined {
    return this.#text.answer?.text
  }

  /** Goes on in rows that the run before left and `run.started` reopened, in display order; words are the run's own. `said`: answers of the turn in the rows before them. */
  resume(rows: readonly Row[], said = ''): void {
    this.#text.recall(said)
    for (const row of rows) {
      if (row.kind === 'steer') continue
      const live = this.#rows.reopen(row)
      if (row.kind === 'tool') this.#tools.resume(live)
      else if (row.kind === 'plan') this.#plan.resume(live)
      else if (row.kind === 'answer' || row.kind === 'thought') this.#text.resume(live, row.text)
    }
  }

  /** What a run before this one showed of the turn: steps of a sub-agent stand under the call that sent it, also when that has ended. */
  recall(rows: Iterable<Row>): void {
    for (const row of rows) if (row.kind === 'tool' && row.turn === this.#p.turn) this.#tools.recall(row.tool.call, row.id)
  }

  /** The message that the agent is in, as it has it now, after `resume`: the row goes on where it begins like it, else it is written anew. */
  superseded(message: string): void {
    if (!this.#closed) this.#text.superseded(message)
  }

  /**
   * Closes the journal and gives the drafts that end its run (spec/log.md §3, `run.settled`): open questions retired first, then live rows closed.
   * A tool whose end was not told is `unknown`, or `cancelled` when a person stopped the run.
   */
  close(outcome: RunOutcome): Closing {
    const drafts = this.asking.end()
    for (const row of this.#rows.all) drafts.push(...this.#rows.closing(row.id, this.#endOf(row, outcome)))
    this.#closed = true
    const { answer, finalRow, firstToken } = this.#text
    if (outcome !== 'completed' && answer) this.#rows.keepLoose(answer.row, answer.text)
    return {
      drafts, context: this.#rows.takeContext(), total: this.#rows.since(this.#startedAt),
      ...(finalRow === undefined ? {} : { finalRow }), ...(firstToken === undefined ? {} : { firstToken }), ...(this.#usage ? { usage: this.#usage } : {}),
    }
  }

  /** Takes nothing more and writes nothing more: the log is not to be had. */
  abandon(): void {
    this.#closed = true
    this.asking.end()
  }

  #endOf(row: LiveRow, outcome: RunOutcome): Exclude<RowState, 'live'> {
    if (row.kind === 'tool') return outcome === 'cancelled' ? 'cancelled' : 'unknown'
    return row.kind === 'question' ? this.questions.closesAs(row.id) : 'done'
  }
}
