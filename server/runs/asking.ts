import type { AgentEvent, Timers } from '../agents/port'
import type { Choice, RetiredWhy } from '../contract/approvals'
import type { Draft } from '../contract/events'
import type { ClarifyRequest } from '../contract/questions'
import type { LiveRow, LiveRows } from './live-rows'
import { Nameless } from './nameless'
import { raised } from './questions'
import type { Asked, Handle, Question, Questions } from './questions'

type Raised<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>

export interface AskingParts {
  rows: LiveRows
  questions: Questions
  timers: Timers
  /** The row of a running call. */
  tool: (call: string | undefined) => LiveRow | undefined
  /** Drafts that end the text that is live: what follows a question is a text of its own. */
  endText: () => Draft[]
  /** A question was answered without a person: it is in the log when `committed` resolves, and then the agent is to be told. */
  onAuto: (question: Question, choice: Choice, committed: Promise<void>) => void
}

/**
 * How questions come, wait and go: on a tool's row or one of their own, each until its deadline, those without ids by the rule of `nameless.ts`, those of a
 * chat that answers by itself with their answer in the same append. All of it is in the log; only the timers live here.
 */
export class Asking {
  /** Whether a new question is answered with its *once* at once (`approvals: 'all'` of the chat). */
  auto = false
  /** Resolves when the run takes no answers any more. */
  readonly over: Promise<void>
  #end!: () => void
  #nameless: Nameless
  #timers = new Set<() => void>()
  #again = (): void => undefined

  constructor(private readonly p: AskingParts) {
    this.#nameless = new Nameless(p.timers.monotonic)
    this.over = new Promise((resolve) => (this.#end = resolve))
  }

  approval(event: Raised<'question.raised'>): void {
    const handle = this.#handle(event.question, event.request.deadline, event.foreign)
    const tool = this.p.tool(event.call)
    const drafts: Draft[] = []
    let { request } = event
    if (event.nameless) {
      drafts.push(...this.#expire(this.#nameless.asked()))
      if (!this.#nameless.clear(handle.due)) request = { ...request, waits: true }
    }
    this.#raise(drafts, { kind: 'approval', request }, [handle], tool, event.nameless === true)
  }

  /** The same question again while nobody has answered it is the same question (settlement.md §7.6). */
  clarify(event: Raised<'clarify.raised'>): void {
    const handle = this.#handle(event.question, event.request.deadline, event.foreign)
    const last = this.p.questions.last('clarify')
    if (last?.kind === 'clarify' && last.state === 'open' && sameClarify(last.request, event.request)) last.handles.push(handle)
    else this.#raise([], { kind: 'clarify', request: event.request }, [handle])
  }

  secret(event: Raised<'secret.raised'>): void {
    this.#raise([], { kind: 'secret', request: event.request }, [this.#handle(event.question, event.request.deadline)])
  }

  /** The agent, or its adapter, takes one back. */
  withdraw(name: string, why: 'expired' | 'withdrawn'): void {
    for (const question of this.p.questions.named(name)) {
      const left = question.handles.filter(({ handle }) => handle !== name)
      if (left.length > 0 && question.state === 'open') question.handles = left
      else void this.retire(question, why, why === 'withdrawn')
    }
  }

  /** Words of the agent: whoever speaks waits for no answer that has no name. */
  spoke(): void {
    if (!this.#nameless.any) return
    this.p.rows.push(this.#expire(this.#nameless.spoke()))
    this.#look()
  }

  /** A tool has ended; `closing` gives what closes its row: its questions go first. */
  toolEnded(row: string, why: RetiredWhy, closing: () => Draft[]): void {
    const nameless = this.#nameless.toolEnded(row)
    this.p.rows.push([...this.p.questions.endTool(row, why), ...this.#expire(nameless), ...closing()])
    this.#look()
  }

  /** Whether the agent may be told the answer that is in the log. If not, the question is retired: nothing that came meanwhile may get it. */
  mayTell(question: Question): boolean {
    if (question.state !== 'logged') return false
    if (this.inTime(question)) return true
    void this.retire(question, 'expired', false)
    return false
  }

  /** Whether its deadline is still to come. */
  inTime({ handles }: Question): boolean {
    return handles.some(({ due }) => due > this.p.timers.monotonic())
  }

  /** The agent has the answer. */
  answered(question: Question): void {
    question.state = 'answered'
    if (question.own) this.p.rows.push(this.p.rows.closing(question.row, question.closes))
    this.#nameless.over(question, true)
    this.#look()
  }

  /** Retires one; `sure`: the agent itself does not ask any more. Resolves after the commit. */
  retire(question: Question, why: RetiredWhy, sure: boolean): Promise<void> {
    const retired = this.p.rows.write(this.p.questions.retire(question, why))
    this.#nameless.over(question, sure)
    this.#look()
    return retired
  }

  /**
   * Asks the same again under a new id, because its answer did not come to the agent, or not to all that ask. Nobody but a person answers it then. `lost`: the agent
   * may have the answer nevertheless; then one without a name cannot be answered any more. Resolves after the commit.
   */
  again(question: Question, handles: Handle[], lost: boolean): Promise<void> {
    this.#nameless.over(question, !lost)
    const waits = question.nameless && question.kind === 'approval' && !this.#nameless.clear(dueOf(handles))
    const { question: next, withdrawn } = this.p.questions.reraise(question, { handles, byHand: true, ...(waits ? { request: { ...question.request, waits: true } } : {}) })
    return this.#put([withdrawn], next)
  }

  /** The run has ended. */
  end(): Draft[] {
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
    this.#end()
    return this.p.questions.end()
  }

  #raise(drafts: Draft[], asked: Asked, handles: Handle[], tool?: LiveRow, nameless = false): void {
    const own = tool === undefined || this.p.questions.asks(tool.id)
    let row = tool?.id
    if (own) {
      const opened = this.p.rows.open({ kind: 'question' })
      row = opened.row.id
      drafts.push(...this.p.endText(), opened.draft)
    }
    void this.#put(drafts, this.p.questions.raise(asked, { row: row!, own, tool: tool?.id ?? null, handles, nameless, byHand: false }))
  }

  /** Into the log, with its answer where the chat answers by itself. */
  #put(drafts: Draft[], question: Question): Promise<void> {
    if (question.nameless) this.#nameless.add(question)
    const foreign = question.handles[0]?.foreign
    const beside = foreign === undefined ? [] : [{ id: question.id, foreign }]
    const choice = this.auto && !question.byHand ? onceOf(question) : undefined
    const { run } = this.p.rows
    const all = [...drafts, raised(question, run)]
    if (choice) {
      question.state = 'logged'
      all.push({ type: 'approval.decided', approval: question.id, row: question.row, run, choice: choice.id, kind: choice.kind, by: 'auto' })
    }
    const committed = this.p.rows.write(all, beside)
    if (choice) this.p.onAuto(question, choice, committed)
    const due = dueOf(question.handles)
    if (due < Infinity) this.#at(due - this.p.timers.monotonic(), () => this.#lapse(question))
    if (question.nameless) this.#look()
    return committed
  }

  /** A deadline has passed. What the agent asks by another name with a later one is asked anew. */
  #lapse(question: Question): void {
    if (question.state !== 'open' && question.state !== 'claimed' && question.state !== 'logged') return
    const left = question.handles.filter(({ due }) => due > this.p.timers.monotonic())
    if (left.length === 0 || question.state !== 'open') {
      void this.retire(question, 'expired', false)
      return
    }
    const request = { ...question.request, deadline: left[0]!.deadline }
    if (left[0]!.deadline === undefined) delete request.deadline
    const { question: next, withdrawn } = this.p.questions.reraise(question, { handles: left, request })
    void this.#put([withdrawn], next)
  }

  #expire(questions: Question[]): Draft[] {
    return questions.flatMap((question) => this.p.questions.retire(question, 'expired'))
  }

  /** The one that waited gets its buttons as soon as no other can be open; else it is looked at again when one is certainly gone. */
  #look(): void {
    const next = this.#nameless.next()
    if (next?.kind === 'approval') {
      const { waits: _, ...request } = next.request
      const { question, withdrawn } = this.p.questions.reraise(next, { request })
      this.#nameless.over(next, true)
      void this.#put([withdrawn], question)
      return
    }
    const wait = this.#nameless.wait()
    this.#again()
    if (wait !== null) this.#again = this.#at(wait, () => this.#look())
  }

  #handle(handle: string, deadline: number | undefined, foreign?: string): Handle {
    const due = deadline === undefined ? Infinity : this.p.timers.monotonic() + Math.max(0, deadline - this.p.timers.now())
    return { handle, due, ...(deadline === undefined ? {} : { deadline }), ...(foreign === undefined ? {} : { foreign }) }
  }

  #at(ms: number, then: () => void): () => void {
    const stop = this.p.timers.after(ms, () => {
      this.#timers.delete(cancel)
      then()
    })
    const cancel = (): void => {
      this.#timers.delete(cancel)
      stop()
    }
    this.#timers.add(cancel)
    return cancel
  }
}

function dueOf(handles: readonly Handle[]): number {
  return Math.min(...handles.map(({ due }) => due))
}

/** The choice that answers a question this once; none where it was not offered, or where nothing can be answered. */
export function onceOf(question: Question): Choice | undefined {
  return question.kind === 'approval' && !question.request.waits ? question.request.choices.find(({ kind }) => kind === 'once') : undefined
}

function sameClarify(a: ClarifyRequest, b: ClarifyRequest): boolean {
  return a.question === b.question && a.free === b.free && a.choices.length === b.choices.length && a.choices.every((choice, i) => choice === b.choices[i])
}
