import type { AgentEvent, Timers } from '../agents/port'
import type { ApprovalRequest } from '../contract/approvals'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import type { RowState } from '../contract/rows'
import type { AgentRef, RunOutcome, Usage } from '../contract/session'
import type { ContextItem } from '../store/port'
import { boundTool } from './bound'
import type { Ledger } from './ledger'
import { Questions } from './questions'
import { Joiner, wellFormed } from './wellformed'
import { WORDS_LIMIT } from './words'

type LiveKind = 'thought' | 'answer' | 'tool' | 'question'

interface LiveRow { id: string; kind: LiveKind; openedAt: number; length: number; call?: string; chars: Joiner }

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

/**
 * Turns what an agent reports into rows of its run's own turn (spec/log.md §3–5): the one place where rows, questions and their ids are
 * born. Everything is synchronous; durability is the ledger's. After `close` nothing more is taken.
 */
export class Journal {
  readonly #p: JournalParts
  #live = new Map<string, LiveRow>()
  #calls = new Map<string, LiveRow>()
  #text: LiveRow | null = null
  #lastAnswer: LiveRow | null = null
  #answerIsFinal = false
  readonly questions: Questions
  #fresh: string[] = []
  /** The row that opened last: what comes of it later leaves the context with it. */
  #latest: string | null = null
  #context: ContextItem[] = []
  #usage: Usage | undefined
  #closed = false
  #firstToken: number | undefined
  #startedAt: number
  lastEventAt: number

  constructor(parts: JournalParts) {
    this.#p = parts
    this.questions = new Questions(parts.run, parts.mint, (row) => this.closing(row, 'cancelled'))
    this.#startedAt = parts.timers.monotonic()
    this.lastEventAt = this.#startedAt
  }

  get closed(): boolean {
    return this.#closed
  }

  /** True while the agent waits for a tool or a person rather than for its model. */
  get waits(): boolean {
    return this.#calls.size > 0 || this.questions.oldest() !== undefined
  }

  take(event: AgentEvent): void {
    if (this.#closed) return
    this.lastEventAt = this.#p.timers.monotonic()
    switch (event.type) {
      case 'text':
        return this.#say('answer', event.delta)
      case 'reasoning':
        return this.#say('thought', event.delta)
      case 'text.replace':
        return this.#replace(event.from, event.text)
      case 'segment':
        return this.#endText()
      case 'tool.started':
        return this.#toolStarted(event)
      case 'tool.changed': {
        const row = this.#calls.get(event.call)
        if (row) this.#p.ledger.change(row.id, this.#p.run, this.#p.generation, boundTool(event.change))
        return
      }
      case 'tool.closed':
        return this.#toolClosed(event)
      case 'question.raised':
        return this.#raise(event.question, event.call, event.request)
      case 'question.withdrawn':
        return this.#push(this.questions.withdraw(event.question, event.why))
      case 'usage':
        return this.#report(event.usage)
      case 'notice':
        return this.notice(event.code, event.params, event.words)
      case 'session.bound':
        return this.#push([{ type: 'agent.bound', agent: this.#p.agent, foreign: event.foreign, why: event.why }])
      case 'title':
        return this.#p.onTitle(event.text)
      case 'context':
        return this.#keep(event.messages)
    }
  }

  /** True while a row may still change. */
  isLive(row: string): boolean {
    return this.#live.has(row)
  }

  /** A row that says something about the run; born done. */
  notice(code: string, params?: Record<string, string | number>, words?: string): void {
    if (this.#closed) return
    const row = this.#p.mint('row')
    this.#note(row)
    this.#push([{
      type: 'row.opened', row, ...this.#p.ledger.place(), turn: this.#p.turn, run: this.#p.run, kind: 'notice', state: 'done',
      notice: { code, ...(params ? { params } : {}), ...(words === undefined ? {} : { words: wellFormed(words.slice(0, WORDS_LIMIT)) }) },
    }])
  }

  /** Drafts that close one live row; none if it is closed already. */
  closing(id: string, state: Exclude<RowState, 'live'>): Draft[] {
    const row = this.#live.get(id)
    if (!row) return []
    const drafts: Draft[] = []
    const rest = row.chars.rest()
    if (rest) {
      drafts.push({ type: 'row.grew', row: row.id, run: this.#p.run, at0: row.length, text: rest })
      row.length += rest.length
    }
    this.#forget(row)
    drafts.push({ type: 'row.closed', row: row.id, run: this.#p.run, state, duration: this.#since(row.openedAt) })
    return drafts
  }

  /**
   * Closes the journal and gives the drafts that end its run (spec/log.md §3, `run.settled`): live rows closed, open questions retired.
   * A tool whose end was not told is `unknown`, or `cancelled` when a person stopped the run.
   */
  close(outcome: RunOutcome): { drafts: Draft[]; context: ContextItem[]; finalRow?: string; firstToken?: number; total: number; usage?: Usage } {
    const drafts = this.questions.end()
    for (const row of [...this.#live.values()]) {
      const whole = row.kind !== 'tool'
      drafts.push(...this.closing(row.id, whole ? 'done' : outcome === 'cancelled' ? 'cancelled' : 'unknown'))
    }
    this.#closed = true
    const context = this.#context
    this.#context = []
    return {
      drafts, context, total: this.#since(this.#startedAt),
      ...(this.#answerIsFinal && this.#lastAnswer && this.#lastAnswer.length > 0 ? { finalRow: this.#lastAnswer.id } : {}),
      ...(this.#firstToken === undefined ? {} : { firstToken: this.#firstToken }),
      ...(this.#usage ? { usage: this.#usage } : {}),
    }
  }

  /** Takes nothing more and writes nothing more: the log is not to be had. */
  abandon(): void {
    this.#closed = true
  }

  #say(kind: 'answer' | 'thought', delta: string): void {
    if (delta === '') return
    this.#firstToken ??= this.#since(this.#startedAt)
    let row = this.#text
    if (row && row.kind !== kind) {
      this.#endText()
      row = null
    }
    if (row) {
      const text = row.chars.take(delta)
      if (text) this.#p.ledger.grow(row, this.#p.run, this.#p.generation, text)
      return
    }
    row = { id: this.#p.mint('row'), kind, openedAt: this.#p.timers.monotonic(), length: 0, chars: new Joiner() }
    const text = row.chars.take(delta)
    row.length = text.length
    this.#remember(row)
    this.#text = row
    if (kind === 'answer') {
      this.#lastAnswer = row
      this.#answerIsFinal = true
    }
    const draft: Draft & { type: 'row.opened' } = { type: 'row.opened', row: row.id, ...this.#p.ledger.place(), turn: this.#p.turn, run: this.#p.run, kind, text }
    this.#push([draft])
    this.#p.ledger.opened(row, draft)
  }

  #endText(): void {
    if (!this.#text) return
    this.#push(this.closing(this.#text.id, 'done'), 'soon')
  }

  #replace(from: number, text: string): void {
    const row = this.#lastAnswer
    if (!row) return this.#say('answer', text)
    const keep = Math.max(0, Math.min(Math.floor(from), row.length))
    row.chars.rest()
    if (keep < row.length) {
      this.#p.ledger.seal(row.id)
      this.#push([{ type: 'row.cut', row: row.id, run: this.#p.run, keep, why: 'agent_corrected' }])
      row.length = keep
    }
    if (text !== '') this.#say('answer', text)
  }

  #toolStarted(event: Extract<AgentEvent, { type: 'tool.started' }>): void {
    if (this.#calls.has(event.call)) return
    const drafts = this.#text ? this.closing(this.#text.id, 'done') : []
    this.#answerIsFinal = false
    const row: LiveRow = { id: this.#p.mint('row'), kind: 'tool', openedAt: this.#p.timers.monotonic(), length: 0, call: event.call, chars: new Joiner() }
    const parent = event.parent === undefined ? undefined : this.#calls.get(event.parent)?.id
    this.#remember(row)
    this.#calls.set(event.call, row)
    const { type: _, parent: __, ...head } = event
    drafts.push({
      type: 'row.opened', row: row.id, ...this.#p.ledger.place(), turn: this.#p.turn, run: this.#p.run, kind: 'tool', tool: boundTool(head),
      ...(parent === undefined ? {} : { parent }),
    })
    this.#push(drafts)
  }

  #toolClosed(event: Extract<AgentEvent, { type: 'tool.closed' }>): void {
    const row = this.#calls.get(event.call)
    if (!row) return
    const { type: _, call: __, state, ...more } = event
    const drafts = this.questions.endRow(row.id, state === 'cancelled' ? 'run_ended' : 'expired')
    this.#forget(row)
    drafts.push({ type: 'row.closed', row: row.id, run: this.#p.run, state, duration: this.#since(row.openedAt), tool: boundTool(more) })
    this.#push(drafts)
  }

  #raise(question: string, call: string | undefined, request: ApprovalRequest): void {
    const drafts: Draft[] = []
    const tool = call === undefined ? undefined : this.#calls.get(call)
    let row = tool && this.questions.asks(tool.id) ? undefined : tool
    const own = row === undefined
    if (!row) {
      if (this.#text) drafts.push(...this.closing(this.#text.id, 'done'))
      row = { id: this.#p.mint('row'), kind: 'question', openedAt: this.#p.timers.monotonic(), length: 0, chars: new Joiner() }
      this.#remember(row)
      drafts.push({ type: 'row.opened', row: row.id, ...this.#p.ledger.place(), turn: this.#p.turn, run: this.#p.run, kind: 'question' })
    }
    drafts.push(this.questions.raise(question, row.id, own, request))
    this.#push(drafts)
  }

  #report(usage: Usage): void {
    this.#usage = { ...this.#usage, ...usage }
    this.#push([{ type: 'usage.reported', run: this.#p.run, turn: this.#p.turn, usage: this.#usage }], 'soon')
  }

  #keep(messages: unknown[]): void {
    const rows = this.#fresh.length ? this.#fresh : [this.#latest ?? this.#p.userRow]
    this.#fresh = []
    for (const message of messages) this.#context.push({ message, rows, turn: this.#p.turn })
  }

  #push(drafts: Draft[], urgency: 'now' | 'soon' = 'now'): void {
    if (drafts.length === 0) return
    const context = this.#context
    this.#context = []
    for (const draft of drafts) if ('row' in draft && draft.type !== 'row.opened') this.#p.ledger.seal(draft.row)
    this.#p.ledger.push({ drafts, generation: this.#p.generation, urgency, ...(context.length ? { context } : {}) })
  }

  #remember(row: LiveRow): void {
    this.#live.set(row.id, row)
    this.#note(row.id)
  }

  #note(row: string): void {
    this.#fresh.push(row)
    this.#latest = row
  }

  #forget(row: LiveRow): void {
    this.#live.delete(row.id)
    if (row.call !== undefined) this.#calls.delete(row.call)
    if (this.#text === row) this.#text = null
    this.#p.ledger.seal(row.id)
  }

  #since(at: number): number {
    return Math.max(0, Math.round(this.#p.timers.monotonic() - at))
  }
}
