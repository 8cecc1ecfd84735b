/** How often the original's `reasoning` is told at most, ms (spec/settlement.md §0). */
export const REASONING_MS = 100

/** What is to be told now: the words, and the id of the last event they came from. */
export interface ToldReasoning { text: string; id: string }

/**
 * The original's 10 Hz rule (spec/settlement.md §4.3), for one reader: the first words are told at once, later ones together; whoever tells anything else takes what
 * waits first. No word is lost but those that are taken back. Pure: `now` is ms of a clock that never goes back.
 */
export class ReasoningBuffer {
  #text = ''
  #id = ''
  #told = -Infinity

  /** Takes words in; answers what is to be told now, if anything. */
  add(text: string, id: string, now: number): ToldReasoning | null {
    this.#text += text
    this.#id = id
    return this.due(now) === 0 ? this.take(now) : null
  }

  /** Everything that waits: at a boundary, and when it is due. */
  take(now: number): ToldReasoning | null {
    if (this.#text === '') return null
    const told = { text: this.#text, id: this.#id }
    this.#text = ''
    this.#told = now
    return told
  }

  /**
   * The last `units` of the reasoning were an echo: what of them was not told yet never is; what was told cannot be taken back. Nothing else is touched, so words that
   * were told before and those that come after stay what they are.
   */
  takeBack(units: number): void {
    this.#text = this.#text.slice(0, Math.max(0, this.#text.length - units))
  }

  /** ms until what waits must be told; null when nothing waits. */
  due(now: number): number | null {
    return this.#text === '' ? null : Math.max(0, this.#told + REASONING_MS - now)
  }
}
