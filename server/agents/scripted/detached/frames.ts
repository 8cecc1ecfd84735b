import type { Socket } from 'node:net'
import type { AgentEvent, AgentSession, Delivery, Shown, TurnEnd, TurnInput } from '../../port'

/** Hidden argument that makes the server's own program be the detached agent: `main.js --scripted-agent <folder> [<scale>]`. */
export const DETACHED_FLAG = '--scripted-agent'

/** First line of a connection; nothing is answered before the token fits. One connection serves one chat. */
export type Hello = Greeting & { token: string }
export type Greeting =
  | { do: 'open'; session: string; cwd: string; echoes?: boolean }
  /** After a restart of the server: the turn of that foreign id. */
  | { do: 'reattach'; session: string; foreign: string; shown?: Shown[]; steers?: string[] }
  /** A server is there: turns that it does not take up soon are nobody's. */
  | { do: 'adopt' }
  /** The server ends: the agent ends too, if nothing plays. */
  | { do: 'end' }

type StopReason = Parameters<AgentSession['stop']>[0]

/** What the server asks of the chat of this connection; those with an `id` are answered by `re`. */
export type Command =
  | { do: 'turn'; input: TurnInput }
  | { do: 'decide' | 'answer'; id: number; question: string; text: string }
  | { do: 'give'; id: number; question: string; value: string | null }
  | { do: 'steer'; id: number; steer: string; text: string }
  | { do: 'stop'; reason: StopReason }
  | { do: 'close' }

/** What a turn looks like to a server that takes it up again. */
export type Found =
  | { state: 'running'; message: string | null; open: string[]; taken: string[] }
  | { state: 'ended'; end: TurnEnd; message: string; closed: ClosedCall[]; used: string[] }
  | { state: 'gone' }
export interface ClosedCall { call: string; state: 'done' | 'failed' | 'cancelled' | 'denied' | 'unknown'; result?: string }

export type Report =
  | { event: AgentEvent }
  | { re: number; delivery: Delivery }
  | { re: number; threw: string }
  | { end: TurnEnd }
  | { found: Found }
  /** `turns`: to one that adopts the agent, what it holds. */
  | { ready: true; turns?: { session: string; foreign: string }[] }
  | { ending: boolean }

/** Longest line that is read, UTF-16 units; a longer one ends the connection. */
const LINE_LIMIT = 8 * 1024 * 1024

/** Calls `take` for each line of JSON that arrives. What is no JSON, or too long, ends the connection. */
export function readLines(socket: Socket, take: (value: unknown) => void): void {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (piece: string) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()!
    if (rest.length > LINE_LIMIT) socket.destroy()
    for (const line of lines) {
      let value: unknown
      try {
        value = JSON.parse(line)
      } catch {
        socket.destroy()
        return
      }
      take(value)
    }
  })
}

/** Writes one line; a promise while the other side does not keep up, or once it is gone. */
export function writeLine(socket: Socket, value: Hello | Command | Report): void | Promise<void> {
  if (socket.destroyed || socket.write(`${JSON.stringify(value)}\n`)) return
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done)
      socket.off('close', done)
      resolve()
    }
    socket.on('drain', done)
    socket.on('close', done)
  })
}
