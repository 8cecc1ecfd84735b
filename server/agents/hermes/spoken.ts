import type { AgentEvent } from '../port'
import { Repeat } from './repeat'

/**
 * The text of one model call at a time, as people see it. Hermes streams each call's text, and repeats it whole at its end: before tools as
 * `message.interim`, at the turn's end as `message.complete`, which holds the last call's text only (spec/hermes-rpc.md §4.1). Pure.
 */
export class Spoken {
  /** What is shown of this call, and how much of it stands in rows before the current one. */
  #shown = ''
  #parted = 0
  /** What was streamed of this call, repeats of retries included: so Hermes repeats it at the end. */
  #streamed = ''
  #repeat = new Repeat()

  /** Every text that was streamed in the turn, in Hermes' own measure: what `inflight.assistant` of a resume counts. */
  all = ''

  /** True while the call has said anything. */
  get any(): boolean {
    return this.#shown !== ''
  }

  say(delta: string): AgentEvent[] {
    this.all += delta
    this.#streamed += delta
    return this.#show(this.#shown === '' ? trimmed(delta) : this.#repeat.take(this.#shown, delta))
  }

  /** What follows stands in a row of its own, though the call goes on: a thought, a question. */
  part(): void {
    this.#parted = this.#shown.length
  }

  /** A tool ran: the call is over. */
  tool(): void {
    this.#reset()
  }

  /** A model call begins. Where this one has said something it is tried again, and what it says again is not shown again (recording 10). */
  call(): void {
    this.#repeat.begin(this.#shown)
  }

  /** The whole text of the call, before its tools. */
  interim(text: string): AgentEvent[] {
    const events = [...this.#settle(text), { type: 'segment' } as const]
    this.#reset()
    return events
  }

  /** The whole text of the last call. */
  complete(text: string): AgentEvent[] {
    return this.#settle(text)
  }

  /** Whether a text is what was streamed of this call and nothing else: then it says nothing about an error (recording 10, cut stream). */
  isStreamed(text: string): boolean {
    return this.#streamed.trim() !== '' && (text.trim() === this.#streamed.trim() || text.trim() === this.#shown.trim())
  }

  #settle(text: string): AgentEvent[] {
    if (text.trim() === '') return []
    if (this.#shown === '') return [{ type: 'message', text: trimmed(text) }]
    // Hermes takes blanks at the ends away, and joins what retries repeat: neither is a correction.
    if (this.isStreamed(text)) return []
    if (text.startsWith(this.#shown)) return this.#show(text.slice(this.#shown.length))
    const same = Math.max(commonLength(this.#shown, text), this.#parted)
    const from = same - this.#parted
    const rest = commonLength(this.#shown, text) < this.#parted ? text : text.slice(same)
    this.#shown = this.#shown.slice(0, same) + rest
    return [{ type: 'text.replace', from, text: rest }]
  }

  #show(delta: string): AgentEvent[] {
    if (delta === '') return []
    this.#shown += delta
    return [{ type: 'text', delta }]
  }

  #reset(): void {
    this.#shown = ''
    this.#streamed = ''
    this.#parted = 0
    this.#repeat.end()
  }
}

/** The first text after tools begins with a blank line that belongs to no message (recording 02), also where the tool was the last thing of the turn before. */
function trimmed(text: string): string {
  return text.startsWith('\n\n') ? text.slice(2) : text
}

function commonLength(a: string, b: string): number {
  let i = 0
  while (i < a.length && i < b.length && a[i] === b[i]) i++
  // Never between the halves of a character.
  return i > 0 && /[\uD800-\uDBFF]/.test(a[i - 1]!) ? i - 1 : i
}
