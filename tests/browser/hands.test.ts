import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { DESKTOP, PHONE, launch, until, watch } from '../support/browser'
import { removeFolder, startProduct, type Product } from '../support/product'

let browser: Browser
let product: Product
let context: BrowserContext
let address = ''

const post = async (path: string, body: unknown) => (await fetch(`${product.url}${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json() as Promise<unknown>

beforeAll(async () => {
  browser = await launch()
  product = await startProduct({ args: ['--demo'] })
  const session = ((await post('/api/session/new', {})) as { session: { session_id: string } }).session.session_id
  await post('/api/chat/start', { session_id: session, message: `[[say:${Array.from({ length: 60 }, (_, n) => `Paragraph ${n}.\n\n`).join('')}]]` })
  address = `${product.url}/session/${session}`
})
afterEach(async () => context.close())
afterAll(async () => {
  await browser.close()
  await product.kill()
  removeFolder(product.folder)
})

const open = async (size: object): Promise<{ page: Page; seen: ReturnType<typeof watch> }> => {
  context = await browser.newContext(size)
  const seen = watch(context)
  const page = await context.newPage()
  await page.goto(address)
  await page.getByText('Paragraph 59.', { exact: true }).waitFor()
  return { page, seen }
}

async function draw(finger: CDPSession, points: [number, number][]): Promise<void> {
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', point?: [number, number]) => finger.send('Input.dispatchTouchEvent', { type, touchPoints: point ? [{ x: point[0], y: point[1] }] : [] })
  await touch('touchStart', points[0])
  for (const point of points.slice(1)) await touch('touchMove', point)
  await touch('touchEnd')
}
const line = (from: [number, number], to: [number, number]) => Array.from({ length: 13 }, (_, n): [number, number] => [from[0] + ((to[0] - from[0]) * n) / 12, from[1] + ((to[1] - from[1]) * n) / 12])

test('a finger pulls a chat aside from the edge to go back to the list, and scrolls everywhere else', async () => {
  const { page, seen } = await open(PHONE)
  await page.locator('.app[data-swipes]').waitFor()
  const finger = await context.newCDPSession(page)
  const last = page.getByText('Paragraph 59.', { exact: true })
  const before = (await last.boundingBox())!.y
  await draw(finger, line([8, 300], [14, 600]))
  await until(async () => ((await last.boundingBox())?.y ?? Infinity) > before + 100, 'the text scrolls under a finger at the edge')
  expect(page.url()).toBe(address)
  await draw(finger, line([200, 400], [380, 402]))
  expect(page.url()).toBe(address)
  await draw(finger, line([8, 400], [60, 402]))
  expect(page.url()).toBe(address)
  await draw(finger, line([8, 400], [180, 402]))
  await until(() => page.url() === `${product.url}/`, 'the list is there')
  await page.goBack()
  await page.getByText('Paragraph 59.', { exact: true }).waitFor()
  expect(await page.locator('.pane').evaluate((pane: HTMLElement) => pane.style.translate)).toBe('')
  seen.expectNone()
})

test('the sidebar is as wide as it was drawn, also after a reload, and as wide as before after a double press', async () => {
  const { page, seen } = await open(DESKTOP)
  const edge = page.getByRole('separator', { name: 'Width of the sidebar' })
  const width = async () => Math.round((await page.getByRole('complementary').boundingBox())!.width)
  await edge.waitFor()
  const usual = await width()
  await page.mouse.move(usual - 1, 400)
  await page.mouse.down()
  await page.mouse.move(usual + 59, 400, { steps: 4 })
  await page.mouse.up()
  expect(await width()).toBe(usual + 60)
  await page.reload()
  await page.getByText('Paragraph 59.', { exact: true }).waitFor()
  expect(await width()).toBe(usual + 60)
  await edge.focus()
  await page.keyboard.press('ArrowLeft')
  expect(await width()).toBe(usual + 44)
  await page.keyboard.press('Home')
  expect(await width()).toBe(240)
  await edge.dblclick()
  expect(await width()).toBe(usual)
  seen.expectNone()
})
