import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { DESKTOP, launch, until, watch } from '../support/browser'
import { productFolder, removeFolder, startProduct, type Product } from '../support/product'

let browser: Browser
let context: BrowserContext
let folder = ''
let product: Product
let seen: ReturnType<typeof watch>

beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())
beforeEach(async () => {
  folder = productFolder()
  product = await startProduct({ folder, args: ['--demo'] })
})
afterEach(async () => {
  await context.close()
  await product.kill()
  removeFolder(folder)
})

async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  context = await browser.newContext({ ...DESKTOP, ...options })
  seen = watch(context)
  return context.newPage()
}

const prose = async (page: Page) => (await page.locator('main .tx-md').allInnerTexts()).join('\n')

async function ask(page: Page, message: string, answer: string): Promise<string> {
  const box = page.getByRole('textbox', { name: 'Message', exact: true })
  await box.waitFor()
  await box.fill(message)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await until(async () => (await prose(page)).includes(answer), `the answer says ${answer}`)
  await until(async () => new URL(page.url()).pathname.startsWith('/session/') && !(await page.getByRole('button', { name: 'Stop', exact: true }).isVisible()), 'the answer settles')
  return new URL(page.url()).pathname
}

test('a page without a worker says the same things without the server: its copies are read all the same', async () => {
  const page = await open({ serviceWorkers: 'block' })
  await page.goto(product.url)
  const first = await ask(page, '[[title:The garden]][[say:Water it.]]', 'Water it.')
  await page.locator('a[href="/new"]').first().click()
  await ask(page, '[[title:The orchard]][[say:Prune it.]]', 'Prune it.')
  expect(await page.evaluate(() => Boolean(navigator.serviceWorker?.controller))).toBe(false)
  const asked = () => page.evaluate(async () => [...performance.getEntriesByType('resource')].filter(({ name }) => /\/shim-/.test(name)).length)
  await until(async () => (await asked()) === 1, 'what answers without the server is here')
  seen.allowNetworkErrors(true)
  await product.kill()
  await until(async () => /No connection/.test(await page.locator('body').innerText()), 'the page says that it is offline')
  await page.locator(`a[href="${first}"]`).first().click()
  await until(async () => (await prose(page)).includes('Water it.'), 'the other chat is readable')
  product = await startProduct({ folder, port: product.port, args: ['--demo'] })
  await until(async () => !/No connection/.test(await page.locator('body').innerText()), 'the page is connected again')
  seen.expectNone()
})

test('a browser that has no room left costs the copies and nothing else', async () => {
  const page = await open()
  await page.goto(product.url)
  const session = await context.newCDPSession(page)
  await session.send('Storage.overrideQuotaForOrigin', { origin: product.url, quotaSize: 1 })
  const words = Array.from({ length: 60 }, (_, n) => `w${n + 1}`)
  await ask(page, words.map((word) => `[[say:${word} ]][[delay:40]]`).join(''), 'w60')
  expect((await prose(page)).match(/\bw\d+\b/g)).toEqual(words)
  await page.reload()
  await until(async () => (await prose(page)).includes('w60'), 'the chat is there, from the server')
  expect((await prose(page)).match(/\bw\d+\b/g)).toEqual(words)
  seen.expectNone()
})
