import type { Contact } from '../supervise/supervisor'
import type { Timers } from '../port'
import { HermesFault } from './port'
import type { Heard } from './protocol/events'
import { RpcSocket } from './socket'

/** ms between two tries to connect; the last one repeats as long as the program lives. */
const PAUSES = [0, 100, 300, 1_000, 3_000, 5_000] as const

export interface WireParts {
  contact: Contact
  timers: Timers
  event(heard: Heard): void
  /** An open socket was lost; the next one is being made. */
  lost(): void
}

/** One socket that is made again with growing pauses, until it is ended. A call never waits for one: it would come late, and mean something else then. */
export class Wire {
  #socket: RpcSocket | null = null
  #making: Promise<void> | null = null
  #ended = false
  #wake: (() => void) | null = null
  #last: string | undefined
  #garbage = 0
  #paused = false

  constructor(private readonly parts: WireParts) {
    void this.#make()
  }

  get open(): boolean {
    return !this.#ended && this.#socket?.open === true
  }

  get garbage(): number {
    return this.#garbage + (this.#socket?.garbage ?? 0)
  }

  /** Monotonic ms of the last frame; 0 before there was a socket. */
  get heard(): number {
    return this.#socket?.heard ?? 0
  }

  /** Resolves when the socket stands. Rejects with `lost` after `within` ms, or when the wire is ended. */
  async ready(within: number): Promise<void> {
    const end = this.parts.timers.monotonic() + within
    while (!this.open) {
      const left = end - this.parts.timers.monotonic()
      if (this.#ended || left <= 0) throw new HermesFault('lost', this.#last ?? 'The connection to Hermes is lost.')
      let cancel = (): void => undefined
      await Promise.race([this.#make(), new Promise<void>((resolve) => (cancel = this.parts.timers.after(left, resolve)))])
      cancel()
    }
  }

  call(method: string, params: object, within: number): Promise<unknown> {
    return this.#socket && !this.#ended ? this.#socket.call(method, params, within) : Promise.reject(new HermesFault('lost', 'The connection to Hermes is lost.'))
  }

  /** Stops reading, also from a socket that is made meanwhile. */
  pause(): void {
    this.#paused = true
    this.#socket?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#socket?.resume()
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
    this.#socket?.close()
  }

  #make(): Promise<void> {
    return (this.#making ??= this.#connect().finally(() => (this.#making = null)))
  }

  async #connect(): Promise<void> {
    for (let tries = 0; !this.#ended && !this.open; tries++) {
      const pause = PAUSES[Math.min(tries, PAUSES.length - 1)]!
      if (pause > 0) await this.#wait(pause)
      if (this.#ended) return
      try {
        const socket = await RpcSocket.open({ ...this.parts.contact, timers: this.parts.timers, event: this.parts.event, closed: () => this.#lost() })
        if (this.#ended) return socket.close()
        if (this.#socket) this.#garbage += this.#socket.garbage
        this.#socket = socket
        if (this.#paused) socket.pause()
      } catch (error) {
        this.#last = (error as Error).message
      }
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.parts.timers.after(ms, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }

  #lost(): void {
    if (this.#ended) return
    this.parts.lost()
    void this.#make()
  }
}
