import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { DESKTOP, PHONE, launch, until, watch } from '../support/browser'
import { box, prose, send, whole } from '../support/chat-page'
import { removeFolder, startProduct, type Product } from '../support/product'

let browser: Browser
let product: Product
let context: BrowserContext

beforeAll(async () => {
  browser = await launch()
  product = await startProduct({ args: ['--demo'] })
})
afterEach(async () => context.close())
afterAll(async () => {
  await browser.close()
  await product.kill()
  removeFolder(product.folder)
})

test.each([['desktop', DESKTOP], ['phone', PHONE]])('the last message is edited where it stands, on a %s', async (name, size) => {
  context = await browser.newContext(size)
  const seen = watch(context)
  const page = await context.newPage()
  await page.goto(product.url)
  await send(page, '[[say:The first answer.]]')
  await until(async () => (await prose(page)).includes('The first answer.'), 'the answer stands')
  const pencil = page.getByRole('button', { name: 'Edit this message' })
  await pencil.waitFor()
  await pencil.click()
  const field = page.getByRole('textbox', { name: 'Change the message' })
  await field.waitFor()
  expect(await field.inputValue()).toBe('[[say:The first answer.]]')
  const shots = process.env.SHOTS
  if (shots) await page.screenshot({ path: `${shots}/edit-${name}.png` })
  // Esc leaves everything as it was.
  await field.fill('[[say:Never.]]')
  await field.press('Escape')
  await until(async () => !(await field.isVisible()), 'the editor is closed')
  await pencil.click()
  await field.fill('[[say:Another answer.]]')
  // Words survive a reload.
  await until(async () => (await field.inputValue()) === '[[say:Another answer.]]', 'it is typed')
  await page.reload()
  await pencil.click()
  await until(async () => (await field.inputValue()) === '[[say:Another answer.]]', 'what was typed is kept')
  await page.getByRole('button', { name: 'Send the change' }).click()
  await until(async () => (await prose(page)).includes('Another answer.'), 'the new answer stands')
  expect(await prose(page)).not.toContain('The first answer.')
  expect(await whole(page)).not.toContain('The first answer.')
  expect(await box(page).inputValue()).toBe('')
  await page.reload()
  await until(async () => (await prose(page)).includes('Another answer.'), 'it stands after a reload')
  expect(await prose(page)).not.toContain('The first answer.')
  seen.expectNone()
})
