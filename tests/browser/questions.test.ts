import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import AxeBuilder from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { DESKTOP, PHONE, launchProfile, profileFolder, stillness, until, watch } from '../support/browser'
import { asked, posted, prose, send, sessionOf, whole } from '../support/chat-page'
import { useDevices } from '../support/devices'
import { startProduct } from '../support/product'
import { Proxy } from '../support/proxy'

const here = useDevices()
const { device, clean } = here
const card = (page: Page, title: string) => page.getByRole('alertdialog', { name: title }).or(page.getByRole('dialog', { name: title }))
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

const ALL = '[[ask:[{"command":"rm -r build","choices":["once","session",{"id":"A","kind":"always","consequence":"Never asked again for rm."},"deny"]}]]][[say:went on]]'

for (const [title, script, answer, after] of [
  ['Permission needed', ALL, (page: Page) => page.getByRole('button', { name: /^Allow now/ }).click(), 'went on'],
  ['A question for you', '[[clarify:Which colour? | Red | Blue]][[say:so be it]]', (page: Page) => page.getByRole('button', { name: /^Blue/ }).click(), 'so be it'],
  [
    'A secret is needed',
    '[[secret:TOKEN Needed to deploy]][[say:deployed]]',
    async (page: Page) => {
      await page.getByLabel('Value', { exact: true }).fill('a-value-of-mine')
      await button(page, 'Give it').click()
    },
    'deployed',
  ],
] as const) {
  test(`${title}: stands in every window and after a reload, and is gone everywhere once answered on one`, async () => {
    const desktop = await device(DESKTOP)
    await desktop.goto(here.product.url)
    await send(desktop, script)
    await card(desktop, title).first().waitFor()
    const address = `${here.product.url}/session/${sessionOf(desktop)}`
    const second = await desktop.context().newPage()
    await second.goto(address)
    const phone = await device({ ...PHONE, colorScheme: 'dark' })
    await phone.goto(address)
    for (const page of [second, phone]) await card(page, title).first().waitFor()
    await desktop.reload()
    await card(desktop, title).first().waitFor()
    for (const page of [desktop, phone]) {
      await stillness(page)
      const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']).analyze()
      expect(violations.map((one) => `${one.id} ${one.nodes.map((node) => node.target.join(' ')).join(' | ')}`)).toEqual([])
    }
    await phone.waitForTimeout(700)
    await answer(phone)
    for (const page of [desktop, second, phone]) {
      await until(async () => (await card(page, title).count()) === 0, 'the card is gone')
      await until(async () => (await prose(page)).includes(after), 'the run went on')
    }
    await desktop.reload()
    await until(async () => (await prose(desktop)).includes(after), 'the answer stands after a reload')
    expect(await card(desktop, title).count()).toBe(0)
    clean()
  })
}

test('always is chosen in two steps, and says before what it means', async () => {
  const page = await device(DESKTOP)
  await page.goto(here.product.url)
  await send(page, ALL)
  await card(page, 'Permission needed').first().waitFor()
  await page.waitForTimeout(700)
  await page.getByRole('button', { name: 'More answers' }).click()
  await page.getByRole('menuitem', { name: /Always allow/ }).click()
  expect(await whole(page)).toContain('Never asked again for rm.')
  expect((await asked<{ pending_count: number }>(here.product.url, `/api/approval/pending?session_id=${sessionOf(page)}`)).pending_count).toBe(1)
  await page.waitForTimeout(700)
  await page.getByRole('button', { name: /^Always allow/ }).click()
  await until(async () => (await prose(page)).includes('went on'), 'the run goes on')
  const { rows } = await asked<{ rows: { approval?: { kind?: string; choice?: string } }[] }>(here.product.url, `/api/session/changes?session_id=${sessionOf(page)}`)
  expect(rows.flatMap((row) => (row.approval ? [[row.approval.kind, row.approval.choice]] : []))).toEqual([['always', 'A']])
  clean()
})

test('the keyboard alone answers: Enter on the card allows now, Ctrl Backspace refuses, and a question is announced', async () => {
  const page = await device(DESKTOP)
  await page.goto(here.product.url)
  await send(page, '[[ask:make clean]][[ask:make all]][[say:end of it]]')
  await card(page, 'Permission needed').first().waitFor()
  await until(async () => (await page.locator('[aria-live], [role=alert], [role=status]').allTextContents()).join(' ').includes('Permission needed: '), 'the question is announced')
  await page.waitForTimeout(700)
  await page.keyboard.press('Control+Backspace')
  await until(async () => (await card(page, 'Permission needed').first().innerText()).includes('make all'), 'the next question stands')
  await page.waitForTimeout(700)
  // The box has the focus since the message was sent: there Enter is not an answer, and the card is reached by Tab.
  await page.keyboard.press('Enter')
  await until(async () => {
    await page.keyboard.press('Shift+Tab')
    return page.evaluate(() => (document.activeElement?.textContent ?? '').startsWith('Allow now'))
  }, 'the button is reached')
  expect((await asked<{ pending_count: number }>(here.product.url, `/api/approval/pending?session_id=${sessionOf(page)}`)).pending_count).toBe(1)
  await page.keyboard.press('Enter')
  await until(async () => (await prose(page)).includes('end of it'), 'the run goes on')
  const { rows } = await asked<{ rows: { approval?: { kind?: string } }[] }>(here.product.url, `/api/session/changes?session_id=${sessionOf(page)}`)
  expect(rows.flatMap((row) => (row.approval ? [row.approval.kind] : []))).toEqual(['deny', 'once'])
  clean()
})

test('what was typed into a question that is gone stands in the message box', async () => {
  const page = await device(DESKTOP)
  await page.goto(here.product.url)
  await send(page, '[[clarify:{"question":"Where to?"}]][[say:there]]')
  await page.getByLabel('Your answer').fill('to the garden')
  const session = sessionOf(page)
  await posted(here.product.url, '/api/clarify/respond', { session_id: session, response: 'to the house' })
  await until(async () => (await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()) === 'to the garden', 'the words are in the message box')
  expect(await whole(page)).toContain('to the house')
  clean()
})

test('a secret whose time is up while it is typed does not run on into the message box', async () => {
  const page = await device(DESKTOP)
  await page.goto(here.product.url)
  await send(page, '[[secret:{"prompt":"Needed to deploy","ms":2500}]][[say:without it]]')
  await page.getByLabel('Value', { exact: true }).pressSequentially('xyz')
  await until(async () => (await card(page, 'A secret is needed').count()) === 0, 'time is up')
  await page.keyboard.type('zy-zy')
  await page.keyboard.press('Enter')
  await until(async () => (await prose(page)).includes('without it'), 'the run goes on')
  expect(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()).toBe('')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('page-title')
  // However late the rest comes, and even with the focus in the box: nobody came there by themselves.
  const box = page.getByRole('textbox', { name: 'Message', exact: true })
  await box.evaluate((element: HTMLElement) => element.focus())
  expect(await box.getAttribute('readonly')).not.toBe(null)
  await page.keyboard.type('zy-zy')
  await page.keyboard.press('Enter')
  expect(await box.inputValue()).toBe('')
  await box.click()
  await page.keyboard.type('On')
  expect(await box.inputValue()).toBe('On')
  expect(JSON.stringify(await asked(here.product.url, `/api/session/changes?session_id=${sessionOf(page)}`))).not.toContain('zy-zy')
  clean()
})

test('a chat that allows everything says so in amber, answers by itself, and is ended with one press', async () => {
  const page = await device(DESKTOP)
  await page.goto(here.product.url)
  await send(page, '[[ask:first]][[delay:1500]][[ask:second]][[say:both done]]')
  await card(page, 'Permission needed').first().waitFor()
  await page.waitForTimeout(700)
  await page.getByRole('button', { name: 'More answers' }).click()
  await page.getByRole('menuitem', { name: /Stop asking/ }).click()
  await page.getByRole('button', { name: 'Allow everything', exact: true }).click()
  await until(async () => (await prose(page)).includes('both done'), 'nothing is asked any more')
  const session = sessionOf(page)
  expect((await asked<{ yolo_enabled: boolean }>(here.product.url, `/api/session/yolo?session_id=${session}`)).yolo_enabled).toBe(true)
  await page.reload()
  await page.locator('button.allows').click()
  await until(async () => !(await asked<{ yolo_enabled: boolean }>(here.product.url, `/api/session/yolo?session_id=${session}`)).yolo_enabled, 'it asks again')
  await until(async () => (await page.locator('button.allows').count()) === 0, 'the amber sign is gone')
  clean()
})

/** Every byte that stands under a folder, in either encoding that a browser or a database may use. */
function found(folder: string, secret: string): string[] {
  const needles = [Buffer.from(secret, 'utf8'), Buffer.from(secret, 'utf16le')]
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return []
    const path = join(entry.parentPath, entry.name)
    const bytes = readFileSync(path)
    return needles.some((needle) => bytes.includes(needle)) ? [path] : []
  })
}

test('a secret typed into its card is found nowhere afterwards: not on the server, not in the browser', async () => {
  const secret = 'xyzzy-4711-Qwertz'
  const profile = profileFolder()
  const context = await launchProfile(profile.path)
  const seen = watch(context)
  const page = await context.newPage()
  const frames: string[] = []
  page.on('response', async (response) => {
    if (response.url().includes('/api/') && !response.url().includes('/api/events')) frames.push(await response.text().catch(() => ''))
  })
  await page.goto(here.product.url)
  await send(page, '[[secret:DEPLOY_KEY Needed to deploy]][[say:deployed]]')
  await page.getByLabel('Value', { exact: true }).fill(secret)
  await page.waitForTimeout(1500)
  await button(page, 'Give it').click()
  await until(async () => (await prose(page)).includes('deployed'), 'the run goes on')
  await page.reload()
  await until(async () => (await prose(page)).includes('deployed'), 'the chat stands')
  const session = sessionOf(page)
  for (const path of [`/api/session/changes?session_id=${session}`, `/api/session?session_id=${session}`, '/api/sessions', '/health?deep=1']) expect(JSON.stringify(await asked(here.product.url, path))).not.toContain(secret)
  expect(await page.content()).not.toContain(secret)
  expect(frames.join()).not.toContain(secret)
  seen.expectNone()
  await context.close()
  await here.product.end()
  expect(here.product.said()).not.toContain(secret)
  expect(found(here.folder, 'deployed').length).toBeGreaterThan(0)
  expect(found(profile.path, 'deployed').length).toBeGreaterThan(0)
  expect(found(here.folder, secret)).toEqual([])
  expect(found(profile.path, secret)).toEqual([])
  profile.remove()
}, 60_000)

test('a question outlives the server where its agent lives on, in a page that never was reloaded', async () => {
  const session = ((await posted(here.product.url, '/api/session/new', { model: 'detached', model_provider: 'scripted' })).body as { session: { session_id: string } }).session.session_id
  await posted(here.product.url, '/api/chat/start', { session_id: session, message: '[[say:before it]][[ask:make deploy]][[say: and after it]]' })
  const page = await device(DESKTOP)
  here.allowNetworkErrors()
  await page.goto(`${here.product.url}/session/${session}`)
  await card(page, 'Permission needed').first().waitFor()
  await here.product.kill()
  await until(async () => /No connection/.test(await page.locator('body').innerText()), 'the page says that it lost the server', 30_000)
  here.product = await startProduct({ folder: here.folder, port: here.product.port, args: ['--demo'] })
  await until(async () => (await asked<{ pending_count: number }>(here.product.url, `/api/approval/pending?session_id=${session}`)).pending_count === 1, 'the question is back')
  await until(async () => (await page.getByRole('button', { name: /^Allow now/ }).isEnabled().catch(() => false)) && !/No connection/.test(await page.locator('body').innerText()), 'the card can be answered again', 30_000)
  await page.waitForTimeout(1000)
  await page.getByRole('button', { name: /^Allow now/ }).click()
  await until(async () => (await prose(page)).includes('and after it'), 'the answer goes on', 30_000)
  const said = await prose(page)
  expect(said.split('before it').length).toBe(2)
  clean()
}, 90_000)

test('ten minutes without a network: what was answered meanwhile is gone, what was asked meanwhile stands', async () => {
  const proxy = await Proxy.open(here.product.port)
  const page = await device(DESKTOP)
  here.allowNetworkErrors()
  await page.clock.install()
  await page.goto(proxy.url)
  await send(page, '[[ask:first]][[clarify:And then? | Left | Right]][[say:done with both]]')
  await card(page, 'Permission needed').first().waitFor()
  const session = sessionOf(page)
  proxy.refuse()
  await posted(here.product.url, '/api/approval/respond', { session_id: session, choice: 'once' })
  await posted(here.product.url, '/api/chat/queue', { session_id: session, message: '[[say:from the queue]]' })
  await page.clock.fastForward(600_000)
  await until(async () => /No connection/.test(await page.locator('body').innerText()), 'the page says that it is offline', 30_000)
  proxy.mend()
  await page.clock.fastForward(10_000)
  await card(page, 'A question for you').first().waitFor()
  expect(await card(page, 'Permission needed').count()).toBe(0)
  await until(async () => (await whole(page)).includes('1 waiting'), 'the queue stands')
  await page.waitForTimeout(700)
  await page.clock.fastForward(1000)
  await page.getByRole('button', { name: /^Left/ }).click()
  await until(async () => (await prose(page)).includes('from the queue'), 'both turns run to their end')
  await proxy.close()
  clean()
}, 60_000)
