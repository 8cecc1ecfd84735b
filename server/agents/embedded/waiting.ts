import type { Timers } from '../port'
import type { Decision } from './step'

/** What a person said to one question. */
export type Said = { kind: 'choice'; choice: Exclude<Decision, 'stopped'> } | { kind: 'words'; words: string } | { kind: 'over' } | { kind: 'stopped' }

interface Asked { kind: 'choice' | 'words'; /** Choice ids that it offers. */ offered: readonly string[]; take: (said: Said) => void }

/** Questions of one turn that wait for a person: each takes one answer, of its own kind, among what it offered. */
export class Waiting {
  #asked = new Map<string, Asked>()
  #stopped = false

  constructor(private readonly timers: Timers) {}

  /** Resolves once, whatever comes first; after `ms` as `over`. */
  wait(question: string, kind: Asked['kind'], offered: readonly string[], ms?: number): Promise<Said> {
    if (this.#stopped) return Promise.resolve({ kind: 'stopped' })
    return new Promise((resolve) => {
      const take = (said: Said): void => {
        cancel?.()
        this.#asked.delete(question)
        resolve(said)
      }
      const cancel = ms === undefined ? undefined : this.timers.after(ms, () => take({ kind: 'over' }))
      this.#asked.set(question, { kind, offered, take })
    })
  }

  choose(question: string, choice: string): 'taken' | 'gone' | 'not_offered' {
    const asked = this.#asked.get(question)
    if (asked?.kind !== 'choice') return 'gone'
    if (!asked.offered.includes(choice)) return 'not_offered'
    asked.take({ kind: 'choice', choice: choice as Exclude<Decision, 'stopped'> })
    return 'taken'
  }

  answer(question: string, words: string): 'taken' | 'gone' {
    const asked = this.#asked.get(question)
    if (asked?.kind !== 'words') return 'gone'
    asked.take({ kind: 'words', words })
    return 'taken'
  }

  stop(): void {
    this.#stopped = true
    for (const { take } of [...this.#asked.values()]) take({ kind: 'stopped' })
  }
}
