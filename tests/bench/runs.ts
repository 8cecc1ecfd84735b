import { performance } from 'node:perf_hooks'
import { removeFolder, startProduct, type Product } from '../support/product'
import { newSession, openStream, post } from './client'
import { quantile, round } from './figures'
import type { Result } from './main'

/** What many runs at once cost the server, and what one long answer costs it. */
export async function bench(): Promise<Result[]> {
  return [...(await manyRuns()), ...(await longAnswer())]
}

const RUNS = 100
const DELTAS = 20_000

/** Loaded before the server: on SIGUSR2 it prints the event loop's delay since the last time, and the CPU time so far, both in ms. */
const GAUGE = `import { monitorEventLoopDelay } from 'node:perf_hooks'
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
process.on('SIGUSR2', () => {
  const { user, system } = process.cpuUsage()
  console.error('gauge ' + JSON.stringify({ p99: delay.percentile(99) / 1e6, max: delay.max / 1e6, cpu: (user + system) / 1e3 }))
  delay.reset()
})`

interface Gauge { p99: number; max: number; cpu: number }

async function gauged<T>(work: (server: Product, gauge: () => Promise<Gauge>) => Promise<T>): Promise<T> {
  const server = await startProduct({ args: ['--demo'], env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(GAUGE)}` } })
  try {
    return await work(server, async () => {
      const known = server.said().length
      server.child.kill('SIGUSR2')
      for (;;) {
        const line = /^gauge (.*)$/m.exec(server.said().slice(known))
        if (line) return JSON.parse(line[1]!) as Gauge
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    })
  } finally {
    await server.kill()
    removeFolder(server.folder)
  }
}

/** A hundred chats that think, use a tool and write for about five seconds, while each of them is sent two messages for later. */
function manyRuns(): Promise<Result[]> {
  return gauged(async (server, gauge) => {
    const sessions: string[] = []
    for (let i = 0; i < RUNS; i++) sessions.push(await newSession(server.url))
    const message = `[[reason:Let me see.]][[tool:read {"target":"a.md","verb":"read","result":"text"}]]${'[[say:Some words of an answer. ]][[delay:25]]'.repeat(200)}`
    const before = await counted(server)
    const first = await gauge()
    const began = performance.now()
    const taken: number[] = []
    const timed = async (path: string, body: unknown) => {
      const at = performance.now()
      await post(`${server.url}${path}`, body)
      taken.push(performance.now() - at)
    }
    await Promise.all(sessions.map(async (session) => {
      await timed('/api/chat/start', { session_id: session, message })
      for (let i = 0; i < 2; i++) {
        await new Promise((resolve) => setTimeout(resolve, 1000))
        await timed('/api/session/rename', { session_id: session, title: `Name ${i}` })
      }
    }))
    for (;;) {
      const { active_runs } = await counted(server)
      if (active_runs === 0) break
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const seconds = (performance.now() - began) / 1000
    const last = await gauge()
    const after = await counted(server)
    return [
      { name: `${RUNS} runs at once: commits`, unit: 'per second', value: round((after.commits - before.commits) / seconds), note: `${round((after.events - before.events) / seconds)} events per second, over ${round(seconds)} s` },
      { name: `${RUNS} runs at once: acknowledged`, unit: 'ms p50', value: round(quantile(taken, 0.5)), note: `of ${taken.length} sends and renames` },
      { name: `${RUNS} runs at once: acknowledged`, unit: 'ms p99', value: round(quantile(taken, 0.99)) },
      { name: `${RUNS} runs at once: event loop delay`, unit: 'ms p99', value: round(last.p99), note: `max ${round(last.max)}` },
      { name: `${RUNS} runs at once: CPU`, unit: '% of one core', value: round((last.cpu - first.cpu) / seconds / 10) },
    ]
  })
}

async function counted(server: Product): Promise<{ commits: number; events: number; active_runs: number }> {
  const health = (await (await fetch(`${server.url}/health?deep=1`)).json()) as { active_runs: number; checks: { commits: number; events: number } }
  return { commits: health.checks.commits, events: health.checks.events, active_runs: health.active_runs }
}

/** CPU time of the server for one answer in many deltas with one reader, as a multiple of encoding these deltas once as JSON. */
function longAnswer(): Promise<Result[]> {
  return gauged(async (server, gauge) => {
    const session = await newSession(server.url)
    const stream = await openStream(`${server.url}/api/events?session_id=${session}`)
    const run = async () => {
      const ended = stream.wait((text) => text.includes('"run.settled"'))
      const before = await gauge()
      await post(`${server.url}/api/chat/start`, { session_id: session, message: `[[deltas:${DELTAS}]]` })
      await ended
      return (await gauge()).cpu - before.cpu
    }
    await run()
    const cpu = [await run(), await run(), await run()]
    stream.close()
    const once: number[] = []
    for (let i = 0; i < 21; i++) once.push(encodeAll())
    const ratio = quantile(cpu, 0.5) / quantile(once, 0.5)
    return [{ name: 'one answer in 20,000 deltas: CPU of the server, to encoding them once as JSON', unit: 'ratio', value: round(ratio), note: `${round(quantile(cpu, 0.5))} ms to ${round(quantile(once, 0.5))} ms` }]
  })
}

/** ms of CPU. */
function encodeAll(): number {
  const before = process.cpuUsage()
  let length = 0
  for (let i = 0; i < DELTAS; i++) length += JSON.stringify({ type: 'text', delta: `word${i} ` }).length
  const { user, system } = process.cpuUsage(before)
  return length > 0 ? (user + system) / 1e3 : 0
}
