import type { Socket } from 'node:net'
import type { Delivery, Sink, TurnEnd } from '../../port'
import { readLines, writeLine } from './frames'
import type { Command, Report } from './frames'

/** A connection for one chat: events to the sink in order, one after the other; the socket waits while the sink does. */
export class Line {
  #replies = new Map<number, { resolve: (delivery: Delivery) => void; reject: (error: Error) => void }>()
  #count = 0
  #turn: ((end: TurnEnd) => void) | null = null
  #first: ((report: Report | null) => void) | null = null
  #closed = false
  /** Reports that wait for a sink that keeps up. */
  #waiting: Report[] = []
  #busy = true

  constructor(private readonly socket: Socket, private readonly sink: Sink) {
    readLines(socket, (value) => void this.#take(value as Report))
    socket.on('close', () => this.#lost())
  }

  /** What answers the greeting; null when the connection ends before. */
  first(): Promise<Report | null> {
    return new Promise((resolve) => (this.#first = resolve))
  }

  end(): Promise<TurnEnd> {
    return new Promise((resolve) => {
      this.#turn = resolve
      if (this.#closed && !this.#busy) this.#over(DIED)
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  send(command: Command): void {
    void writeLine(this.socket, command)
  }

  leave(): void {
    this.socket.end()
  }

  ask(make: (id: number) => Command): Promise<Delivery> {
    const id = ++this.#count
    return new Promise((resolve, reject) => {
      if (this.#closed) return resolve({ state: 'refused', code: 'not_running' })
      this.#replies.set(id, { resolve, reject })
      void writeLine(this.socket, make(id))
    })
  }

  async #take(report: Report): Promise<void> {
    // Answers to commands do not wait for the text before them.
    if ('re' in report) {
      const reply = this.#replies.get(report.re)
      this.#replies.delete(report.re)
      return 'threw' in report ? reply?.reject(new Error(report.threw)) : reply?.resolve(report.delivery)
    }
    if (this.#first) {
      const first = this.#first
      this.#first = null
      return first(report)
    }
    this.#waiting.push(report)
    if (!this.#busy) await this.#drain()
  }

  /** Begins to tell the sink. */
  flow(): void {
    void this.#drain()
  }

  async #drain(): Promise<void> {
    this.#busy = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if ('end' in next) this.#over(next.end)
      if (!('event' in next)) continue
      const held = this.sink(next.event)
      if (!held) continue
      this.socket.pause()
      await held
      this.socket.resume()
    }
    this.#busy = false
    if (this.#closed) this.#over(DIED)
  }

  #over(end: TurnEnd): void {
    const turn = this.#turn
    this.#turn = null
    turn?.(end)
  }

  #lost(): void {
    this.#closed = true
    this.#first?.(null)
    for (const { resolve } of this.#replies.values()) resolve({ state: 'refused', code: 'not_running' })
    this.#replies.clear()
    if (!this.#busy) this.#over(DIED)
  }
}

const DIED: TurnEnd = { outcome: 'interrupted', problem: { code: 'agent_died', words: 'The scripted agent has ended.' } }
