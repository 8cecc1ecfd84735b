import type { AgentEvent } from '../port'
import type { UserMessage } from './messages'

interface Word { steer: string; text: string }

/**
 * Words that a person sends into a running turn. They stand before the model's next call; they count as delivered when the model has begun to answer it, and
 * only then are they kept. What no call took is the run's to give back.
 */
export class Words {
  #waiting: Word[] = []
  #sent: Word[] = []

  put(steer: string, text: string): void {
    this.#waiting.push({ steer, text })
  }

  /** Messages for the call that is about to be made. */
  take(): UserMessage[] {
    this.#sent.push(...this.#waiting.splice(0))
    return this.#sent.map(({ text }) => ({ role: 'user', text }))
  }

  /** The model answers the call: what went with it has been seen. Once for each word. */
  async seen(emit: (event: AgentEvent) => Promise<void>, keep: (messages: UserMessage[]) => Promise<void>): Promise<void> {
    for (const { steer, text } of this.#sent.splice(0)) {
      await keep([{ role: 'user', text }])
      await emit({ type: 'steer.delivered', steer, evidence: 'seen' })
    }
  }
}
