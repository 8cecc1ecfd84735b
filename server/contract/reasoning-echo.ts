import { EchoIndex, isSpace } from './echo-index'
import { Passages } from './echo-passages'

/** Reasoning that was shown proves to be an echo: `keep` is the length of the segment (UTF-16 units of what `reasoning` answered for it) that stays. */
export interface EchoCut { segment: 'current' | 'previous'; keep: number }

/**
 * What of a run's reasoning only repeats what it says (spec/settlement.md §4.2, §4.4). Pure memory of one run, linear in its text. For agents that `echo` only.
 * A segment is what one thought row holds: whoever closes a row of reasoning, for whatever reason, calls `boundary`.
 */
export class ReasoningEcho {
  #said = new EchoIndex()
  #passages = new Passages()
  #current = new EchoIndex()
  #previous = new EchoIndex()
  /** Nothing was thought since something was said. */
  #fresh = true

  /** Of texts that are forgotten. */
  #work = 0

  /** Units looked at so far: what it costs, as a number that no clock disturbs. */
  get work(): number {
    return this.#work + this.#said.work + this.#passages.work + this.#current.work + this.#previous.work
  }

  /** Words that are shown as the answer. */
  visible(text: string): void {
    this.#said.append(text)
    this.#passages.append(text)
    this.#fresh = true
  }

  /**
   * The part of a delta to show: all of it, or nothing when it repeats the end of what was said, or a long passage of it from anywhere. In the middle of a thought
   * a single word is no repetition: reasoning that comes word by word would lose each that the answer happens to end with.
   */
  reasoning(delta: string): string {
    const repeats = (this.#fresh || words(delta) > 1) && this.#said.matchesTail(delta)
    if (repeats || this.#passages.holds(delta)) return ''
    this.#current.append(delta)
    if (words(delta) > 0) this.#fresh = false
    return delta
  }

  /**
   * The agent repeats a whole message: `cut` takes it off the end of the segment that thinks it, the current one first, then the one before; `alreadySaid` when it
   * is the end of what was said. Words that are then shown are given to `visible`.
   */
  message(text: string): { alreadySaid: boolean; cut?: EchoCut } {
    const alreadySaid = this.#said.matchesTail(text)
    for (const segment of ['current', 'previous'] as const) {
      const keep = (segment === 'current' ? this.#current : this.#previous).cutTo(text)
      if (keep !== null) return { alreadySaid, cut: { segment, keep } }
    }
    return { alreadySaid }
  }

  /** The agent corrected what it said last: of that `text` stands. What was said before it is not compared any more. */
  corrected(text: string): void {
    this.#work += this.#said.work + this.#passages.work
    this.#said = new EchoIndex()
    this.#passages = new Passages()
    this.visible(text)
  }

  /** A row of reasoning ended: what comes next is a segment of its own. False when nothing of the current one is left, then the previous one stays what it is. */
  boundary(): boolean {
    if (this.#current.length === 0) return false
    this.#work += this.#previous.work
    this.#previous = this.#current
    this.#current = new EchoIndex()
    return true
  }
}

/** How many words a text has; more than two are not told apart from two. */
function words(text: string): number {
  let count = 0
  for (let i = 0, inside = false; i < text.length && count < 2; i++) {
    const word = !isSpace(text.charCodeAt(i))
    if (word && !inside) count++
    inside = word
  }
  return count
}
