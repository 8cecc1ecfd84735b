import type { AgentEvent, Delivery } from '../port'
import { HermesFault } from './port'
import type { HermesProgram } from './port'
import type { HermesEvent } from './protocol/events'
import { wellFormedWords } from './prompt'

interface Word { steer: string; text: string; state: 'waits' | 'sent' | 'with_hermes' | 'used_next'; /** Tools that were open when Hermes had it. */ tools: ReadonlySet<string> }

/**
 * Words into a running turn. Hermes hands one to its model with the result of a tool, and drops what comes at any other time without a notice (trap 8), so
 * a word waits here until a tool of the main agent is open. It counts as used once a tool that was open then has ended and the model has gone on: nothing
 * in the protocol says more. What is not used by the turn's end is the caller's to give back.
 */
export class Words {
  #words: Word[] = []

  constructor(private readonly program: HermesProgram, private readonly open: () => readonly string[]) {}

  async put(live: string, steer: string, text: string): Promise<Delivery> {
    const word: Word = { steer, text: wellFormedWords(text), state: 'waits', tools: new Set() }
    if (word.text.trim() === '') return { state: 'refused', code: 'relay_failed', words: 'There are no words in it.' }
    this.#words.push(word)
    if (this.open().length === 0) return { state: 'delivered' }
    return this.#send(live, word)
  }

  /** After each event of the turn. */
  hear(event: HermesEvent, live: string): AgentEvent[] {
    if (event.type === 'tool.start') for (const word of this.#words.filter(({ state }) => state === 'waits')) void this.#send(live, word)
    if (event.type === 'tool.complete') {
      for (const word of this.#words) if (word.state === 'with_hermes' && word.tools.has(event.payload.tool_id)) word.state = 'used_next'
    }
    if (!goesOn(event) || this.open().length > 0) return []
    const used = this.#words.filter(({ state }) => state === 'used_next')
    this.#words = this.#words.filter((word) => !used.includes(word))
    return used.map(({ steer }) => ({ type: 'steer.delivered', steer, evidence: 'inferred' }))
  }

  clear(): void {
    this.#words = []
  }

  async #send(live: string, word: Word): Promise<Delivery> {
    word.state = 'sent'
    try {
      const { status } = await this.program.call('session.steer', { session_id: live, text: word.text })
      if (status === 'rejected') return this.#drop(word, 'Hermes Agent did not take it.')
      word.tools = new Set(this.open())
      word.state = 'with_hermes'
      return { state: 'delivered' }
    } catch (error) {
      if (!(error instanceof HermesFault)) throw error
      return this.#drop(word, error.message)
    }
  }

  /** It is with nobody: one that was taken before is given back at the turn's end, because it is never used. */
  #drop(word: Word, words: string): Delivery {
    this.#words = this.#words.filter((each) => each !== word)
    return { state: 'refused', code: 'relay_failed', words }
  }
}

/** The model has said something after its tools. */
function goesOn({ type }: HermesEvent): boolean {
  return type === 'message.delta' || type === 'reasoning.delta' || type === 'tool.generating' || type === 'message.interim' || type === 'message.complete'
}
