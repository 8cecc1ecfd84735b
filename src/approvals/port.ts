import type { Choice } from '../../server/contract/approvals'
import type { Row } from '../../server/contract/rows'
import type { OpenApproval, OpenClarify, OpenQuestion, OpenSecret } from '../sync/reactive'

/**
 * What the page gives the cards and what they ask of it. Every answer resolves when it is committed and the agent has it; a refusal rejects
 * with `ProblemError`: `question_gone` retires the card with words, anything else leaves it usable (spec/log.md §9).
 */
export interface QuestionsProps {
  /** What is asked in this chat, oldest first. */
  questions: OpenQuestion[]
  online: boolean
  phone: boolean
  /** The pointer is a finger: no field takes the focus by itself, and Enter is a new line. */
  fingers: boolean
  /** The run is being stopped: an answer would not reach the agent. */
  stopping: boolean
  /** Somebody writes where the card would stand: it comes folded. */
  quiet: boolean
  /** Exactly this choice of this permission. */
  decide: (request: OpenApproval, choice: Choice) => Promise<void>
  reply: (question: OpenClarify, text: string) => Promise<void>
  /** Hands a secret over, or null where it is not given. The value is kept nowhere by whoever takes it. */
  give: (secret: OpenSecret, value: string | null) => Promise<void>
  /** The row that a question stands on, as it is now: it says what became of one that is not open any more. */
  rowOf: (row: string) => Row | undefined
  /** Words typed as an answer whose question is gone; they go into the message box. */
  rescue: (text: string) => void
  /** Where a half-written answer lies while the page is away. */
  kept: KeptAnswer
  /** Fills an element with drawn Markdown. */
  prose: (into: HTMLElement, text: string) => void
  /** *Stop asking in this chat*. */
  onAllowAll: () => void
  /** Said once, politely. */
  announce: (text: string) => void
  /** Said once, at once. */
  alarm: (text: string) => void
  /** One line at the foot of the page. */
  tell: (text: string) => void
  /** The last question is gone, and the card with it. `secret`: while somebody typed a secret, which may go on for a moment. */
  onGone?: (secret: boolean) => void
  /** True: somebody is in the field of a secret. False: it was handed on, or refused. */
  onSecret?: (typing: boolean) => void
  /** Folded to one line, or open. */
  onFold?: (folded: boolean) => void
  /** Device's ms. */
  now: () => number
  /** Server's ms minus this device's. */
  skew: number
}

/** A half-written answer of one chat, on this device. It is never a secret. */
export interface KeptAnswer {
  load: () => Promise<Typed | null>
  keep: (typed: Typed | null) => void
}

/** Words typed as an answer, with the question they were meant for. */
export interface Typed { question: string; text: string }

/**
 * Where an answer stands. `sending`: which button shows it. `failed`: why it was not taken, in words for people. `gone`: it takes nothing
 * more; `own`: because it was answered from here.
 */
export type Phase = { at: 'asking' } | { at: 'sending'; choice: string } | { at: 'failed'; reason: string } | { at: 'gone'; own: boolean }
