import { Agent, get } from 'node:http'
import { productFolder, removeFolder, startProduct } from '../support/product'
import { PRODUCT } from './cold'
import { median, round } from './figures'
import type { Result } from './main'
import { seedChat, seedList, seeded } from './seed'

/** What the server takes to answer with a page of a long list, and with the end of a long chat: by HTTP, on one connection. */
export async function listing(): Promise<Result[]> {
  const folder = productFolder()
  await seeded(folder, async (store) => {
    await seedList(store, 5000)
    await seedChat(store, 'ses_long', 10_000, 900)
  })
  const product = await startProduct({ folder, ...PRODUCT })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = <T>(path: string) => new Promise<T>((resolve, reject) => {
    get({ host: '127.0.0.1', port: product.port, path, agent }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('end', () => resolve(JSON.parse(String(Buffer.concat(parts))) as T))
      answer.on('error', reject)
    }).on('error', reject)
  })
  try {
    let before = ''
    const pages = await times(200, async () => {
      const page = await ask<{ entries: { id: string }[]; more: boolean }>(`/api/sessions/changes?limit=100${before}`)
      if (page.entries.length === 0) throw new Error('a page is empty')
      before = page.more ? `&before=${page.entries.at(-1)!.id}` : ''
    })
    const windows = await times(200, async () => {
      const { rows } = await ask<{ rows: unknown[] }>('/api/session/changes?session_id=ses_long')
      if (rows.length < 60) throw new Error('the window is too short')
    })
    return [
      { name: 'page of 100 of 5,000 chats by HTTP', unit: 'ms p50', value: round(median(pages)), budget: 5 },
      { name: 'window of a 10,000-row chat by HTTP', unit: 'ms p50', value: round(median(windows)), budget: 5 },
    ]
  } finally {
    agent.destroy()
    await product.kill()
    removeFolder(folder)
  }
}

async function times(count: number, work: () => Promise<void>): Promise<number[]> {
  const taken: number[] = []
  for (let i = 0; i < count; i++) {
    const began = performance.now()
    await work()
    taken.push(performance.now() - began)
  }
  return taken
}
