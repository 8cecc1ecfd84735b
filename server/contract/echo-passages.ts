import { folded } from './echo-index'

/** From this many units without white space on, words that were said anywhere count as said before (spec/settlement.md §0, §4.4). */
export const PASSAGE = 80
const BLOCK = PASSAGE / 2
/** Places with one and the same block that are compared; a text that repeats one line for ever is no text to find a passage in. */
const PLACES = 64

/**
 * Finds a passage of a growing text without reading the text again: its blocks of 40 units are found by their content, and any passage of 80 units holds a
 * whole block at one of its first 40 places. White space does not count.
 */
export class Passages {
  #blocks: string[] = []
  #places = new Map<string, number[]>()
  /** What is no whole block yet. */
  #tail = ''
  #work = 0

  /** Units looked at so far. */
  get work(): number {
    return this.#work
  }

  append(text: string): void {
    this.#work += text.length
    const waiting = this.#tail + folded(text)
    let at = 0
    for (; at + BLOCK <= waiting.length; at += BLOCK) this.#add(waiting.slice(at, at + BLOCK))
    this.#tail = waiting.slice(at)
  }

  #add(block: string): void {
    const places = this.#places.get(block)
    if (!places) this.#places.set(block, [this.#blocks.length])
    else if (places.length < PLACES) places.push(this.#blocks.length)
    this.#blocks.push(block)
  }

  /** Whether `text` stands somewhere in it. False for less than a passage. */
  holds(text: string): boolean {
    this.#work += text.length
    const wanted = folded(text)
    if (wanted.length < PASSAGE) return false
    for (let i = 0; i < BLOCK; i++) {
      this.#work += BLOCK
      for (const place of this.#places.get(wanted.slice(i, i + BLOCK)) ?? []) if (this.#standsAt(wanted, place * BLOCK - i)) return true
    }
    return false
  }

  #standsAt(wanted: string, place: number): boolean {
    if (place < 0) return false
    for (let done = 0; done < wanted.length;) {
      const at = place + done
      const block = this.#blocks[Math.floor(at / BLOCK)] ?? this.#tail
      const part = block.slice(at % BLOCK, (at % BLOCK) + wanted.length - done)
      this.#work += part.length
      if (part === '' || !wanted.startsWith(part, done)) return false
      done += part.length
    }
    return true
  }
}
