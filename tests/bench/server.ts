import { existsSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { startServer } from '../support/server'
import { removeFolder, startProduct, type Product } from '../support/product'
import { median, quantile, round } from './figures'
import { newSession, openStream, post, stall } from './client'
import type { Result } from './main'

/** What the whole server costs: start, memory, time to the first token, many readers, and one that does not read. */
export async function bench(): Promise<Result[]> {
  return [...(await product()), ...(await fanOut())]
}

async function product(): Promise<Result[]> {
  const starts: number[] = []
  for (let i = 0; i < 4; i++) starts.push(await startOnce())
  const server = await startProduct({ args: ['--demo'] })
  try {
    await fetched(`${server.url}/health`)
    // What is done once after a start is over by then.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const idle = memoryOf(server)
    const tokens = await firstTokens(server, 60)
    return [
      { name: 'start to first byte', unit: 'ms p50', value: round(median(starts)), budget: 500, note: `quickest ${round(Math.min(...starts))}` },
      { name: 'send to first token, whole way, agent without delay', unit: 'ms p50', value: round(median(tokens)), budget: 3, note: `quickest tenth ${round(quantile(tokens, 0.1))}; two commits with synchronous=FULL are in it` },
      { name: 'send to first token', unit: 'ms p99', value: round(quantile(tokens, 0.99)) },
      { name: 'idle memory', unit: 'MB', value: round(idle), budget: 90, note: `${round(memoryOf(server))} after 60 short turns` },
    ]
  } finally {
    await server.kill()
    removeFolder(server.folder)
  }
}

/** ms from the start of the process to an answer. */
async function startOnce(): Promise<number> {
  const began = performance.now()
  const server = await startProduct({ args: ['--demo'] })
  await fetched(`${server.url}/health`)
  const taken = performance.now() - began
  await server.kill()
  removeFolder(server.folder)
  return taken
}

async function fetched(url: string): Promise<void> {
  await (await fetch(url)).text()
}

/** MB that the process holds of the machine's memory; NaN where the system does not say. */
function memoryOf(server: Product): number {
  const path = `/proc/${server.child.pid}/status`
  return existsSync(path) ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(path, 'utf8'))?.[1]) / 1024 : NaN
}

/** ms from the sending of a message to the frame that carries the first text of its answer. */
async function firstTokens(server: Product, times: number): Promise<number[]> {
  const session = await newSession(server.url)
  const taken: number[] = []
  const stream = await openStream(`${server.url}/api/events?session_id=${session}`)
  for (let i = 0; i < times; i++) {
    const seen = stream.wait((text) => text.includes(`"text":"t${i}"`))
    const ended = stream.wait((text) => text.includes('"run.settled"'))
    const began = performance.now()
    void post(`${server.url}/api/chat/start`, { session_id: session, message: `[[raw:t${i}]]` })
    await seen
    taken.push(performance.now() - began)
    await ended
  }
  stream.close()
  return taken.slice(10)
}

/** Encoding and latency of one reader, of fifty, and of fifty beside one that never reads. */
async function fanOut(): Promise<Result[]> {
  const alone = await oneRound({ readers: 1, stalled: 0 })
  const many = await oneRound({ readers: 50, stalled: 0 })
  const beside = await oneRound({ readers: 50, stalled: 1 })
  const more = quantile(beside.latency, 0.99) - quantile(many.latency, 0.99)
  return [
    { name: 'frames encoded for 50 readers, to those for one', unit: 'ratio', value: round(many.perEntry / alone.perEntry), budget: 1.3, held: many.perEntry / alone.perEntry <= 1.3 },
    { name: 'delay of 50 readers', unit: 'ms p99', value: round(quantile(many.latency, 0.99)) },
    { name: 'what a stalled reader adds to it', unit: 'ms p99', value: round(more), budget: 5 },
  ]
}

async function oneRound(of: { readers: number; stalled: number }): Promise<{ perEntry: number; latency: number[] }> {
  const server = await startServer()
  try {
    const session = await newSession(server.url)
    const url = `${server.url}/api/events?session_id=${session}`
    const stalled = await Promise.all(Array.from({ length: of.stalled }, () => stall(url)))
    const streams = await Promise.all(Array.from({ length: of.readers }, () => openStream(url)))
    const latency: number[] = []
    const committed = new Map<number, number>()
    let entries = 0
    const before = server.composition.feed.stats().encoded
    const watched = server.composition.feed.watch(session, (entry) => {
      committed.set(entry.rev, performance.now())
      entries++
    })
    for (const stream of streams)
      stream.hear((text) => {
        for (const id of text.matchAll(/^id: ?(\d+)$/gm)) latency.push(performance.now() - committed.get(Number(id[1]))!)
      })
    const ends = streams.map((stream) => stream.wait((text) => text.includes('"run.settled"')))
    await post(`${server.url}/api/chat/start`, { session_id: session, message: '[[deltas:20000]]' })
    await Promise.all(ends)
    watched()
    const encoded = server.composition.feed.stats().encoded - before
    for (const stream of [...streams, ...stalled]) stream.close()
    return { perEntry: encoded / entries, latency: latency.filter((ms) => ms >= 0) }
  } finally {
    await server.end()
  }
}
