import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
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
  product = await startProduct({ folder, args: ['--demo'], ...(process.env.TALARIA_DIST ? { dist: process.env.TALARIA_DIST } : {}) })
})
afterEach(async () => {
  await context?.close()
  await product.kill()
  removeFolder(folder)
})

async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await fetch(`${product.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

const newChat = async () => (await post<{ session: { session_id: string } }>('/api/session/new', {})).session.session_id

/** Sends, and waits until the server is done with it. */
async function play(session: string, message: string): Promise<void> {
  await post('/api/chat/start', { session_id: session, message })
  await until(async () => {
    const { entries } = (await (await fetch(`${product.url}/api/sessions/changes`)).json()) as { entries: { id: string; state: string }[] }
    return entries.find((entry) => entry.id === session)?.state === 'idle'
  }, 'the turn is over', 60_000)
}

async function open(session: string, size: object = DESKTOP): Promise<Page> {
  context = await browser.newContext(size)
  seen = watch(context)
  const page = await context.newPage()
  await page.goto(`${product.url}/session/${session}`)
  await page.locator('.tx-turn').first().waitFor()
  return page
}

const toEnd = (page: Page) => page.locator('.tx-scroll').evaluate((scroller) => scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop)

/** Notes after every painted frame how far the thing in the middle of the view has moved, until `done` stands in the page. */
function watchMiddle(page: Page): Promise<{ moved: () => Promise<number>; frames: () => Promise<number> }> {
  return page.evaluate(() => {
    const scroller = document.querySelector('.tx-scroll')!
    const box = scroller.getBoundingClientRect()
    const element = [...document.querySelectorAll('.tx-md > *, .tx-said')].find((block) => block.getBoundingClientRect().bottom > box.top + box.height / 2)!
    const top = element.getBoundingClientRect().top
    const state = { moved: 0, frames: 0 }
    Object.assign(window, { middle: state })
    const look = () => {
      // A task of its own, so that it looks at what was painted and not at what is about to be corrected.
      setTimeout(() => {
        state.frames++
        state.moved = Math.max(state.moved, element.isConnected ? Math.abs(element.getBoundingClientRect().top - top) : Infinity)
        requestAnimationFrame(look)
      })
    }
    requestAnimationFrame(look)
  }).then(() => ({
    moved: () => page.evaluate(() => (window as unknown as { middle: { moved: number } }).middle.moved),
    frames: () => page.evaluate(() => (window as unknown as { middle: { frames: number } }).middle.frames),
  }))
}

const settled = (page: Page) => until(() => page.locator('.tx-turn[aria-busy]').count().then((n) => n === 0), 'the turn is over', 90_000)

for (const [name, size] of [['desktop', DESKTOP], ['phone', PHONE]] as const) {
  test(`on a ${name}, while 20,000 deltas arrive, what a reader looks at does not move by a pixel`, async () => {
    const session = await newChat()
    await play(session, `[[say:${'A paragraph that was there before.\n\n'.repeat(60)}]]`)
    const page = await open(session, size)
    const before = page.locator('.tx-turn').first()
    await until(async () => (await toEnd(page)) <= 1, 'the chat opened at its end')
    await post('/api/chat/start', { session_id: session, message: '[[deltas:20000]]' })
    await until(async () => ((await page.locator('.tx-turn').last().locator('.tx-md').textContent()) ?? '').length > 4000, 'the answer is growing')
    // By script and not by the wheel, whose own gliding would move what is measured.
    await page.locator('.tx-scroll').evaluate((scroller) => scroller.scrollBy(0, -700))
    await page.locator('.tx-pill').waitFor()
    const middle = await watchMiddle(page)
    await settled(page)
    await until(async () => (await middle.frames()) > 20, 'frames were painted')
    expect(await middle.moved()).toBeLessThan(0.5)
    expect(await before.count()).toBe(1)
    await page.locator('.tx-pill').click()
    await until(async () => (await toEnd(page)) <= 1, 'the end is reached')
    expect(((await page.locator('.tx-turn').last().locator('.tx-md').textContent()) ?? '').replace(/\s/g, '').length).toBeGreaterThan(100_000)
    seen.expectNone()
  })
}

test('a reader at the end stays there while the answer grows and after it, until the wheel turns upwards', async () => {
  const session = await newChat()
  await play(session, `[[say:${'Before.\n\n'.repeat(80)}]]`)
  const page = await open(session)
  await post('/api/chat/start', { session_id: session, message: `[[tool:run {"verb":"run","target":"make"}]]${Array.from({ length: 120 }, (_, i) => `[[say:Line ${i}.\n\n]][[delay:15]]`).join('')}` })
  await until(async () => ((await page.locator('.tx-turn').last().textContent()) ?? '').includes('Line 20.'), 'the answer is growing')
  for (let i = 0; i < 10; i++) expect(await page.evaluate(() => new Promise<number>((resolve) => requestAnimationFrame(() => setTimeout(() => {
    const scroller = document.querySelector('.tx-scroll')!
    resolve(scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop)
  }))))).toBeLessThanOrEqual(1)
  await settled(page)
  await until(async () => (await toEnd(page)) <= 1, 'the end is in sight after the turn')
  await page.locator('.tx-scroll').hover()
  await page.mouse.wheel(0, -400)
  await until(async () => (await toEnd(page)) > 200, 'the reader is away from the end')
  await post('/api/chat/start', { session_id: session, message: '[[say:Something new.]]' })
  await until(async () => (await page.locator('.tx-turn').count()) === 3, 'the new turn is there')
  expect(await toEnd(page)).toBeGreaterThan(200)
  seen.expectNone()
})

test('the steps fold when the turn ends and the answer that is read stays where it is', async () => {
  const session = await newChat()
  await play(session, '[[say:Hello.]]')
  const page = await open(session)
  await post('/api/chat/start', { session_id: session, message: `${Array.from({ length: 12 }, (_, i) => `[[tool:run {"verb":"run","target":"make ${i}"}]]`).join('')}[[say:${'A paragraph of the answer.\n\n'.repeat(60)}]][[delay:1500]][[say:The end.]]` })
  await until(async () => ((await page.locator('.tx-md').last().textContent().catch(() => '')) ?? '').length > 1000, 'the answer is there')
  expect(await page.locator('.tx-head').getAttribute('aria-expanded')).toBe('true')
  await page.locator('.tx-scroll').evaluate((scroller) => scroller.scrollBy(0, -300))
  const middle = await watchMiddle(page)
  await settled(page)
  await until(async () => (await page.locator('.tx-head').getAttribute('aria-expanded')) === 'false', 'the steps are folded')
  await until(async () => (await middle.frames()) > 10, 'frames were painted')
  expect(await middle.moved()).toBeLessThan(0.5)
  seen.expectNone()
})

test('a long chat opens at its end; older turns come in above without moving the reader, down to the first question', async () => {
  const session = await newChat()
  for (let i = 1; i <= 60; i++) await play(session, `Question ${i} [[say:Answer ${i}.\n\n${'Some text of it.\n\n'.repeat(i % 7)}]]`)
  const page = await open(session)
  await until(async () => (await toEnd(page)) <= 1, 'the chat opened at its end')
  expect(await page.locator('.tx-turn').last().textContent()).toContain('Answer 60.')
  const first = () => page.locator('.tx-said').first().textContent()
  await until(async () => {
    const moved = await page.evaluate(() => new Promise<number>((resolve) => {
      const scroller = document.querySelector<HTMLElement>('.tx-scroll')!
      scroller.scrollBy(0, -500)
      requestAnimationFrame(() => setTimeout(() => {
        const box = scroller.getBoundingClientRect()
        const element = [...document.querySelectorAll('.tx-md > *, .tx-said')].find((block) => block.getBoundingClientRect().bottom > box.top + 200)!
        const top = element.getBoundingClientRect().top
        let left = 12
        let most = 0
        const look = () => setTimeout(() => {
          most = Math.max(most, Math.abs(element.getBoundingClientRect().top - top))
          if (--left > 0) requestAnimationFrame(look)
          else resolve(most)
        })
        requestAnimationFrame(look)
      }))
    }))
    // Positions of a scroller are whole pixels, heights are not (spec/frontend.md §9.8, case 139).
    expect(moved).toBeLessThanOrEqual(1)
    return (await first())!.startsWith('Question 1 ') && (await page.locator('.tx-scroll').evaluate((scroller) => scroller.scrollTop)) === 0
  }, 'the first question is reached', 90_000)
  await page.locator('.tx-pill').click()
  await until(async () => (await toEnd(page)) <= 1, 'back at the end')
  expect(await page.locator('.tx-turn').last().textContent()).toContain('Answer 60.')
  seen.expectNone()
})

test('code that is complete is coloured by the worker, and nothing but its colour changes', async () => {
  const session = await newChat()
  await play(session, '[[say:```js\nconst answer = 42 // known\n```\n\nAfter.]]')
  const page = await open(session)
  const code = page.locator('.tx-code code')
  const block = page.locator('.tx-code')
  const before = await block.boundingBox()
  await page.locator('.tx-code .hl-n').waitFor()
  expect(await code.textContent()).toBe('const answer = 42 // known')
  expect(await block.boundingBox()).toEqual(before)
  expect(await page.locator('.tx-code .hl-c').textContent()).toBe('// known')
  seen.expectNone()
})
