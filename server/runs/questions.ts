import type { ApprovalRequest, RetiredWhy } from '../contract/approvals'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'

/** A question as the run knows it. `deciding` is the claim that makes an answer count once (law 8). */
export interface OpenQuestion {
  id: string
  /** The adapter's handle. */
  question: string
  row: string
  /** True when the row stands for the question alone, and closes with it. */
  own: boolean
  request: ApprovalRequest
  state: 'open' | 'deciding' | 'decided' | 'retired'
}

/** The questions of one run, in the order in which they were asked. Everything answers drafts; nothing here writes. */
export class Questions {
  #all = new Map<string, OpenQuestion>()

  constructor(
    private readonly run: string,
    private readonly mint: Mint,
    /** Drafts that close a question's own row as cancelled. */
    private readonly closeRow: (row: string) => Draft[],
  ) {}

  /** The oldest question that takes an answer. */
  oldest(): OpenQuestion | undefined {
    for (const question of this.#all.values()) if (question.state === 'open') return question
    return undefined
  }

  get(id: string): OpenQuestion | undefined {
    return this.#all.get(id)
  }

  /** True while a question of this row is without its answer in the log; a row shows one at a time. */
  asks(row: string): boolean {
    for (const question of this.#all.values()) if (question.row === row && (question.state === 'open' || question.state === 'deciding')) return true
    return false
  }

  /** The id is born here (law 3): a question is answerable from the instant it is in the log. */
  raise(question: string, row: string, own: boolean, request: ApprovalRequest): Draft {
    const asked: OpenQuestion = { id: this.mint('apr'), question, row, own, request, state: 'open' }
    this.#all.set(asked.id, asked)
    return { type: 'approval.raised', approval: asked.id, row, run: this.run, request }
  }

  /** Retires one, and closes the row that stood for it alone. */
  retire(question: OpenQuestion, why: RetiredWhy): Draft[] {
    question.state = 'retired'
    return [{ type: 'approval.retired', approval: question.id, row: question.row, run: this.run, why }, ...(question.own ? this.closeRow(question.row) : [])]
  }

  /** The same question once more under a new id: its answer could not be brought to the agent. */
  reraise(question: OpenQuestion): Draft[] {
    question.state = 'retired'
    return [
      { type: 'approval.retired', approval: question.id, row: question.row, run: this.run, why: 'withdrawn' },
      this.raise(question.question, question.row, question.own, question.request),
    ]
  }

  /** The agent takes one back. */
  withdraw(handle: string, why: RetiredWhy): Draft[] {
    return this.#retireAll((question) => question.question === handle, why)
  }

  /** A tool has ended: nothing is asked about it any more. */
  endRow(row: string, why: RetiredWhy): Draft[] {
    return this.#retireAll((question) => question.row === row, why)
  }

  /** The run has ended. */
  end(): Draft[] {
    return this.#retireAll(() => true, 'run_ended')
  }

  /** Those without an answer in the log. */
  #retireAll(of: (question: OpenQuestion) => boolean, why: RetiredWhy): Draft[] {
    return [...this.#all.values()].filter((question) => (question.state === 'open' || question.state === 'deciding') && of(question)).flatMap((question) => this.retire(question, why))
  }
}
