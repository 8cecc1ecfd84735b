import { deflateSync, crc32 } from 'node:zlib'
import AxeBuilder from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DESKTOP, PHONE, launch, stillness, until, watch } from '../support/browser'
import { box, sessionOf, whole } from '../support/chat-page'
import { removeFolder, startProduct, type Product } from '../support/product'

let browser: Browser
let product: Product
beforeAll(async () => {
  browser = await launch()
  product = await startProduct({ args: ['--demo'] })
})
afterAll(async () => {
  await browser.close()
  await product.kill()
  removeFolder(product.folder)
})

/** A picture of one colour, as a browser can show it. */
function png(): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(named))
    return Buffer.concat([length, named, sum])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(16, 0)
  head.writeUInt32BE(16, 4)
  head.set([8, 2], 8)
  const rows = Buffer.concat(Array.from({ length: 16 }, () => Buffer.concat([Buffer.from([0]), Buffer.alloc(48, 0x7a)])))
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}
const PICTURE = { name: 'beds.png', mimeType: 'image/png', buffer: png() }
const NOTES = { name: 'notes for the garden.md', mimeType: 'text/markdown', buffer: Buffer.from('# Water') }

const chips = (page: Page) => page.getByRole('list', { name: 'Files of this message' }).getByRole('listitem')
/** So many chips stand, and nothing is on its way. */
const uploaded = (page: Page, n: number) => until(async () => (await chips(page).count()) === n && (await page.getByRole('progressbar').count()) === 0, `${n} files are on the server`)
async function expectAccessible(page: Page): Promise<void> {
  await stillness(page)
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
}
async function pick(page: Page, files: { name: string; mimeType: string; buffer: Buffer }[]): Promise<void> {
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Add files' }).click()
  await (await chooser).setFiles(files)
}

describe('files of a message', () => {
  test.each([['desktop', DESKTOP], ['phone', PHONE]] as const)('on a %s: chosen in a new chat, there again after a reload, sent, and shown in the transcript', async (_, size) => {
    const context = await browser.newContext(size)
    const seen = watch(context)
    const page = await context.newPage()
    await page.goto(`${product.url}/new`)
    await box(page).click()
    await pick(page, [PICTURE, NOTES])
    await uploaded(page, 2)
    await expectAccessible(page)
    await box(page).fill('[[say:Thank you.]]')
    // The draft is written a moment after the last key, or when the page goes.
    await page.reload()
    await until(async () => (await chips(page).count()) === 2, 'the files stand again')
    expect(await box(page).inputValue()).toBe('[[say:Thank you.]]')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await until(async () => (await whole(page)).includes('I was given beds.png (image/png'), 'the agent says what it was given')
    await until(async () => (await chips(page).count()) === 0, 'the box is empty')
    const given = page.getByRole('list', { name: 'Files', exact: true })
    const shown = given.getByRole('link', { name: 'Open beds.png' }).locator('img')
    await until(() => shown.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth === 16), 'the picture is drawn')
    await expectAccessible(page)
    const saved = page.waitForEvent('download')
    await given.getByRole('link', { name: /^Save notes_for_the_garden.md/ }).click()
    expect((await saved).suggestedFilename()).toBe('notes_for_the_garden.md')
    const session = sessionOf(page)
    await page.reload()
    await until(async () => (await given.getByRole('listitem').count()) === 2, 'the transcript has them after a reload')
    expect(sessionOf(page)).toBe(session)
    seen.expectNone()
    await context.close()
  })

  test('one that fails without a connection says so and holds the message; it goes when it is tried again', async () => {
    const context = await browser.newContext(DESKTOP)
    const page = await context.newPage()
    await page.goto(`${product.url}/new`)
    await box(page).click()
    await pick(page, [PICTURE])
    await uploaded(page, 1)
    await page.route('**/api/upload', (route) => route.abort('connectionrefused'))
    await pick(page, [NOTES])
    await until(async () => (await chips(page).allInnerTexts()).join().includes('no connection'), 'it says so')
    await expectAccessible(page)
    expect(await page.getByRole('button', { name: 'A file was not uploaded: try it again, or remove it' }).getAttribute('aria-disabled')).toBe('true')
    await page.unroute('**/api/upload')
    await page.getByRole('button', { name: 'Try notes for the garden.md again' }).click()
    await until(async () => (await page.getByRole('button', { name: 'Send', exact: true }).count()) === 1, 'it can be sent')
    await page.getByRole('button', { name: 'Remove notes_for_the_garden.md' }).focus()
    await page.keyboard.press('Enter')
    await until(async () => (await chips(page).count()) === 1, 'the keyboard removes one')
    await context.close()
  })
})
