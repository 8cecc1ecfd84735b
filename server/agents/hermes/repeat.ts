/**
 * What a retry says again (recording 10): Hermes streams a call anew that was cut off, without a word about it. An exact repeat is left out; where it goes
 * another way, it went on instead of repeating, and all of it is shown.
 */
export class Repeat {
  /** What was said again so far; null: nothing is compared. */
  #again: string | null = null

  /** A model call begins where `shown` of the one before stands. */
  begin(shown: string): void {
    this.#again = shown === '' ? null : ''
  }

  end(): void {
    this.#again = null
  }

  /** What of a delta is new. */
  take(shown: string, delta: string): string {
    if (this.#again === null) return delta
    const all = this.#again + delta
    const [mine, theirs] = [all.trimStart(), shown.trimStart()]
    this.#again = theirs.startsWith(mine) ? all : null
    if (this.#again !== null) return ''
    return mine.startsWith(theirs) ? mine.slice(theirs.length) : all
  }
}
