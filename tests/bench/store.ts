import { rmSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Draft } from '../../server/contract/events'
import type { Append, Store } from '../../server/store/port'
import { Chat } from '../support/chat'
import { freshFolder, openTestStore } from '../support/store-thread'
import type { Result } from './main'

/** What the store costs: commits, windows, pages, growth, and what its load does to the event loop. Absolute times inform; ratios hold or not. */
export async function bench(): Promise<Result[]> {
  const folder = freshFolder('bench')
  const store = await openTestStore({ folder, interval: 0 })
  try {
    return [...(await commits(store)), await window(store), await page(store), ...(await growth(store))]
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One event after the other, each awaited, and 50 sessions that share their commits. */
async function commits(store: Store): Promise<Result[]> {
  const one = new Chat('ses_single')
  await store.append(one.created())
  const single = await timed(async () => {
    for (let i = 0; i < 300; i++) await store.append(one.append([{ type: 'session.changed', title: `Title ${i}` }]))
  })
  const chats = Array.from({ length: 50 }, (_, i) => new Chat(`ses_joined_${i}`))
  await Promise.all(chats.map((chat) => store.append(chat.created())))
  const joined = await timed(async () => {
    for (let i = 0; i < 20; i++) await Promise.all(chats.map((chat) => store.append(chat.append([{ type: 'session.changed', title: `Title ${i}` }]))))
  })
  return [
    { name: 'appends one by one', unit: 'per s', value: Math.round(300_000 / single) },
    { name: 'appends of 50 sessions at once', unit: 'per s', value: Math.round(1_000_000 / joined) },
  ]
}

async function window(store: Store): Promise<Result> {
  const chat = new Chat('ses_long')
  await store.append(chat.created())
  await longChat(store, chat, 10_000)
  const value = await p50(200, () => store.window('ses_long', { limit: 60 }))
  return { name: 'window of a 10,000-row session', unit: 'ms p50', value, budget: 5 }
}

/** Rows in appends of 500, all of one turn in fifty. */
async function longChat(store: Store, chat: Chat, rows: number): Promise<void> {
  for (let turn = 0; turn * 50 < rows; turn++) {
    await store.append(chat.admitted(`trn_${turn}`, 'What is this?'))
    const drafts: Draft[] = Array.from({ length: 49 }, (_, i) => ({ type: 'row.opened', row: `row_${turn}_${i}`, ...chat.place(), turn: `trn_${turn}`, run: chat.run(`trn_${turn}`), kind: 'answer', state: 'done', text: 'x'.repeat(500) }))
    await store.append(chat.append(drafts))
    await store.append(chat.settled(`trn_${turn}`))
  }
}

async function page(store: Store): Promise<Result> {
  for (let from = 0; from < 5000; from += 250) {
    await Promise.all(Array.from({ length: 250 }, (_, i) => store.append(new Chat(`ses_${from + i}`, 'paged').created({ at: 1000 + from + i }))))
  }
  let before: string | undefined
  const value = await p50(200, async () => {
    const answer = await store.list({ profile: 'paged', limit: 100, ...(before === undefined ? {} : { before }) })
    before = answer.more ? answer.entries.at(-1)!.id : undefined
  })
  return { name: 'page of 100 of 5,000 sessions', unit: 'ms p50', value, budget: 5 }
}

/** Until each session fills pages of its own: before that 50 sessions share a few, and a commit writes fewer. */
const WARM = 100

/** 50 live answers that grow 800 times each, with a timer beside them that should not notice. */
async function growth(store: Store): Promise<Result[]> {
  const chats = Array.from({ length: 50 }, (_, i) => new Chat(`ses_live_${i}`))
  for (const chat of chats) {
    await store.append(chat.created())
    await store.append(chat.admitted('trn', 'Write.'))
    await store.append(chat.opened('trn', 'row'))
  }
  const idle = await loopDelay(async () => { await new Promise((resolve) => setTimeout(resolve, 1000)) })
  const times: number[] = []
  const text = 'Some words of an answer. '
  const busy = await loopDelay(async () => {
    for (let i = 0; i < WARM + 800; i++) {
      const appends: Append[] = chats.map((chat) => chat.grew('trn', 'row', i * text.length, text))
      await Promise.all(appends.map((append) => store.append(append)))
      times.push(store.stats().lastCommitMs)
    }
  })
  // The quickest tenth of each quarter: what the commit costs when nothing else has the processor.
  const ratio = quantile(times.slice(-200), 0.1) / quantile(times.slice(WARM, WARM + 200), 0.1)
  return [
    { name: 'growth of 50 live rows, last quarter against first of 800', unit: 'ratio', value: round(ratio), budget: 1.5, held: ratio <= 1.5, note: `commit p50 ${round(median(times))} ms` },
    { name: 'event loop delay at that load', unit: 'ms max', value: round(busy.max), note: `p99 ${round(busy.p99)} ms; idle max ${round(idle.max)}, p99 ${round(idle.p99)} ms` },
  ]
}

async function loopDelay(work: () => Promise<void>): Promise<{ max: number; p99: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  await work()
  delay.disable()
  return { max: delay.max / 1e6, p99: delay.percentile(99) / 1e6 }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function p50(times: number, work: () => Promise<unknown>): Promise<number> {
  const all: number[] = []
  for (let i = 0; i < times; i++) all.push(await timed(work))
  return round(median(all))
}

function median(all: number[]): number {
  return quantile(all, 0.5)
}

function quantile(all: number[], part: number): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length * part)]!
}

function round(n: number): number {
  return Math.round(n * 100) / 100
}
