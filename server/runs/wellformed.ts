const LONE = /\p{Surrogate}/gu
const ENDS_HIGH = /[\uD800-\uDBFF]$/

/** Replaces half characters, which no UTF-8 store or wire can carry, by U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(LONE, '\uFFFD')
}

/** Joins text that arrives in pieces cut anywhere: the first half of a character waits for its second. */
export class Joiner {
  #held = ''

  /** The text that is whole so far; may be empty. */
  take(delta: string): string {
    let text = this.#held + delta
    this.#held = ''
    if (ENDS_HIGH.test(text)) {
      this.#held = text.slice(-1)
      text = text.slice(0, -1)
    }
    return wellFormed(text)
  }

  /** What will never be completed. */
  rest(): string {
    const held = this.#held
    this.#held = ''
    return held === '' ? '' : '\uFFFD'
  }
}
