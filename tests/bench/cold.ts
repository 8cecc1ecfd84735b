import type { BrowserContext } from 'playwright-core'
import { launchProfile, profileFolder, until } from '../support/browser'
import { productFolder, removeFolder, startProduct } from '../support/product'
import { median, round } from './figures'
import { notePaint, reachOf, WORKER_IN_CHARGE } from './in-page'
import type { Result } from './main'
import { lastWords, seedChat, seeded, seedList } from './seed'

const SIZES = [50, 2000, 10_000]
const ROUNDS = 7
/** `TALARIA_DIST` names another build than `dist`, such as one to compare with. */
export const PRODUCT = { args: ['--demo'], ...(process.env.TALARIA_DIST ? { dist: process.env.TALARIA_DIST } : {}) }
const chatOf = (rows: number) => `ses_of_${rows}`

/**
 * How long a person waits for a chat that this device knows, from a navigation in a browser that was closed and opened again: with the server and without
 * it, short chats and long ones. Ratios are of pairs measured one after the other, so that other load on the machine falls on both.
 */
export async function coldStarts(): Promise<Result[]> {
  const folder = productFolder()
  const profile = profileFolder()
  const at = Date.now()
  await seeded(folder, async (store) => {
    // A list of more than its first page, as it is after some weeks.
    await seedList(store, 150)
    for (const rows of SIZES) await seedChat(store, chatOf(rows), rows, at)
  })
  let product = await startProduct({ folder, ...PRODUCT })
  try {
    const first = await launchProfile(profile.path)
    for (const rows of SIZES) await copyWhole(first, `${product.url}/session/${chatOf(rows)}`, chatOf(rows))
    await first.close()
    const times = { online: SIZES.map((): number[] => []), offline: SIZES.map((): number[] => []) }
    const context = await launchProfile(profile.path)
    await opened(context, `${product.url}/session/${chatOf(50)}`, chatOf(50))
    for (let n = 0; n < ROUNDS; n++) {
      // Every other round from the long one to the short one, so that none is always the first after a start.
      const order = SIZES.map((rows, i) => ({ rows, i }))
      if (n % 2) order.reverse()
      const once = async (into: number[][]) => {
        for (const { rows, i } of order) into[i]!.push(await opened(context, `${product.url}/session/${chatOf(rows)}`, chatOf(rows)))
      }
      await once(times.online)
      await product.kill()
      await once(times.offline)
      product = await startProduct({ folder, port: product.port, ...PRODUCT })
    }
    await context.close()
    return results(times)
  } finally {
    await product.kill()
    removeFolder(folder)
    profile.remove()
  }
}

function results(times: Record<'online' | 'offline', number[][]>): Result[] {
  const last = SIZES.length - 1
  const ratio = (a: number[], b: number[]) => median(a.map((one, n) => one / b[n]!))
  const out: Result[] = []
  for (const mode of ['online', 'offline'] as const)
    for (const [i, rows] of SIZES.entries()) out.push({ name: `known chat of ${rows} rows readable, ${mode}`, unit: 'ms p50', value: round(median(times[mode][i]!)), budget: 300, note: `quickest ${round(Math.min(...times[mode][i]!))}` })
  const offline = ratio(times.offline.flat(), times.online.flat())
  out.push({ name: 'known chat readable, offline to online', unit: 'ratio', value: round(offline), budget: 1.1, held: offline <= 1.1 })
  for (const mode of ['online', 'offline'] as const) {
    const value = ratio(times[mode][last]!, times[mode][0]!)
    out.push({ name: `known chat readable, ${SIZES[last]} rows to ${SIZES[0]}, ${mode}`, unit: 'ratio', value: round(value), budget: 1.5, held: value <= 1.5 })
  }
  return out
}

async function opened(context: BrowserContext, address: string, session: string): Promise<number> {
  const page = await context.newPage()
  await page.addInitScript({ content: notePaint(lastWords(session)) })
  await page.goto(address, { waitUntil: 'commit' })
  const painted = await until(() => page.evaluate<number | undefined>('window.painted').catch(() => undefined), `${session} stands`, 30_000)
  await page.close()
  return painted
}

/** Opens a chat and waits until its copy begins where the chat does, and the worker is there. */
async function copyWhole(context: BrowserContext, address: string, session: string): Promise<void> {
  const page = await context.newPage()
  await page.goto(address)
  await page.getByText(lastWords(session)).waitFor()
  await until(() => page.evaluate<boolean>(WORKER_IN_CHARGE), 'the worker is in charge')
  await until(() => page.evaluate<string | null>(reachOf(session)).then((from) => from === ''), `the copy of ${session} is whole`, 180_000)
  await page.close()
}
