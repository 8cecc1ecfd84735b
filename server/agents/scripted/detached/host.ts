import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { Timers } from '../../port'
import { realEcho } from '../echo'
import { realFolder } from '../folder'
import { Memory } from '../memory'
import { scriptedSession } from '../session'
import { HeldChat } from './chat'
import { readLines, writeLine } from './frames'
import type { Command, Hello } from './frames'
import { readRecord, writeRecord } from '../../supervise/record'
import type { Table } from '../../supervise/record'

export interface HostParts {
  /** Where its record lies; when that is gone or another's, it ends. */
  folder: string
  timers: Timers
  table: Table
  scale: number
  /** Ends the process. */
  exit: () => void
}

/** ms that it stays with nothing to do and nobody there. */
const IDLE = 20_000
/** ms that it plays on, or keeps an end, for a server that does not come back. */
const ORPHANED = 600_000
/** ms that a server which has come back has to take up its turns. */
const CLAIM = 60_000
/** ms between two looks at its record and at what it has to do. */
const LOOK = 500
/** ms that a stranger has to say its token. */
const GREETING = 5_000

/**
 * The scripted agent in a process of its own (spec/log.md §9): it outlasts the server, plays on without it, and gives its turns to the next one. It listens on
 * loopback alone and answers nobody who does not know the token of its record. It ends by itself: idle, forgotten, or when its folder is gone.
 */
export async function hostScripted({ folder, timers, table, scale, exit }: HostParts): Promise<void> {
  const token = randomBytes(32).toString('base64url')
  const chats = new Map<string, HeldChat>()
  const memory = new Memory()
  let needed = timers.monotonic()
  let adopted: number | null = null

  const make = (session: string, cwd: string, echoes: boolean): HeldChat =>
    new HeldChat(
      (sink) => scriptedSession({ timers, scale, folder: realFolder(), echo: realEcho, memory, closed: () => undefined, ...(echoes ? { echoes } : {}) }, { session, cwd }, sink),
      () => `turn_${randomBytes(9).toString('base64url')}`,
    )
  const drop = async (session: string, chat: HeldChat): Promise<void> => {
    if (chats.get(session) === chat) chats.delete(session)
    await chat.end()
  }
  const serve = async (socket: Socket, hello: Hello): Promise<((command: Command) => void) | null> => {
    needed = timers.monotonic()
    switch (hello.do) {
      case 'open': {
        const before = chats.get(hello.session)
        if (before) await drop(hello.session, before)
        const chat = make(hello.session, hello.cwd, hello.echoes ?? false)
        chats.set(hello.session, chat)
        chat.attach(socket)
        void writeLine(socket, { ready: true })
        return obedient(hello.session, chat)
      }
      case 'reattach': {
        const chat = chats.get(hello.session)
        if (!chat) {
          void writeLine(socket, { found: { state: 'gone' } })
          return null
        }
        chat.takeUp(hello, socket)
        return obedient(hello.session, chat)
      }
      case 'adopt':
        adopted = timers.monotonic()
        void writeLine(socket, { ready: true, turns: [...chats].flatMap(([session, { turn }]) => (turn ? [{ session, foreign: turn.foreign }] : [])) })
        return null
      case 'end': {
        const idle = ![...chats.values()].some((chat) => chat.plays)
        void writeLine(socket, { ending: idle })
        if (idle) socket.end(exit)
        return null
      }
    }
  }
  const obedient = (session: string, chat: HeldChat) => (command: Command) => {
    needed = timers.monotonic()
    void (command.do === 'close' ? drop(session, chat) : chat.obey(command)).catch(() => undefined)
  }

  const server = createServer((socket) => {
    let obey: ((command: Command) => void) | null = null
    let greeted = false
    socket.on('error', () => undefined)
    const late = timers.after(GREETING, () => {
      if (!greeted) socket.destroy()
    })
    socket.on('close', late)
    // Commands that arrive before the greeting is served wait for it, in their order.
    let served: Promise<unknown> = Promise.resolve()
    readLines(socket, (value) => {
      if (!greeted) {
        const hello = value as Hello
        greeted = true
        late()
        if (!isToken(hello?.token, token)) return void socket.destroy()
        served = serve(socket, hello).then((given) => (obey = given))
        return
      }
      served = served.then(() => obey?.(value as Command))
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const [startTime, boot] = await Promise.all([table.startTime(process.pid), table.bootId()])
  await writeRecord(folder, { pid: process.pid, startTime, boot, port: (server.address() as AddressInfo).port, token })

  const look = async (): Promise<void> => {
    if ((await readRecord(folder))?.token !== token) return exit()
    const now = timers.monotonic()
    if (adopted !== null && now - adopted > CLAIM) {
      adopted = null
      for (const [session, chat] of [...chats]) if (!chat.attached) await drop(session, chat)
    }
    if ([...chats.values()].some((chat) => chat.attached)) needed = now
    const held = [...chats.values()].some((chat) => chat.turn !== null)
    if (now - needed > (held ? ORPHANED : IDLE)) return exit()
    timers.after(LOOK, () => void look())
  }
  timers.after(LOOK, () => void look())
}

function isToken(given: unknown, token: string): boolean {
  const [a, b] = [Buffer.from(typeof given === 'string' ? given : ''), Buffer.from(token)]
  return a.length === b.length && timingSafeEqual(a, b)
}
