import type { Draft } from '../contract/events'
import { EchoIndex } from '../contract/echo-index'
import { ReasoningEcho } from '../contract/reasoning-echo'
import type { LiveRow, LiveRows } from './live-rows'

/**
 * What an agent says and thinks, as rows of text: one at a time is live, and a whole message that the agent repeats appears once
 * (spec/settlement.md §4). For agents whose reasoning may repeat their words the echo is left out, or cut off where it was shown already.
 */
export class TextRows {
  #text: LiveRow | null = null
  #lastAnswer: LiveRow | null = null
  /** Text of the last answer row; joined by `+`, and read only when the agent corrects or repeats itself. */
  #lastText = ''
  /** What was said before the rows of this run. */
  #before = ''
  #answerIsFinal = false
  #thoughts: { current: LiveRow | null; previous: LiveRow | null } = { current: null, previous: null }
  #echo: ReasoningEcho | null = null
  /** Everything that was said, for agents without echo: what is not looked for costs nothing but its place. */
  #said = new EchoIndex()
  #unread = ''
  #firstToken: number | undefined

  constructor(private readonly rows: LiveRows, private readonly startedAt: number) {}

  /** ms from the run's start to its first word. */
  get firstToken(): number | undefined {
    return this.#firstToken
  }

  /** The answer that the run ends with, unless a tool came after it. */
  get finalRow(): string | undefined {
    return this.#answerIsFinal && this.#lastAnswer && this.#lastAnswer.length > 0 ? this.#lastAnswer.id : undefined
  }

  /** The last answer as it stands. */
  get answer(): { row: string; text: string } | null {
    return this.#lastAnswer && { row: this.#lastAnswer.id, text: this.#lastText }
  }

  /** From now on reasoning is compared with what is said. */
  watchEcho(): void {
    if (this.#echo) return
    if (this.#text?.kind === 'thought') this.end()
    this.#echo = new ReasoningEcho()
    this.#echo.visible(this.#unread)
    this.#unread = ''
  }

  say(delta: string): void {
    if (delta !== '') this.#add('answer', delta)
  }

  think(delta: string): void {
    const shown = this.#echo ? this.#echo.reasoning(delta) : delta
    if (shown !== '') this.#add('thought', shown)
  }

  /** Drafts that close the text that is live. */
  ending(): Draft[] {
    const row = this.#text
    if (!row) return []
    this.#text = null
    if (row.kind === 'thought' && this.#echo) {
      if (this.#echo.boundary()) this.#thoughts.previous = this.#thoughts.current
      this.#thoughts.current = null
    }
    return this.rows.closing(row.id, 'done')
  }

  /** Later text opens a row of its own. */
  end(): void {
    this.rows.push(this.ending(), 'soon')
  }

  /** A tool begins: what was said before it is no final answer. */
  endForTool(): Draft[] {
    this.#answerIsFinal = false
    return this.ending()
  }

  /** The agent corrects its answer from a place on. */
  replace(from: number, text: string): void {
    const row = this.#lastAnswer
    if (!row) return this.say(text)
    const keep = Math.max(0, Math.min(Math.floor(from), row.length))
    this.rows.cut(row, keep, 'agent_corrected')
    this.#corrected(this.#lastText.slice(0, keep))
    this.say(text)
  }

  /** A whole message: what of it was said already is not said again, and reasoning that it ends is taken back. */
  message(text: string): void {
    if (text.trim() === '') return
    const row = this.#text?.kind === 'answer' ? this.#text : null
    if (this.#repeats(text)) return this.end()
    // Its beginning stands in the row that is live: only the rest is new.
    if (row && row.length > 0 && text.startsWith(this.#lastText)) this.#sayRest(row, text)
    else {
      this.end()
      this.say(text)
    }
    this.end()
  }

  /** What runs of the turn before this one have said: the agent may repeat it. */
  recall(said: string): void {
    this.#before = said
    this.#corrected('')
  }

  /** Goes on in rows of the run before (`reopens`); `text`: what the last text row of them holds. */
  resume(row: LiveRow, text: string): void {
    this.#text = row
    if (row.kind !== 'answer') return
    this.#lastAnswer = row
    this.#answerIsFinal = true
    this.#corrected(text)
  }

  /** The message that the agent is in, as it has it now: goes on with the rest of it, or writes the row anew where it does not begin like the row (spec/log.md §9). */
  superseded(message: string): void {
    const row = this.#text
    if (row?.kind !== 'answer') return this.say(message)
    if (!message.startsWith(this.#lastText)) {
      this.rows.cut(row, 0, 'superseded')
      this.#corrected('')
    }
    this.#sayRest(row, message)
  }

  /** What of a text its row, which begins like it, does not hold yet. */
  #sayRest(row: LiveRow, text: string): void {
    row.chars.rest()
    this.say(text.slice(this.#lastText.length))
  }

  #add(kind: 'answer' | 'thought', delta: string): void {
    this.#firstToken ??= this.rows.since(this.startedAt)
    if (this.#text && this.#text.kind !== kind) this.end()
    const row = this.#text
    if (row) {
      const text = this.rows.grow(row, delta)
      if (kind === 'answer') this.#shown(text)
      return
    }
    const { row: opened, draft } = this.rows.open({ kind }, delta)
    this.#text = opened
    if (kind === 'answer') {
      this.#lastAnswer = opened
      this.#lastText = ''
      this.#answerIsFinal = true
      this.#shown(draft.text ?? '')
    } else if (this.#echo) this.#thoughts.current = opened
    this.rows.pushText(opened, draft)
  }

  #shown(text: string): void {
    this.#lastText += text
    if (this.#echo) this.#echo.visible(text)
    else this.#unread += text
  }

  /** What stands of the last answer is `text` now: what comes is compared with that. */
  #corrected(text: string): void {
    this.#lastText = text
    if (this.#echo) this.#echo.corrected(this.#before + text)
    else {
      this.#said.reset()
      this.#unread = this.#before + text
    }
  }

  #repeats(text: string): boolean {
    if (this.#echo) {
      const { alreadySaid, cut } = this.#echo.message(text)
      const row = cut && this.#thoughts[cut.segment]
      if (row) this.rows.cut(row, cut.keep, 'echo')
      return alreadySaid
    }
    this.#said.append(this.#unread)
    this.#unread = ''
    return this.#said.matchesTail(text)
  }
}
