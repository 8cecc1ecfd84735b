import type { AgentHistory, AgentSession, Opening, Sink, StoredMessage, TurnInput } from '../../server/agents/port'
import { Puppet } from './puppet'

type Kept = StoredMessage & { gone?: true }

/** One session of the store that the puppet keeps for itself. */
export interface KeptSession { title: string; messages: Kept[] }

/**
 * A puppet with a store of its own, as agents have that keep their history: what it is asked and what it says is written there, another program may write there too, and it can be taken back. `memory` is what
 * an open session knows, which is what was stored when it was opened.
 */
export class Remembering extends Puppet {
  readonly store = new Map<string, KeptSession>()
  /** What the model saw at the beginning of each turn, with its question: the words, oldest first. */
  readonly seen: string[][] = []
  /** How often each thing was asked of the store, and how many rows it gave. */
  readonly asked = { mark: 0, read: 0, rows: 0, seed: 0, rewind: 0 }
  /** The store as it is to be read; throws where it cannot be. */
  onRead: () => void = () => undefined
  /** What a rewind does instead of what it is asked. */
  onRewind: ((row: string, session: KeptSession) => void) | null = null
  /** After a rewind all that stands gets new ids, as where the store is written anew. */
  renames = false
  #ids = 0
  #last = ''

  readonly history: AgentHistory = {
    store: (profile) => `memory of ${profile.name}`,
    mark: async (_profile, foreign) => {
      this.asked.mark++
      this.onRead()
      const kept = this.store.get(foreign)
      return kept ? this.#markOf(kept) : null
    },
    read: async (_profile, foreign, from = 0) => {
      this.asked.read++
      this.onRead()
      const kept = this.store.get(foreign)
      const messages = kept ? standing(kept).slice(from) : []
      this.asked.rows += messages.length
      return kept ? { mark: this.#markOf(kept), messages } : null
    },
    seed: async (_profile, { title, messages }) => {
      this.asked.seed++
      this.onRead()
      const id = `theirs ${++this.#ids}`
      this.store.set(id, { title, messages: [] })
      for (const { role, text } of messages) this.write(id, role === 'user' ? { role, text } : { role, text, calls: [] })
      return id
    },
  }

  /** Another program, or the agent itself, writes into a session. */
  write(foreign: string, message: DistributiveOmit<StoredMessage, 'id' | 'at'>): string {
    const id = `${++this.#ids}`
    this.store.get(foreign)!.messages.push({ ...message, id, at: 1_700_000_000_000 + this.#ids * 1000 } as Kept)
    return id
  }

  /** The stored session that was opened last. */
  get foreign(): string {
    return this.#last
  }

  get words(): string[] {
    return standing(this.store.get(this.#last)!).map((message) => ('text' in message ? message.text : message.result))
  }

  /** Answers the turn that runs, and writes down what it said. */
  say(text: string, stored = text): void {
    this.turn.emit({ type: 'text', delta: text })
    this.write(this.#last, { role: 'assistant', text: stored, calls: [] })
    this.turn.end({ outcome: 'completed' })
  }

  /** As a tool that was called and ended within the turn. */
  uses(call: string, result: string): void {
    this.turn.emit({ type: 'tool.started', call, name: 'shell', verb: 'run', target: 'ls' })
    this.turn.emit({ type: 'tool.closed', call, state: 'done', result })
    this.write(this.#last, { role: 'assistant', text: '', calls: [{ call, name: 'shell', verb: 'run', target: 'ls' }] })
    this.write(this.#last, { role: 'tool', call, state: 'done', result })
  }

  override async open(opening: Opening, sink: Sink): Promise<AgentSession> {
    const session = await super.open(opening, sink)
    const lost = opening.foreign !== undefined && !this.store.has(opening.foreign)
    const foreign = opening.foreign !== undefined && !lost ? opening.foreign : `theirs ${++this.#ids}`
    if (!this.store.has(foreign)) {
      this.store.set(foreign, { title: '', messages: [] })
      void sink({ type: 'session.bound', foreign, why: opening.foreign === undefined ? 'first' : 'reseeded' })
    }
    const kept = this.store.get(foreign)!
    let memory = standing(kept).map(({ id }) => id)
    return {
      ...session,
      turn: (input: TurnInput) => {
        this.#last = foreign
        const known = new Set(memory)
        this.seen.push([...kept.messages.filter(({ id }) => known.has(id)).flatMap((message) => ('text' in message ? [message.text] : [])), input.text])
        const rows = standing(kept).length
        this.write(foreign, { role: 'user', text: input.text })
        void sink({ type: 'turn.bound', foreign, counters: { rows } })
        return session.turn(input).finally(() => (memory = standing(kept).map(({ id }) => id)))
      },
      rewind: async (row) => {
        this.asked.rewind++
        if (this.onRewind) this.onRewind(row, kept)
        else {
          const at = kept.messages.findIndex(({ id }) => id === row)
          for (const message of kept.messages.slice(at)) message.gone = true
        }
        if (this.renames) kept.messages = kept.messages.filter(({ gone }) => !gone).map((message) => ({ ...message, id: `${++this.#ids}` }))
        memory = standing(kept).map(({ id }) => id)
      },
    }
  }

  #markOf({ messages }: KeptSession): string {
    return `${messages.length} ${messages.filter(({ gone }) => gone).length} ${messages.at(-1)?.id ?? ''}`
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

function standing({ messages }: KeptSession): StoredMessage[] {
  return messages.filter(({ gone }) => !gone)
}
