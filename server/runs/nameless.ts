import type { Question } from './questions'

/** ms after our deadline of a question at which its agent has certainly dropped it: our deadline is 2 s before the agent's own (spec/agents.md §3), and as much again. */
export const GRACE = 4000

/** `ghost`: nobody is asked any more, but the agent may still take an answer for it, until `until` of the monotonic clock. */
interface Known { question: Question; ghost: boolean; until: number }

/**
 * The rule for agents that have no ids for their questions and take any answer for their oldest open one (spec/agents.md §3): an answer may be
 * given only while exactly one question can be open in the agent, it is the one that was asked for, and its deadline has not passed. A question that we retired
 * is still counted until the end of its tool, or its deadline and `GRACE`, proves that the agent has dropped it. Pure memory; `now`: the monotonic clock.
 */
export class Nameless {
  #known: Known[] = []

  constructor(private readonly now: () => number) {}

  /** True while any is counted. */
  get any(): boolean {
    return this.#known.length > 0
  }

  /** A new one is asked; it must wait unless nothing else can be open. One without a deadline always waits: nothing would prove that the agent still asks. */
  add(question: Question): void {
    this.#known.push({ question, ghost: false, until: dueOf(question) + GRACE })
  }

  /** True when an answer to a new question with this deadline could be meant for that one only. */
  clear(due: number): boolean {
    this.#prune()
    return this.#known.length === 0 && due < Infinity
  }

  /** A new question arrives: the one that could be answered is over, because the agent might take the answer for either. */
  asked(): Question[] {
    return this.#haunt((question) => !isWaiting(question))
  }

  /** The agent speaks, so it waits for nobody: every question is over. */
  spoke(): Question[] {
    return this.#haunt(() => true)
  }

  /** A tool has ended, and what was asked for it; of what names no tool, any tool's end makes an end. */
  toolEnded(tool: string): Question[] {
    const over = this.#haunt((question) => question.tool === tool || question.tool === null)
    this.#known = this.#known.filter(({ question }) => question.tool !== tool)
    return over
  }

  /** One has come to its end; `sure`: the agent has said so itself. */
  over(question: Question, sure: boolean): void {
    if (sure) this.#known = this.#known.filter((known) => known.question !== question)
    else for (const known of this.#known) if (known.question === question) known.ghost = true
  }

  /** The one that waits and need not wait any more. */
  next(): Question | null {
    this.#prune()
    const [only, more] = this.#known
    if (!only || more || only.ghost || only.question.state !== 'open' || !isWaiting(only.question)) return null
    const due = dueOf(only.question)
    return due < Infinity && due > this.now() ? only.question : null
  }

  /** ms until the next of those that nobody is asked any more is certainly gone; null when there is none. */
  wait(): number | null {
    const ghosts = this.#known.filter(({ ghost, until }) => ghost && until < Infinity)
    return ghosts.length === 0 ? null : Math.max(0, Math.min(...ghosts.map(({ until }) => until)) - this.now())
  }

  /** Those that an answer has not gone to become ghosts. */
  #haunt(of: (question: Question) => boolean): Question[] {
    const over = this.#known.filter(({ question, ghost }) => !ghost && question.state !== 'told' && of(question))
    for (const known of over) known.ghost = true
    return over.map(({ question }) => question)
  }

  #prune(): void {
    this.#known = this.#known.filter(({ ghost, until }) => !ghost || until > this.now())
  }
}

function dueOf({ handles }: Question): number {
  return Math.min(...handles.map(({ due }) => due))
}

function isWaiting(question: Question): boolean {
  return question.kind === 'approval' && question.request.waits === true
}
