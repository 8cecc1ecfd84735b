import type { Delivery, Sink } from '../port'
import type { Pace } from './pace'
import type { SteerMode } from './step'

/** Words that a scripted turn was given while it works, until it hears them. */
export class Inbox {
  mode: SteerMode = 'any'
  #waiting: { steer: string; text: string }[] = []
  #arrived = new Set<() => void>()

  constructor(private readonly sink: Sink, private readonly pace: Pace) {}

  /** Takes one, or refuses or throws as the script says. */
  put(steer: string, text: string): Delivery {
    if (this.mode === 'throw') throw new Error('the scripted agent throws at this word')
    if (this.mode === 'refuse') return { state: 'refused', code: 'unsupported', words: 'The script takes no words now.' }
    this.#waiting.push({ steer, text })
    for (const arrived of [...this.#arrived]) arrived()
    return { state: 'delivered' }
  }

  /** Hears what waits, if this is the place for it: says that it was delivered, and gives the words. */
  async hear(at: 'text' | 'tool' | 'wait'): Promise<string[]> {
    if (this.mode === 'never' || (at !== 'wait' && this.mode !== 'any' && this.mode !== at)) return []
    const heard = this.#waiting.splice(0)
    for (const { steer } of heard) await this.sink({ type: 'steer.delivered', steer, evidence: at === 'tool' ? 'inferred' : 'seen' })
    return heard.map(({ text }) => text)
  }

  /** Resolves when a word waits, or after `ms` (real). */
  async arrival(ms?: number): Promise<void> {
    if (this.#waiting.length > 0) return
    await this.pace.until((done) => {
      this.#arrived.add(done)
      const cancel = ms === undefined ? undefined : this.pace.after(ms, done)
      return () => {
        this.#arrived.delete(done)
        cancel?.()
      }
    })
  }
}
