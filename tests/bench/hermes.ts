import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import WebSocket from 'ws'
import { hermesProgram, Stage } from '../real/stage'
import { newSession, openStream, post } from './client'
import { quantile, round } from './figures'
import type { Result } from './main'

/** What Talaria adds to the real Hermes Agent: time to the first token over a bare driver, memory of a live chat, ten turns at once. */
export async function bench(): Promise<Result[]> {
  const stage = await Stage.set()
  try {
    return [...(await firstToken(stage)), ...(await memory(stage)), ...(await tenTurns(stage))]
  } finally {
    await stage.strike()
  }
}

const TURNS = 40
const PROMPT = '@@text One two three four.'

/** The same turns over Talaria and over a bare socket to a second program of the same kind, one after the other by turns, so that both meet the same machine. */
async function firstToken(stage: Stage): Promise<Result[]> {
  const bare = await startBare(stage.folder)
  try {
    const session = await newSession(stage.server.url)
    const stream = await openStream(`${stage.server.url}/api/events?session_id=${session}`)
    const ours: number[] = []
    const theirs: number[] = []
    for (let i = 0; i < TURNS + 5; i++) {
      const a = await throughTalaria(stage, session, stream)
      const b = await bare.turn(PROMPT)
      // The first ones warm both up.
      if (i >= 5) {
        ours.push(a)
        theirs.push(b)
      }
    }
    stream.close()
    const [p50, bareP50] = [quantile(ours, 0.5), quantile(theirs, 0.5)]
    return [
      { name: 'send to first token', unit: 'ms p50', value: round(p50), note: `bare driver ${round(bareP50)}; p90 ${round(quantile(ours, 0.9))} to ${round(quantile(theirs, 0.9))}` },
      { name: 'added to first token over a bare driver', unit: 'ms p50', value: round(p50 - bareP50), budget: 3 },
    ]
  } finally {
    bare.end()
  }
}

async function throughTalaria(stage: Stage, session: string, stream: Awaited<ReturnType<typeof openStream>>): Promise<number> {
  const at = performance.now()
  const first = stream.wait((text) => text.includes('"kind":"answer"'))
  const { stream_id: run } = (await post(`${stage.server.url}/api/chat/start`, { session_id: session, message: PROMPT })) as { stream_id: string }
  await first
  const took = performance.now() - at
  await stage.over(session, run)
  return took
}

interface Bare { turn(text: string): Promise<number>; end(): void }

/** A program and one socket, driven with nothing between. */
async function startBare(folder: string): Promise<Bare> {
  const token = randomBytes(16).toString('hex')
  const cwd = join(folder, 'bare')
  mkdirSync(cwd, { recursive: true })
  const child = spawn(hermesProgram(), ['-p', 'default', 'serve', '--isolated', '--host', '127.0.0.1', '--port', '0'], {
    cwd, stdio: ['ignore', 'pipe', 'ignore'], detached: true,
    env: { PATH: process.env.PATH ?? '', HOME: folder, LANG: 'C.UTF-8', HERMES_HOME: join(folder, 'home'), HERMES_DASHBOARD_SESSION_TOKEN: token, HERMES_TUI_TOOL_PROGRESS: 'verbose' },
  })
  const port = await new Promise<string>((found, failed) => {
    let said = ''
    child.stdout.on('data', (bytes: Buffer) => {
      said += String(bytes)
      const ready = /READY port=(\d+)/.exec(said)
      if (ready) found(ready[1]!)
    })
    child.once('exit', () => failed(new Error('the bare program ended')))
  })
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/ws?token=${token}`)
  await new Promise((opened, failed) => socket.once('open', opened).once('error', failed))
  type Frame = { id?: string; result?: Record<string, unknown>; params?: { type: string; session_id?: string; payload?: Record<string, unknown> } }
  const waiting = new Set<(frame: Frame) => void>()
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(String(data)) as Frame
    for (const each of [...waiting]) each(frame)
  })
  const frame = (wanted: (frame: Frame) => boolean): Promise<Frame> =>
    new Promise((found) => {
      const look = (each: Frame): void => {
        if (!wanted(each)) return
        waiting.delete(look)
        found(each)
      }
      waiting.add(look)
    })
  let calls = 0
  const call = async (method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const id = `b${++calls}`
    const answered = frame((each) => each.id === id)
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return (await answered).result ?? {}
  }
  const { session_id: live } = await call('session.create', { cwd, source: 'bench' })
  return {
    async turn(text) {
      const at = performance.now()
      const first = frame(({ params }) => params?.type === 'message.delta' && params.session_id === live)
      const over = frame(({ params }) => params?.type === 'message.complete' && params.session_id === live).then(() => frame(({ params }) => params?.type === 'session.info' && params.payload?.running === false))
      void call('prompt.submit', { session_id: live, text })
      await first
      const took = performance.now() - at
      await over
      return took
    },
    end() {
      socket.terminate()
      if (child.pid) process.kill(-child.pid, 'SIGKILL')
    },
  }
}

/** Resident memory of the program's whole group, by the kernel's numbers, before and after ten more chats. */
async function memory(stage: Stage): Promise<Result[]> {
  const total = (): number => stage.processes().reduce((sum, { pid }) => sum + resident(pid), 0)
  const server = (): number => resident(stage.server.child.pid!)
  const before = { all: total(), server: server() }
  const chats = 10
  for (let i = 0; i < chats; i++) {
    const session = await newSession(stage.server.url)
    const { stream_id: run } = (await post(`${stage.server.url}/api/chat/start`, { session_id: session, message: PROMPT })) as { stream_id: string }
    await stage.over(session, run)
  }
  return [
    { name: 'memory of a live chat: Hermes Agent', unit: 'MB', value: round((total() - before.all) / chats), note: `program before ${round(before.all)} MB` },
    { name: 'memory of a live chat: our server', unit: 'MB', value: round((server() - before.server) / chats), note: `server before ${round(before.server)} MB` },
  ]
}

function resident(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

/** Ten chats that write for about a second each, begun together. */
async function tenTurns(stage: Stage): Promise<Result[]> {
  const sessions: string[] = []
  for (let i = 0; i < 10; i++) {
    const session = await newSession(stage.server.url)
    const { stream_id: run } = (await post(`${stage.server.url}/api/chat/start`, { session_id: session, message: '@@text warm' })) as { stream_id: string }
    await stage.over(session, run)
    sessions.push(session)
  }
  const at = performance.now()
  await Promise.all(sessions.map(async (session) => {
    const { stream_id: run } = (await post(`${stage.server.url}/api/chat/start`, { session_id: session, message: '@@slow 20 50' })) as { stream_id: string }
    await stage.over(session, run)
  }))
  return [{ name: 'ten turns of a second at once', unit: 'ms', value: round(performance.now() - at) }]
}
