import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { AgentSession, Binding, Opening, Reattached, Sink, Timers } from '../../port'
import { DETACHED_FLAG, writeLine } from './frames'
import type { Found, Greeting } from './frames'
import { Line } from './line'
import { isStill, readRecord } from '../../supervise/record'
import type { ProgramRecord, Table } from '../../supervise/record'

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
  /** The turns that it held when this server came. */
  survivors(): Promise<{ session: string; foreign: string }[]>
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
  let starting: Promise<ProgramRecord> | null = null

  const greet = async (record: ProgramRecord, hello: Greeting): Promise<Socket> => {
    const socket = connect({ port: record.port, host: '127.0.0.1', noDelay: true })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    socket.on('error', () => undefined)
    void writeLine(socket, { ...hello, token: record.token })
    return socket
  }
  const found = async (): Promise<ProgramRecord | null> => {
    const record = await readRecord(folder)
    return record && (await isStill(record, table)) !== 'no' ? record : null
  }
  const start = async (): Promise<ProgramRecord> => {
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

  const adopt = async (): Promise<{ session: string; foreign: string }[]> => {
    const record = await found()
    const socket = record && (await greet(record, { do: 'adopt' }).catch(() => null))
    if (!socket) return []
    const first = await new Line(socket, () => undefined).first()
    socket.end()
    return first && 'ready' in first ? (first.turns ?? []) : []
  }
  const adopted = adopt().catch(() => [])
  return {
    survivors: () => adopted,
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
      const socket = record && (await greet(record, { do: 'reattach', session: opening.session, foreign: binding.foreign, ...(binding.shown ? { shown: binding.shown } : {}), ...(binding.steers ? { steers: binding.steers } : {}) }).catch(() => null))
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

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
