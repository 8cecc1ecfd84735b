import type { ApprovalRequest, RetiredWhy } from '../contract/approvals'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import type { ClarifyRequest, SecretRequest } from '../contract/questions'

/** What is asked: exactly the agent's words and choices. */
export type Asked =
  | { kind: 'approval'; request: ApprovalRequest }
  | { kind: 'clarify'; request: ClarifyRequest }
  | { kind: 'secret'; request: SecretRequest }
export type QuestionKind = Asked['kind']

/** The adapter's name of a question. `due`: instant of the monotonic clock after which it takes no answer; infinite without a deadline. */
export interface Handle { handle: string; due: number; deadline?: number; foreign?: string }

/**
 * `claimed`: an answer was taken, no other is. `logged`: it is in the log, or on its way there. `told`: the agent is being told. `answered`: the agent has it.
 * An answer goes through all of them; every other end is `retired`, which after `told` only the agent's own word brings.
 */
export type QuestionState = 'open' | 'claimed' | 'logged' | 'told' | 'answered' | 'retired'

/** A question as its run knows it. `state` is the claim that makes an answer count once (law 8). */
export type Question = Asked & {
  readonly id: string
  readonly row: string
  /** True when the row stands for the question alone, and closes with it. */
  readonly own: boolean
  /** Row of the tool that it belongs to. */
  readonly tool: string | null
  /** More than one where the agent asks the same twice: all of them get the answer. */
  handles: Handle[]
  readonly nameless: boolean
  /** It was answered before, in vain: only a person answers it now. */
  readonly byHand: boolean
  state: QuestionState
  /** How its own row closes with the answer that was taken. */
  closes: 'done' | 'denied'
}

/** Where and how it is asked. */
export type Circumstances = Pick<Question, 'row' | 'own' | 'tool' | 'handles' | 'nameless' | 'byHand'>

const IDS = { approval: 'apr', clarify: 'clr', secret: 'sec' } as const

/** The questions of one run, in the order in which they were asked. Everything answers drafts; nothing here writes. */
export class Questions {
  #all = new Map<string, Question>()

  constructor(
    private readonly run: string,
    private readonly mint: Mint,
    /** Drafts that close a question's own row as cancelled. */
    private readonly closeRow: (row: string) => Draft[],
  ) {}

  /** True while a person is asked something. */
  get any(): boolean {
    for (const { state } of this.#all.values()) if (state === 'open') return true
    return false
  }

  /** The oldest of a kind that takes an answer. */
  oldest(kind: QuestionKind): Question | undefined {
    return this.open(kind)[0]
  }

  /** Those of a kind that take an answer, oldest first. */
  open(kind: QuestionKind): Question[] {
    return [...this.#all.values()].filter((question) => question.kind === kind && takesAnswer(question))
  }

  /** The first that is shown without buttons. */
  waiting(kind: QuestionKind): Question | undefined {
    return [...this.#all.values()].find((question) => question.kind === kind && question.state === 'open')
  }

  get(id: string): Question | undefined {
    return this.#all.get(id)
  }

  /** The newest of a kind. */
  last(kind: QuestionKind): Question | undefined {
    return [...this.#all.values()].findLast((question) => question.kind === kind)
  }

  /** True while a question of this row has not come to its end; a row shows one at a time. */
  asks(row: string): boolean {
    for (const question of this.#all.values()) if (question.row === row && question.state !== 'answered' && question.state !== 'retired') return true
    return false
  }

  /** How a row that stands for a question closes when its run ends and its answer is in the log. */
  closesAs(row: string): 'done' | 'denied' {
    for (const question of this.#all.values()) if (question.row === row && question.state !== 'retired') return question.closes
    return 'done'
  }

  /** The id is born here (law 3): a question is answerable from the instant it is in the log. */
  raise(asked: Asked, circumstances: Circumstances): Question {
    const question: Question = { ...asked, ...circumstances, id: this.mint(IDS[asked.kind]), state: 'open', closes: 'done' }
    this.#all.set(question.id, question)
    return question
  }

  /** Retires one that has not come to its end, and closes the row that stood for it alone. */
  retire(question: Question, why: RetiredWhy): Draft[] {
    if (question.state === 'answered' || question.state === 'retired') return []
    question.state = 'retired'
    return [retired(question, this.run, why), ...(question.own ? this.closeRow(question.row) : [])]
  }

  /** The same once more under a new id, on the same row: the draft takes the old one back. */
  reraise(question: Question, change: Partial<Pick<Question, 'handles' | 'byHand'> & { request: Asked['request'] }> = {}): { question: Question; withdrawn: Draft } {
    question.state = 'retired'
    const asked = { kind: question.kind, request: change.request ?? question.request } as Asked
    const { row, own, tool, handles, nameless, byHand } = { ...question, ...change }
    return { withdrawn: retired(question, this.run, 'withdrawn'), question: this.raise(asked, { row, own, tool, handles, nameless, byHand }) }
  }

  /** Those that the agent was not told an answer of, by the adapter's name. */
  named(handle: string): Question[] {
    return this.#untold((question) => question.handles.some((each) => each.handle === handle))
  }

  /** A tool has ended: nothing is asked about it any more. */
  endTool(row: string, why: RetiredWhy): Draft[] {
    return this.#untold((question) => question.row === row || question.tool === row).flatMap((question) => this.retire(question, why))
  }

  /** The run has ended: what has no answer in the log never gets one. */
  end(): Draft[] {
    return this.#untold((question) => question.state !== 'logged').flatMap((question) => this.retire(question, 'run_ended'))
  }

  #untold(of: (question: Question) => boolean): Question[] {
    return [...this.#all.values()].filter((question) => (question.state === 'open' || question.state === 'claimed' || question.state === 'logged') && of(question))
  }
}

/** Whether an answer to it may be taken now. */
export function takesAnswer(question: Question): boolean {
  return question.state === 'open' && !(question.kind === 'approval' && question.request.waits)
}

/** The event that asks it. */
export function raised(question: Question, run: string): Draft {
  const { id, row } = question
  switch (question.kind) {
    case 'approval': return { type: 'approval.raised', approval: id, row, run, request: question.request }
    case 'clarify': return { type: 'clarify.raised', clarify: id, row, run, request: question.request }
    case 'secret': return { type: 'secret.raised', secret: id, row, run, request: question.request }
  }
}

function retired({ kind, id, row }: Question, run: string, why: RetiredWhy): Draft {
  switch (kind) {
    case 'approval': return { type: 'approval.retired', approval: id, row, run, why }
    case 'clarify': return { type: 'clarify.retired', clarify: id, row, run, why }
    case 'secret': return { type: 'secret.retired', secret: id, row, run, why }
  }
}
