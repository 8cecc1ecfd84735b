import type { ChoiceKind } from '../../contract/approvals'

/** What the person allowed or refused beyond once, as long as the agent lives: exact commands, for a chat or for all. */
export class Memory {
  #session = new Set<string>()
  #always = new Set<string>()
  #never = new Set<string>()

  /** What was said of this command before; null: ask. */
  of(session: string, command: string): 'allowed' | 'refused' | null {
    if (this.#never.has(command)) return 'refused'
    return this.#always.has(command) || this.#session.has(`${session}\n${command}`) ? 'allowed' : null
  }

  keep(session: string, command: string, kind: ChoiceKind): void {
    if (kind === 'session') this.#session.add(`${session}\n${command}`)
    if (kind === 'always') this.#always.add(command)
    if (kind === 'deny_always') this.#never.add(command)
  }
}
