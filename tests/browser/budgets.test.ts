import { gzipSync } from 'node:zlib'
import AxeBuilder from '@axe-core/playwright'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DESKTOP, PHONE, launch, until, watch } from '../support/browser'
import { removeFolder, startProduct, type Product } from '../support/product'

let browser: Browser
let product: Product
let address = ''

const LONG = `[[reason:Let me look at the notes first.]][[tool:read {"target":"notes/garden.md","verb":"read","result":"Water it in the morning."}]][[tool:shell {"target":"make test","verb":"run","output":"3 failed","exit":1,"state":"failed"}]][[say:## What I found

The notes say *when*, not **how much**. See [the list](https://example.org/list).

| Bed | Litres |
|---|---:|
| Beans | 4 |
| Tomatoes | 12 |

1. Water in the morning
2. Mulch

- [x] done
- [ ] open

\`\`\`ts
export const litres = (beds: number) => beds * 4
\`\`\`

> Plants drink slowly.]]`

beforeAll(async () => {
  browser = await launch()
  product = await startProduct({ args: ['--demo'] })
  const post = async (path: string, body: unknown) => (await fetch(`${product.url}${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json() as Promise<unknown>
  const session = ((await post('/api/session/new', {})) as { session: { session_id: string } }).session.session_id
  await post('/api/chat/start', { session_id: session, message: LONG })
  address = `${product.url}/session/${session}`
  await until(async () => {
    const status = (await (await fetch(`${product.url}/api/session/status?session_id=${session}`)).json()) as { agent_running?: boolean; active_stream_id?: string | null }
    return !status.agent_running && !status.active_stream_id
  }, 'the turn settles')
})
afterAll(async () => {
  await browser.close()
  await product.kill()
  removeFolder(product.folder)
})

async function painted(page: Page): Promise<void> {
  await page.locator('main .tx-md').getByText('Plants drink slowly').waitFor()
}

interface Loaded { path: string; kind: string; gzip: number }

/** Runs in the page before anything else: notes when the transcript's prose first stands in the document. */
const NOTE_PAINT = "new MutationObserver((_, me) => { if (document.querySelector('main .tx-md')?.textContent?.trim()) { window.__stood = performance.now(); me.disconnect() } }).observe(document, { childList: true, subtree: true, characterData: true })"

/** Everything that the page had asked for when the transcript stood, with its size as gzip packs it. */
async function loadedBefore(context: BrowserContext): Promise<Loaded[]> {
  const page = await context.newPage()
  await page.addInitScript({ content: NOTE_PAINT })
  const bodies = new Map<string, Promise<number>>()
  page.on('response', (response) => {
    if (!(response.headers()['content-type'] ?? '').includes('event-stream')) bodies.set(response.url(), response.body().then((body) => gzipSync(body, { level: 9 }).length, () => 0))
  })
  await page.goto(address)
  await painted(page)
  const asked = (await page.evaluate("performance.getEntriesByType('resource').filter((one) => one.startTime < window.__stood).map((one) => one.name)")) as string[]
  const all: Loaded[] = []
  for (const url of [address, ...asked]) {
    const path = new URL(url).pathname
    // The tab's own picture is the browser's errand, after all else.
    if (path === '/icons/icon.svg') continue
    all.push({ path, kind: url === address ? 'html' : /\/locale-/.test(path) ? 'locale' : (/\.(js|css|woff2|svg|png)$/.exec(path)?.[1] ?? 'answer'), gzip: (await bodies.get(url)) ?? 0 })
  }
  return all
}

const sum = (loaded: Loaded[], kind: string) => loaded.filter((one) => one.kind === kind).reduce((total, one) => total + one.gzip, 0)

test('what is loaded before the first transcript fits the budget, in bytes and in requests', async () => {
  const context = await browser.newContext(DESKTOP)
  const loaded = await loadedBefore(context)
  await context.close()
  const list = JSON.stringify(loaded.map((one) => [one.path, one.gzip]))
  expect(sum(loaded, 'js'), list).toBeGreaterThan(20 * 1024)
  expect(sum(loaded, 'js'), list).toBeLessThanOrEqual(90 * 1024)
  expect(sum(loaded, 'locale'), list).toBeGreaterThan(1024)
  expect(sum(loaded, 'locale'), list).toBeLessThanOrEqual(8 * 1024)
  expect(sum(loaded, 'css'), list).toBeLessThanOrEqual(20 * 1024)
  expect(sum(loaded, 'html'), list).toBeLessThanOrEqual(4 * 1024)
  expect(loaded.length, list).toBeLessThanOrEqual(8)
})

test('a second visit needs nothing from the network before the transcript stands', async () => {
  const context = await browser.newContext(DESKTOP)
  const seen = watch(context)
  const first = await context.newPage()
  await first.goto(address)
  await painted(first)
  await until(() => first.evaluate(() => navigator.serviceWorker.controller !== null || navigator.serviceWorker.ready.then(() => true)), 'the worker is ready')
  await first.reload()
  await painted(first)
  await first.waitForTimeout(1500)
  const page = await context.newPage()
  const asked: string[] = []
  let standing = false
  context.on('request', (request) => {
    if (standing || !request.url().startsWith('http')) return
    asked.push(`${request.serviceWorker() ? 'worker ' : ''}${new URL(request.url()).pathname}`)
  })
  const blocked = ['/api/', '/assets/', '/fonts/', '/session/']
  await context.route((url) => blocked.some((part) => url.pathname.startsWith(part)), async (route) => {
    // Held until the transcript stands: what it needs, it has.
    await until(() => standing, 'the transcript stands without the network', 20_000)
    await route.continue().catch(() => undefined)
  })
  await page.goto(address)
  await painted(page)
  standing = true
  expect(await page.locator('main').innerText()).toContain('Tomatoes')
  await context.close()
  seen.expectNone()
})

for (const [name, size] of [['phone', PHONE], ['desktop', DESKTOP]] as const)
  for (const scheme of ['light', 'dark'] as const)
    describe(`${name}, ${scheme}`, () => {
      test('no page has an accessibility finding', async () => {
        const context = await browser.newContext({ ...size, colorScheme: scheme, reducedMotion: 'reduce' })
        const seen = watch(context)
        const page = await context.newPage()
        // Answers choose their own heading levels; that order is no criterion of WCAG.
        const look = async (what: string) => {
          const found = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']).disableRules(['heading-order']).analyze()
          const list = found.violations.map((one) => `${what}: ${one.id} ${one.nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join(' | ')}`)
          expect(list).toEqual([])
        }
        await page.goto(address)
        await painted(page)
        await look('a chat')
        await page.locator('main button[aria-expanded]').first().click()
        await look('a chat with its steps open')
        await page.goto(product.url)
        await page.waitForTimeout(500)
        await look('home')
        for (const path of ['/settings', '/settings/connection', '/settings/appearance']) {
          await page.goto(product.url + path)
          await page.getByRole('heading').first().waitFor()
          await page.waitForTimeout(300)
          await look(path)
        }
        await context.close()
        seen.expectNone()
      })
    })
