import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DESKTOP, PHONE, launch, until, watch } from '../support/browser'
import { productFolder, removeFolder, startProduct, type Product } from '../support/product'

let browser: Browser
let folder = ''
let product: Product
let context: BrowserContext
let seen: ReturnType<typeof watch>

beforeAll(async () => {
  browser = await launch()
})
afterAll(async () => browser.close())

beforeEach(async () => {
  folder = productFolder()
  writeFileSync(join(folder, 'work', 'README.md'), '# The garden\n\nWater it in the morning.\n')
  product = await startProduct({ folder, args: ['--demo'] })
})
afterEach(async () => {
  await context?.close()
  await product.kill()
  removeFolder(folder)
})

async function open(size: object): Promise<Page> {
  context = await browser.newContext(size)
  seen = watch(context)
  return context.newPage()
}

const box = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true })
const send = async (page: Page, text: string) => {
  const fresh = page.getByRole('button', { name: 'New chat' }).or(page.getByRole('link', { name: 'New chat' }))
  await until(async () => (await box(page).isVisible()) || (await fresh.isVisible()), 'the message box or the list is there')
  if (!(await box(page).isVisible())) await fresh.click()
  await box(page).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}
/** Text of the prose of all answers on screen: no questions, no folded steps. */
const text = async (page: Page) => (await page.locator('main .tx-md').allInnerTexts()).join('\n')
const whole = (page: Page) => page.locator('main').innerText()
const words = async (page: Page) => (await text(page)).trim().split(/\s+/)
const numbers = (n: number) => Array.from({ length: n }, (_, i) => `w${i + 1}`)
/** A script whose words come slowly enough to be interrupted: `n` words with a pause before each. */
const slowly = (n: number, ms: number) => numbers(n).map((word) => `[[say:${word} ]][[delay:${ms}]]`).join('')

for (const [name, size] of [['phone', PHONE], ['desktop', DESKTOP]] as const) {
  describe(`on a ${name}`, () => {
    test('a first visit offers the scripted agent, which thinks, reads, asks before a command, and answers', async () => {
      await product.end()
      product = await startProduct({ folder })
      const page = await open(size)
      await page.goto(product.url)
      await page.getByRole('button', { name: 'Try it' }).click()
      await send(page, 'Show me what you can do')
      // The words that it is to print are asked first; one press answers.
      const offered = page.getByRole('button', { name: /^Talaria: permission works/ })
      await offered.waitFor()
      await page.waitForTimeout(450)
      await offered.click()
      const card = page.getByRole('alertdialog').filter({ has: page.getByRole('button', { name: /Allow now/ }) })
      await card.waitFor()
      expect(await card.innerText()).toContain("echo 'Talaria: permission works'")
      await until(async () => (await page.getByRole('button', { name: 'Allow now' }).isEnabled()) && true, 'the card takes an answer')
      await page.waitForTimeout(450)
      await page.getByRole('button', { name: /Allow now/ }).click()
      await card.waitFor({ state: 'detached' })
      await until(async () => /script/i.test(await text(page)) && !(await page.getByRole('button', { name: 'Stop', exact: true }).isVisible()), 'the answer settles', 30_000)
      expect(await page.locator('main .tx-you').count()).toBe(1)
      seen.expectNone()
    })

    test('a stopped run keeps what it wrote and says that it was stopped', async () => {
      const page = await open(size)
      await page.goto(product.url)
      await send(page, slowly(200, 100))
      await until(async () => (await text(page)).includes('w5 '), 'the answer grows')
      await page.getByRole('button', { name: 'Stop', exact: true }).click()
      await until(async () => /Stopped/.test(await whole(page)), 'the page says that it was stopped')
      const kept = await words(page)
      expect(kept).toEqual(numbers(kept.length))
      await page.reload()
      await until(async () => /Stopped/.test(await whole(page)), 'it says so after a reload')
      expect(await words(page)).toEqual(kept)
      seen.expectNone()
    })
  })
}

test('an answer goes on when its tab closes, and a phone finds it growing, then settled, exactly once', async () => {
  const page = await open(DESKTOP)
  await page.goto(product.url)
  await send(page, slowly(60, 100) + '[[say:the end]]')
  await until(async () => (await text(page)).includes('w4 '), 'the answer grows')
  const address = page.url()
  expect(address).toMatch(/\/session\//)
  await context.close()
  const phone = await open(PHONE)
  await phone.goto(address)
  await until(async () => (await text(phone)).includes('w6 '), 'the answer is there')
  const before = await text(phone)
  await until(async () => (await text(phone)) !== before, 'it grows')
  await until(async () => (await text(phone)).includes('the end'), 'it settles')
  expect(await words(phone)).toEqual([...numbers(60), 'the', 'end'])
  seen.expectNone()
})

test('reload in mid-answer and a second tab show the same answer once', async () => {
  const page = await open(DESKTOP)
  await page.goto(product.url)
  await send(page, slowly(50, 100) + '[[say:the end]]')
  await until(async () => (await text(page)).includes('w3 '), 'the answer grows')
  await page.reload()
  await until(async () => (await text(page)).includes('w8 '), 'it grows after the reload')
  const second = await context.newPage()
  await second.goto(page.url())
  for (const tab of [page, second]) {
    await tab.bringToFront()
    await until(async () => (await text(tab)).includes('the end'), 'it settles')
    expect(await words(tab)).toEqual([...numbers(50), 'the', 'end'])
  }
  seen.expectNone()
})

test('a server that is killed in mid-answer and started again leaves what was shown, ended once as broken off, and the next message works', async () => {
  const page = await open(DESKTOP)
  await page.goto(product.url)
  await send(page, slowly(200, 100))
  await until(async () => (await text(page)).includes('w6 '), 'the answer grows')
  const shown = await words(page)
  seen.allowNetworkErrors(true)
  await product.kill()
  await until(async () => /No connection/.test(await page.locator('body').innerText()), 'the page says that it is offline')
  product = await startProduct({ folder, port: product.port, args: ['--demo'] })
  await until(async () => !/No connection\./.test(await page.locator('body').innerText()), 'the page is back by itself')
  await until(async () => /Broke off/i.test(await whole(page)), 'the run is shown as broken off')
  const kept = await words(page)
  expect(kept.slice(0, shown.length)).toEqual(shown)
  expect(kept).toEqual(numbers(kept.length))
  await send(page, '[[say:again here]]')
  await until(async () => (await text(page)).includes('again here'), 'the next turn works')
  seen.expectNone()
})
