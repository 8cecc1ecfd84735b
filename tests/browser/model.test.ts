import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { DESKTOP, PHONE, launch, until, watch } from '../support/browser'
import { startFakeModel, type FakeModel, type Reply } from '../support/fake-model'
import { productFolder, removeFolder, startProduct, type Product } from '../support/product'

let browser: Browser
let folder = ''
let model: FakeModel
let product: Product
let context: BrowserContext
let seen: ReturnType<typeof watch>

const KEY = 'sk-planted-4711-secret'
const chunk = (delta: object, finish: string | null = null) => `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const say = (text: string, thought = ''): Reply => ({ pieces: [...(thought ? [chunk({ reasoning_content: thought })] : []), ...text.split(/(?<= )/).map((word) => chunk({ content: word })), chunk({}, 'stop'), 'data: [DONE]\n\n'] })
const call = (id: string, name: string, args: object): Reply => ({ pieces: [chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }), chunk({}, 'tool_calls'), 'data: [DONE]\n\n'] })
const refusal = (status: number, message: string): Reply => ({ status, headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify({ error: { message } })] })

beforeAll(async () => {
  browser = await launch()
})
afterAll(async () => browser.close())
beforeEach(async () => {
  folder = productFolder()
  model = await startFakeModel()
  writeFileSync(join(folder, 'work', 'notes.md'), '# Garden\n\nBeans need four litres.\n')
})
afterEach(async () => {
  await context?.close()
  await product?.kill()
  await model.close()
  removeFolder(folder)
})

function hermes(base: string): void {
  mkdirSync(join(folder, 'home'), { recursive: true })
  writeFileSync(join(folder, 'home', 'config.yaml'), `model:\n  default: fake-model\n  provider: custom\n  base_url: ${base}\n  api_key: \${GARDEN_KEY}\n`)
  writeFileSync(join(folder, 'home', '.env'), `GARDEN_KEY=${KEY}\n`)
}

async function open(size: object): Promise<Page> {
  context = await browser.newContext(size)
  seen = watch(context)
  const page = await context.newPage()
  await page.goto(product.url)
  return page
}

const prose = async (page: Page) => (await page.locator('main .tx-md').allInnerTexts()).join('\n')
const whole = (page: Page) => page.locator('main').innerText()
async function send(page: Page, text: string): Promise<void> {
  const box = page.getByRole('textbox', { name: 'Message', exact: true })
  await box.waitFor()
  await box.fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

test('the model of a Hermes configuration is connected, thinks, reads a file, asks before a command, and answers', async () => {
  hermes(model.base)
  product = await startProduct({ folder })
  const page = await open(DESKTOP)
  await until(async () => /fake-model/.test(await page.locator('body').innerText()), 'the model of the configuration is named')
  const start = page.getByRole('button', { name: 'Start with this model' })
  if (await start.isVisible()) await start.click()
  model.next(call('call_1', 'read', { path: 'notes.md' }), call('call_2', 'shell', { command: 'touch made-here && echo litres' }), say('Beans need **four** litres.', 'I know it now.'))
  await send(page, 'How much water do beans need?')
  const card = page.getByRole('alertdialog')
  await card.waitFor()
  expect(await card.innerText()).toContain('touch made-here && echo litres')
  expect(await card.innerText()).toMatch(/whatever this account can/)
  expect(existsSync(join(folder, 'work', 'made-here'))).toBe(false)
  await page.waitForTimeout(450)
  await page.getByRole('button', { name: /Allow now/ }).click()
  await until(async () => (await prose(page)).includes('four litres'), 'the answer is there')
  expect(existsSync(join(folder, 'work', 'made-here'))).toBe(true)
  const told = JSON.stringify(model.asked().at(-1))
  expect(told).toContain('Beans need four litres')
  expect(told).toContain('litres')
  // The key went to the model and to nobody else.
  expect(model.requests.some((request) => request.headers.authorization === `Bearer ${KEY}`)).toBe(true)
  for (const path of ['/api/onboarding/status', '/api/providers', '/api/models', '/health']) expect(await (await fetch(product.url + path)).text()).not.toContain(KEY)
  expect(readFileSync(join(folder, 'home', '.env'), 'utf8')).toBe(`GARDEN_KEY=${KEY}\n`)
  expect(await page.content()).not.toContain(KEY)
  seen.expectNone()
})

test('a refused command does not run, and the model is told', async () => {
  hermes(model.base)
  product = await startProduct({ folder })
  const page = await open(PHONE)
  const start = page.getByRole('button', { name: 'Start with this model' })
  await until(async () => (await start.isVisible()) || (await page.getByRole('textbox', { name: 'Message', exact: true }).isVisible()), 'the page offers to start')
  if (await start.isVisible()) await start.click()
  model.next(call('call_1', 'shell', { command: 'touch made-here' }), say('Then I leave it.'))
  await send(page, 'Make a file')
  await page.getByRole('alertdialog').waitFor()
  await page.waitForTimeout(450)
  await page.getByRole('button', { name: 'Refuse' }).click()
  await until(async () => (await prose(page)).includes('Then I leave it'), 'the answer is there')
  expect(existsSync(join(folder, 'work', 'made-here'))).toBe(false)
  seen.expectNone()
})

test('a model server that runs on this machine is found and offered', async () => {
  product = await startProduct({ folder, env: { TALARIA_LOCAL_MODELS: `llamacpp=${model.port}` } })
  const page = await open(DESKTOP)
  await page.getByRole('button', { name: 'Use it' }).click()
  model.next(say('Hello from here.'))
  await send(page, 'Hello')
  await until(async () => (await prose(page)).includes('Hello from here.'), 'the found model answers')
  seen.expectNone()
})

test('one short form connects a model; its key is kept for the owner alone', async () => {
  product = await startProduct({ folder })
  const page = await open(DESKTOP)
  await page.getByText('Other', { exact: true }).click()
  await page.getByRole('textbox', { name: 'Address' }).fill(model.base)
  await page.getByRole('textbox', { name: /^Key/ }).or(page.locator('input[type=password]')).first().fill(KEY)
  await page.getByRole('button', { name: 'Check' }).click()
  await until(async () => /It answers/.test(await page.locator('body').innerText()), 'the check passes')
  const name = page.getByLabel('Model', { exact: true })
  if ((await name.evaluate((element) => element.tagName)) === 'SELECT') await name.selectOption('fake-model')
  else await name.fill('fake-model')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  model.next(say('Connected and well.'))
  await send(page, 'Are you there?')
  await until(async () => (await prose(page)).includes('Connected and well.'), 'the connected model answers')
  expect(readFileSync(join(folder, 'state', 'talaria', 'connections.json'), 'utf8')).toContain(KEY)
  expect(statSync(join(folder, 'state', 'talaria', 'connections.json')).mode & 0o777).toBe(0o600)
  expect(await page.content()).not.toContain(KEY)
  seen.expectNone()
})

test('what a provider refuses ends as a failure in its own words; the question stays once, and trying again works', async () => {
  hermes(model.base)
  product = await startProduct({ folder })
  const page = await open(DESKTOP)
  const start = page.getByRole('button', { name: 'Start with this model' })
  await until(async () => (await start.isVisible()) || (await page.getByRole('textbox', { name: 'Message', exact: true }).isVisible()), 'the page offers to start')
  if (await start.isVisible()) await start.click()
  for (const [status, words, title] of [[404, 'The model `fake-model` was retired on Tuesday.', 'The model does not exist'], [401, 'Incorrect API key provided: it ends in 4711.', 'The key was refused']] as const) {
    model.next(refusal(status, words))
    await send(page, `Question for ${status}`)
    await until(async () => (await whole(page)).includes(title), `the page says: ${title}`)
    expect(await whole(page)).toContain(words)
    expect(await page.locator('main .tx-you', { hasText: `Question for ${status}` }).count()).toBe(1)
    await page.getByRole('button', { name: 'Choose another model' }).last().waitFor()
    model.next(say(`Answer after ${status}.`))
    await page.getByRole('button', { name: 'Try again' }).last().click()
    await until(async () => (await prose(page)).includes(`Answer after ${status}.`), 'trying again works')
    expect(await whole(page)).not.toContain(title)
    expect(await page.locator('main .tx-you', { hasText: `Question for ${status}` }).count()).toBe(1)
  }
  await model.close()
  await send(page, 'Anybody there?')
  await until(async () => (await whole(page)).includes('The model server does not answer'), 'a gone server is said to be gone')
  expect(await page.locator('main .tx-you', { hasText: 'Anybody there?' }).count()).toBe(1)
  model = await startFakeModel()
  seen.expectNone()
})
