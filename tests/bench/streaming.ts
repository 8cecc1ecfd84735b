import type { CDPSession, Page } from 'playwright-core'
import { DESKTOP, launch, until } from '../support/browser'
import { removeFolder, startProduct, type Product } from '../support/product'
import { round } from './figures'
import { PRODUCT } from './cold'
import { BLOCKS_DRAWN, NOTE_MOVES, NOTE_TASKS, TURN_IS_OVER } from './in-page'
import type { Result } from './main'

/** 20,000 deltas of ten characters in about eight seconds: what a quick model does, and so that the page paints while they come. */
const SCRIPT = '[[deltas:200]][[delay:60]]'.repeat(100)
/** Paragraphs of the whole answer; the page's progress is counted by them, which costs nothing to read. */
const BLOCKS = 500

/** What the page does while an answer of 200 kB streams: work of its main thread by quarters, its longest task, and what it does to the place of a reader who looks elsewhere. */
export async function streaming(): Promise<Result[]> {
  const product = await startProduct(PRODUCT)
  const browser = await launch()
  try {
    const context = await browser.newContext(DESKTOP)
    return [...(await following(product, await context.newPage())), await reading(product, await context.newPage())]
  } finally {
    await browser.close()
    await product.kill()
    removeFolder(product.folder)
  }
}

/** Of a reader who stays at the end, where everything that comes is painted. */
async function following(product: Product, page: Page): Promise<Result[]> {
  await begin(product, page)
  await page.evaluate(NOTE_TASKS)
  const cdp = await page.context().newCDPSession(page)
  // The thread's own time: what else runs on the machine is not in it.
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const points: { blocks: number; spent: number }[] = []
  for (let blocks = 0; blocks < BLOCKS;) {
    blocks = await page.evaluate<number>(BLOCKS_DRAWN)
    points.push({ blocks, spent: await spentOf(cdp) })
    await page.waitForTimeout(100)
  }
  const tasks = await page.evaluate<{ longest: number; long: number }>('window.tasks')
  await page.close()
  const costs = [0, 1, 2, 3].map((n) => spentAt(points, (BLOCKS * (n + 1)) / 4) - spentAt(points, Math.max(1, (BLOCKS * n) / 4)))
  const ratio = costs[3]! / costs[0]!
  return [
    { name: '200 kB in 20,000 deltas, work of the last quarter to that of the first', unit: 'ratio', value: round(ratio), budget: 1.5, held: ratio <= 1.5, note: `ms of the main thread by quarters: ${costs.map(Math.round).join(', ')}` },
    { name: 'longest task meanwhile', unit: 'ms max', value: round(tasks.longest), budget: 50, note: `${tasks.long} tasks over 50 ms, by the clock on the wall` },
  ]
}

/** ms that the main thread has worked. */
async function spentOf(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return metrics.find((one) => one.name === 'TaskDuration')!.value * 1000
}

/** Between the points at which it was looked. */
function spentAt(points: { blocks: number; spent: number }[], blocks: number): number {
  const after = points.findIndex((point) => point.blocks >= blocks)
  const [a, b] = [points[Math.max(0, after - 1)]!, points[after]!]
  return b.blocks === a.blocks ? b.spent : a.spent + ((b.spent - a.spent) * (blocks - a.blocks)) / (b.blocks - a.blocks)
}

/** Of a reader who has scrolled up to what was there before. */
async function reading(product: Product, page: Page): Promise<Result> {
  await begin(product, page)
  await until(() => page.evaluate<boolean>(`(${BLOCKS_DRAWN}) > 20`), 'the answer grows')
  await page.evaluate("document.querySelector('.tx-scroll').scrollBy(0, -700)")
  await page.locator('.tx-pill').waitFor()
  await page.evaluate(NOTE_MOVES)
  await until(() => page.evaluate<boolean>(TURN_IS_OVER), 'the turn is over', 90_000)
  const [moved, frames] = await page.evaluate<[number, number]>('[window.moved, window.frames_seen]')
  await page.close()
  return { name: 'what a reader who scrolled up looks at moves by', unit: 'px max', value: round(moved), budget: 0, held: moved < 0.5 && frames > 20, note: `${frames} frames` }
}

/** Opens a chat that has an answer of some screens, and sends for the long one. */
async function begin(product: Product, page: Page): Promise<void> {
  const post = async <T>(path: string, body: unknown) => (await (await fetch(`${product.url}${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json()) as T
  const session = (await post<{ session: { session_id: string } }>('/api/session/new', {})).session.session_id
  await post('/api/chat/start', { session_id: session, message: `[[size:10000]]` })
  await page.goto(`${product.url}/session/${session}`)
  await until(() => page.evaluate<boolean>(TURN_IS_OVER), 'the first turn is over')
  await post('/api/chat/start', { session_id: session, message: SCRIPT })
}
