import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { launchProfile, profileFolder, until, watch } from '../support/browser'
import { productFolder, removeFolder, startProduct, type Product } from '../support/product'

let profile: ReturnType<typeof profileFolder>
let folder = ''
let product: Product
let context: BrowserContext
let seen: ReturnType<typeof watch>

beforeEach(async () => {
  profile = profileFolder()
  folder = productFolder()
  product = await startProduct({ folder, args: ['--demo'] })
})
afterEach(async () => {
  await context.close()
  await product.kill()
  profile.remove()
  removeFolder(folder)
})

/** Opens the browser with the person's own profile, as on another day. */
async function openBrowser(): Promise<Page> {
  context = await launchProfile(profile.path)
  seen = watch(context)
  return context.pages()[0] ?? context.newPage()
}

const box = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true })
const text = (page: Page) => page.locator('body').innerText()
const prose = async (page: Page) => (await page.locator('main .tx-md').allInnerTexts()).join('\n')

async function ask(page: Page, message: string, answer: string): Promise<string> {
  await page.goto(product.url + '/new')
  await box(page).waitFor()
  await box(page).fill(message)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await until(async () => (await prose(page)).includes(answer) && !(await page.getByRole('button', { name: 'Stop', exact: true }).isVisible()), 'the answer settles')
  return new URL(page.url()).pathname
}

/** The words stand in the open chat; when they do not come, what the page says instead is in the failure. */
async function readable(page: Page, words: string): Promise<void> {
  try {
    await until(async () => (await prose(page)).includes(words), words)
  } catch {
    throw new Error(`"${words}" cannot be read; the page says: ${await text(page)}`)
  }
}

/** The worker controls the page and the shell is on this device. */
async function installed(page: Page): Promise<void> {
  await until(() => page.evaluate(async () => Boolean(navigator.serviceWorker.controller) && (await caches.keys()).length > 0), 'the worker is active', 60_000)
}

/** What the copies hold: ids of list entries, and of the chats whose last turn is kept to its end. */
const copies = (page: Page) =>
  page.evaluate(async () => {
    const found = { entries: [] as string[], ended: [] as string[] }
    const all = <T,>(request: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(new Error('the copies do not open'))
      })
    for (const { name } of await indexedDB.databases()) {
      if (!name?.startsWith('talaria:')) continue
      const database = await all(indexedDB.open(name))
      found.entries.push(...(await all(database.transaction('entries').objectStore('entries').getAllKeys())).map(String))
      const pages = (await all(database.transaction('pages').objectStore('pages').getAll())) as { session: string; turns: { runs: { state: string }[] }[] }[]
      found.ended.push(...pages.filter(({ turns }) => turns.length > 0 && turns.every(({ runs }) => runs.at(-1)?.state === 'settled')).map(({ session }) => session))
      database.close()
    }
    return found
  })

test('on a day without server and network the list and the opened chats are readable, and all catches up when the server is back', async () => {
  let page = await openBrowser()
  const garden = await ask(page, '[[title:The garden]][[say:Water it in the morning.]]', 'Water it')
  const orchard = await ask(page, '[[title:The orchard]][[say:Prune it in winter.]]', 'Prune it')
  await installed(page)
  let held = await copies(page)
  await until(async () => {
    held = await copies(page)
    return held.entries.length === 2 && held.ended.length === 2
  }, 'both chats are kept, also the one that was left as soon as it had answered').catch((error: unknown) => {
    throw new Error(`${String(error)}; of ${garden} and ${orchard} there are ${JSON.stringify(held)}`)
  })
  await context.close()
  await product.kill()

  page = await openBrowser()
  seen.allowNetworkErrors(true)
  await page.goto(product.url + garden)
  await readable(page, 'Water it in the morning.')
  await until(async () => /No connection/.test(await text(page)), 'the page says that it is offline')
  await until(async () => (await page.locator(`a[href="${orchard}"]`).count()) > 0, 'the list is readable')
  await page.locator(`a[href="${orchard}"]`).first().click()
  await readable(page, 'Prune it in winter.')
  await page.goto(product.url + '/session/ses_never_opened')
  await until(async () => new URL(page.url()).pathname === '/session/ses_never_opened' && (await text(page)).length > 0, 'an unknown chat keeps its address')
  await page.goto(product.url + garden)
  await readable(page, 'Water it in the morning.')
  await until(async () => /No connection/.test(await text(page)), 'it says again that it is offline')
  await box(page).fill('For later')
  await page.getByRole('button', { name: /^You are offline/ }).waitFor()

  product = await startProduct({ folder, port: product.port, args: ['--demo'] })
  await until(async () => !/No connection/.test(await text(page)), 'the page is connected again')
  expect(await box(page).inputValue()).toBe('For later')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  seen.allowNetworkErrors(false)
  seen.expectNone()
})

test('a page that was loaded past the worker is taken over by it all the same', async () => {
  const page = await openBrowser()
  await ask(page, '[[say:Hello.]]', 'Hello.')
  await installed(page)
  const line = await context.newCDPSession(page)
  const loaded = page.waitForEvent('load')
  await line.send('Page.reload', { ignoreCache: true })
  await loaded
  await readable(page, 'Hello.')
  await installed(page)
  seen.expectNone()
})

test('the browser finds nothing that keeps the app from being installed, and no cache holds what must not be kept', async () => {
  const page = await openBrowser()
  await ask(page, '[[say:Hello.]]', 'Hello.')
  await installed(page)
  await page.reload()
  await box(page).waitFor()
  const session = await context.newCDPSession(page)
  const { installabilityErrors } = (await session.send('Page.getInstallabilityErrors')) as { installabilityErrors: { errorId: string }[] }
  expect(installabilityErrors).toEqual([])
  const { errors } = await session.send('Page.getAppManifest')
  expect(errors).toEqual([])
  const kept = await page.evaluate(async () => {
    const found: string[] = []
    for (const name of await caches.keys()) for (const request of await (await caches.open(name)).keys()) found.push(new URL(request.url).pathname)
    return found
  })
  expect(kept).toContain('/index.html')
  expect(kept.filter((path) => /^\/(api|health|login|sw\.js)/.test(path))).toEqual([])
  // The list of what is kept and what was built agree both ways: nothing that is not there, and every script and style that is.
  const client = join(process.cwd(), 'dist/client')
  const files = readdirSync(client, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => `/${relative(client, join(entry.parentPath, entry.name)).split(sep).join('/')}`)
  expect(kept.filter((path) => !files.includes(path))).toEqual([])
  expect(files.filter((path) => /\.(html|js|css)$/.test(path) && path !== '/sw.js' && !kept.includes(path))).toEqual([])
  seen.expectNone()
})

test('a new build is offered, loads when it is asked for, and never shows a blank page; an older page keeps its parts', async () => {
  // Below node_modules, where the built server finds its packages.
  const cache = join(process.cwd(), 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const dist = mkdtempSync(join(cache, 'next-build-'))
  try {
    cpSync(join(process.cwd(), 'dist'), dist, { recursive: true })
    let page = await openBrowser()
    const chat = await ask(page, '[[say:Written by the old build.]]', 'old build')
    await installed(page)
    await product.end()
    nextBuild(dist)
    product = await startProduct({ folder, port: product.port, args: ['--demo'], dist })
    seen.allowNetworkErrors(true)
    await page.reload()
    await until(async () => (await prose(page)).includes('old build'), 'the page is there at once')
    await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.update())
    const other = await context.newPage()
    await other.goto(product.url + chat)
    await until(() => page.evaluate(async () => Boolean((await navigator.serviceWorker.getRegistration())?.waiting)), 'the new build waits', 30_000)
    expect(await page.evaluate(() => document.documentElement.dataset['build'])).toBeUndefined()
    expect(await page.evaluate(async () => (await caches.keys()).length)).toBe(2)
    await page.getByRole('button', { name: 'Load it' }).click()
    await until(() => page.evaluate(() => document.documentElement.dataset['build'] === 'next').catch(() => false), 'the new build is shown')
    await until(async () => (await prose(page)).includes('old build'), 'with the chat')
    // The other page was not asked, did not reload, and has its parts as long as it lives.
    expect(await other.evaluate(() => document.documentElement.dataset['build'])).toBeUndefined()
    expect(await page.evaluate(async () => (await caches.keys()).length)).toBe(2)
    await other.close()
    await page.reload()
    await until(() => page.evaluate(async () => (await caches.keys()).length === 1), 'files of the old build are gone')
    await context.close()
    page = await openBrowser()
    await page.goto(product.url + chat)
    await until(async () => (await prose(page)).includes('old build'), 'a cold start shows the new build')
    expect(await page.evaluate(() => document.documentElement.dataset['build'])).toBe('next')
  } finally {
    rmSync(dist, { recursive: true, force: true })
  }
})

test('a build that waits keeps its files while pages of the old one start, and so does one that is gone back to: each is readable without the server', async () => {
  const cache = join(process.cwd(), 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const dist = mkdtempSync(join(cache, 'next-build-'))
  const builds = [join(process.cwd(), 'dist'), dist]
  try {
    cpSync(builds[0]!, dist, { recursive: true })
    nextBuild(dist)
    let page = await openBrowser()
    const chat = await ask(page, '[[say:Written by the old build.]]', 'old build')
    await installed(page)
    // Forward, and back again.
    for (const [to, build] of [[1, 'next'], [0, undefined]] as const) {
      await product.end()
      product = await startProduct({ folder, port: product.port, args: ['--demo'], dist: builds[to]! })
      seen.allowNetworkErrors(true)
      await page.reload()
      await readable(page, 'old build')
      await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.update())
      await until(() => page.evaluate(async () => Boolean((await navigator.serviceWorker.getRegistration())?.waiting)), 'the other build waits', 30_000)
      for (let i = 0; i < 3; i++) {
        await page.reload()
        await readable(page, 'old build')
        await until(() => page.evaluate(async () => (await navigator.serviceWorker.ready).active?.state === 'activated'), 'the worker is told of the page')
      }
      await context.close()
      await product.end()
      page = await openBrowser()
      seen.allowNetworkErrors(true)
      await page.goto(product.url + chat)
      await readable(page, 'old build')
      expect(await page.evaluate(() => document.documentElement.dataset['build'])).toBe(build)
    }
  } finally {
    rmSync(dist, { recursive: true, force: true })
  }
})

/** Makes a later build of a copy of this one: another page, another entry script, another worker. */
function nextBuild(dist: string): void {
  const client = join(dist, 'client')
  const index = join(client, 'index.html')
  const entry = /src="\/assets\/([^"]+)"/.exec(readFileSync(index, 'utf8'))![1]!
  const renamed = entry.replace(/-[\w-]{8}\.js$/, '-NEXTnext.js')
  const assets = join(client, 'assets')
  writeFileSync(join(assets, renamed), `document.documentElement.dataset.build = 'next';\n${readFileSync(join(assets, entry), 'utf8')}`)
  rmSync(join(assets, entry))
  for (const file of readdirSync(client, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.gz')) rmSync(join(client, file))
    else if (/\.(html|js)$/.test(file)) {
      const path = join(client, file)
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(entry, renamed))
    }
  }
  const worker = join(client, 'sw.js')
  const old = readFileSync(worker, 'utf8')
  const build = /\/index\.html[`"],revision:[`"]([0-9a-f]{16})/.exec(old)?.[1]
  if (!build) throw new Error('the worker names no revision of the page')
  const id = /[`"]([0-9a-f]{12})[`"]/.exec(old)![1]!
  writeFileSync(worker, old.replaceAll(build, 'feedfeedfeedfeed').replaceAll(id, 'feedfeedfeed'))
}
