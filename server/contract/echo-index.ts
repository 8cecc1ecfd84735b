/**
 * The compact echo index (spec/settlement.md §4.1) of one text that grows at its end: some agents send one sentence as words, as reasoning and as a message, and it
 * is shown once. It remembers the units of the text that are no white space, each with its place, and compares nothing but these: case and punctuation count, white
 * space does not. UTF-16 units; all white space is in the basic plane, so no character is halved. How a text was split into chunks changes nothing.
 */
export class EchoIndex {
  #units: number[] = []
  /** Place of each unit in the raw text. */
  #places: number[] = []
  #length = 0
  #work = 0

  /** Length of the raw text that it describes. */
  get length(): number {
    return this.#length
  }

  /** Units looked at so far, of this text and of candidates: what it costs, as a number that no clock disturbs. */
  get work(): number {
    return this.#work
  }

  append(chunk: string): void {
    this.#work += chunk.length
    for (let i = 0; i < chunk.length; i++) {
      const unit = chunk.charCodeAt(i)
      if (isSpace(unit)) continue
      this.#units.push(unit)
      this.#places.push(this.#length + i)
    }
    this.#length += chunk.length
  }

  /** Whether the text ends with `text`, both without white space. There is no window: a thousand blanks inside hide nothing. A blank `text` never matches. */
  matchesTail(text: string): boolean {
    return this.#startOf(text) !== null
  }

  /**
   * If the text ends with `text`: takes that and the white space before it off and answers the length that is kept (0 when it was all); else null, and nothing
   * changed. What is left is described without being looked at again.
   */
  cutTo(text: string): number | null {
    const start = this.#startOf(text)
    if (start === null) return null
    this.#units.length = start
    this.#places.length = start
    this.#length = start === 0 ? 0 : this.#places[start - 1]! + 1
    return this.#length
  }

  /** The text was emptied or replaced. */
  reset(): void {
    this.#units = []
    this.#places = []
    this.#length = 0
  }

  /** From the end, so that most candidates are refused at their last unit. Costs the candidate's length at most. */
  #startOf(text: string): number | null {
    let at = this.#units.length
    for (let i = text.length - 1; i >= 0; i--) {
      this.#work++
      const unit = text.charCodeAt(i)
      if (isSpace(unit)) continue
      if (at === 0 || this.#units[--at] !== unit) return null
    }
    return at === this.#units.length ? null : at
  }
}

/** JavaScript's `\s`, and U+0085 and U+001C to U+001F, which other languages take for white space too: one definition for every reader. */
export function isSpace(unit: number): boolean {
  if (unit <= 0x20) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || unit >= 0x1c
  if (unit < 0x85) return false
  return unit === 0x85 || unit === 0xa0 || unit === 0x1680 || (unit >= 0x2000 && unit <= 0x200a) || unit === 0x2028 || unit === 0x2029 || unit === 0x202f ||
    unit === 0x205f || unit === 0x3000 || unit === 0xfeff
}

/** A text without its white space. */
export function folded(text: string): string {
  let kept = ''
  let from = 0
  for (let i = 0; i < text.length; i++) {
    if (!isSpace(text.charCodeAt(i))) continue
    kept += text.slice(from, i)
    from = i + 1
  }
  return kept + text.slice(from)
}
