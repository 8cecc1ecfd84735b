import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { AgentSession, Binding, Delivery, Opening, Reattached, Sink, Timers, TurnEnd } from '../../port'
import { DETACHED_FLAG, readLines, writeLine } from './frames'
import type { Command, Found, Greeting, Report } from './frames'
import { isStill, readRecord } from './record'
import type { AgentRecord, Table } from './record'

export interface DetachedParts {
  timers: Timers
  table: Table
  /** The agent's own folder in the state folder: its record, and where it stands. */
  folder: string
  /** The server's own program, which is the agent when it is told so. */
  main: string
  scale?: number
}

/** The scripted agent in a process of its own. */
export interface Detached {
  open(opening: Opening, sink: Sink, echoes: boolean): Promise<AgentSession>
  reattach(opening: Opening, binding: Binding, sink: Sink): Promise<Reattached>
  /** Ends the process if nothing plays in it; else it stays for the next server. */
  end(): Promise<void>
}

/** ms until a started process must have written its record, and between two looks. */
const START = 15_000
const LOOK = 25
/** ms that an ending process has before it is ended by its number. */
const LEAVE = 3_000

/** Speaks to the detached agent of a folder; starts it when a chat opens and none is there. A record that an earlier server left is adopted at once. */
export function makeDetached(parts: DetachedParts): Detached {
  const { timers, table, folder } = parts
  let starting: Promise<AgentRecord> | null = null

  const greet = async (record: AgentRecord, hello: Greeting): Promise<Socket> => {
    const socket = connect({ port: record.port, host: '127.0.0.1', noDelay: true })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    socket.on('error', () => undefined)
    void writeLine(socket, { ...hello, token: record.token })
    return socket
  }
  const found = async (): Promise<AgentRecord | null> => {
    const record = await readRecord(folder)
    return record && (await isStill(record, table)) !== 'no' ? record : null
  }
  const start = async (): Promise<AgentRecord> => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const child = spawn(process.execPath, [parts.main, DETACHED_FLAG, folder, String(parts.scale ?? 1)], {
      cwd: folder, detached: true, stdio: 'ignore', env: { PATH: process.env.PATH ?? '', ...(process.env.HOME === undefined ? {} : { HOME: process.env.HOME }) },
    })
    child.unref()
    let over: string | null = null
    child.once('error', (error) => (over = error.message))
    child.once('exit', (code) => (over = `it ended with ${code}`))
    for (let waited = 0; waited < START && over === null; waited += LOOK) {
      const record = await readRecord(folder)
      if (record !== null && record.pid === child.pid) return record
      await new Promise<void>((resolve) => void timers.after(LOOK, resolve))
    }
    throw new Error(`The scripted agent did not start: ${over ?? 'no sign of it'}.`)
  }
  /** A process that answers, or a new one; one start at a time. */
  const ensure = async (hello: Greeting): Promise<Socket> => {
    const record = await (starting ?? found())
    if (record) {
      const socket = await greet(record, hello).catch(() => null)
      if (socket) return socket
    }
    const begun = (starting ??= start().finally(() => (starting = null)))
    return greet(await begun, hello)
  }

  void found().then((record) => record && greet(record, { do: 'adopt' }).then((socket) => socket.end(), () => undefined))
  return {
    async open(opening, sink, echoes) {
      const begin = async (): Promise<Line> => {
        const line = new Line(await ensure({ do: 'open', session: opening.session, cwd: opening.cwd, ...(echoes ? { echoes } : {}) }), sink)
        if (!(await line.first())) throw new Error('The scripted agent ended the connection.')
        line.flow()
        return line
      }
      return sessionOf(await begin(), begin, echoes)
    },
    async reattach(opening, binding, sink) {
      const record = await found()
      const socket = record && (await greet(record, { do: 'reattach', session: opening.session, foreign: binding.foreign, ...(binding.shown ? { shown: binding.shown } : {}) }).catch(() => null))
      if (!socket) return { state: 'gone' }
      const line = new Line(socket, sink)
      const first = await line.first()
      const state: Found = first && 'found' in first ? first.found : { state: 'gone' }
      if (state.state !== 'running') {
        socket.end()
        return state
      }
      // What comes after the snapshot is told after it was given.
      setImmediate(() => line.flow())
      return { ...state, session: sessionOf(line, () => Promise.reject(new Error('This turn is over.')), false), end: line.end() }
    },
    async end() {
      const record = await found()
      const socket = record && (await greet(record, { do: 'end' }).catch(() => null))
      if (!record || !socket) return
      const first = await new Line(socket, () => undefined).first()
      socket.destroy()
      if (!first || !('ending' in first) || !first.ending) return
      for (let waited = 0; waited < LEAVE; waited += LOOK) {
        if (!runs(record.pid) || (await isStill(record, table)) === 'no') return
        await new Promise<void>((resolve) => void timers.after(LOOK, resolve))
      }
      if ((await isStill(record, table)) === 'yes') process.kill(record.pid, 'SIGKILL')
    },
  }
}

/** A chat over a line; a new turn gets a new one where the process has ended since the last. */
function sessionOf(first: Line, again: () => Promise<Line>, echoes: boolean): AgentSession {
  let line = first
  return {
    ...(echoes ? { echoes } : {}),
    async turn(input) {
      if (line.closed) line = await again()
      const end = line.end()
      line.send({ do: 'turn', input })
      return end
    },
    decide: (question, choice) => line.ask((id) => ({ do: 'decide', id, question, text: choice })),
    answer: (question, text) => line.ask((id) => ({ do: 'answer', id, question, text })),
    give: (question, value) => line.ask((id) => ({ do: 'give', id, question, value })),
    steer: (steer, text) => line.ask((id) => ({ do: 'steer', id, steer, text })),
    stop: async (reason) => line.send({ do: 'stop', reason }),
    close: async () => {
      line.send({ do: 'close' })
      line.leave()
    },
  }
}

/** A connection for one chat: events to the sink in order, one after the other; the socket waits while the sink does. */
class Line {
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

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
