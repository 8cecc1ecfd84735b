import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { DESKTOP, PHONE, until } from '../support/browser'
import { asked, box, later, posted, prose, send, sessionOf, slowly, whole } from '../support/chat-page'
import { useDevices } from '../support/devices'
import { startProduct } from '../support/product'

const here = useDevices()
const { device, clean } = here
const queue = (page: Page) => page.getByRole('region', { name: 'Waiting messages' })
const waiting = async (page: Page) => (await queue(page).locator('.qt').allInnerTexts().catch(() => [])).map((text) => text.trim())
const asks = async (session: string) =>
  (await asked<{ rows: { kind: string; text: string }[] }>(here.product.url, `/api/session/changes?session_id=${session}`)).rows.filter((row) => row.kind === 'user').map((row) => row.text)

for (const [name, size] of [['phone', PHONE], ['desktop', DESKTOP]] as const)
  describe(`on a ${name}`, () => {
    test('what is lined up stands on every device, is changed, joined, moved and removed on any, and goes in its order', async () => {
      const page = await device(size)
      await page.goto(here.product.url)
      await send(page, `[[steers:any]]${slowly(3, 50)}[[hear:60000]]`)
      await until(async () => (await prose(page)).includes('w3'), 'the answer grows')
      const session = sessionOf(page)
      for (const text of ['[[say:one]]', '[[say:two]]', '[[say:three]]', '[[say:four]]']) await posted(here.product.url, '/api/chat/queue', { session_id: session, message: text })
      await until(async () => (await waiting(page)).length === 4, 'all wait')
      const other = await device(name === 'phone' ? DESKTOP : PHONE)
      await other.goto(`${here.product.url}/session/${session}`)
      await until(async () => (await waiting(other)).length === 4, 'all wait on the other device too')
      const row = (on: Page, n: number) => queue(on).getByRole('listitem').nth(n)
      await row(page, 3).getByRole('button', { name: 'Remove', exact: true }).click()
      await until(async () => (await waiting(other)).length === 3, 'one is removed')
      await row(other, 0).getByRole('button', { name: 'Change', exact: true }).click()
      await queue(other).getByRole('textbox').fill('[[say:first of all]]')
      await queue(other).getByRole('textbox').press('Control+Enter')
      await until(async () => (await waiting(page))[0] === '[[say:first of all]]', 'the change is seen')
      await row(page, 2).getByRole('button', { name: /^Move waiting message/ }).press('Alt+ArrowUp')
      await until(async () => (await waiting(other))[1] === '[[say:three]]', 'the third is second')
      await page.reload()
      await until(async () => (await waiting(page)).join() === '[[say:first of all]],[[say:three]],[[say:two]]', 'the order stands after a reload')
      await posted(here.product.url, '/api/chat/steer', { session_id: session, text: 'go on' })
      await until(async () => (await asks(session)).length === 4, 'all go')
      expect((await asks(session)).slice(1)).toEqual(['[[say:first of all]]', '[[say:three]]', '[[say:two]]'])
      await until(async () => (await queue(page).count()) === 0 && (await prose(page)).includes('two'), 'nothing waits')
      clean()
    }, 60_000)

    test('while an answer is written the box adds to the queue, steers, or stops and sends, as it says', async () => {
      const page = await device(size)
      await page.goto(here.product.url)
      await send(page, `[[steers:text]]${slowly(400, 50)}`)
      await until(async () => (await prose(page)).includes('w3'), 'the answer grows')
      const session = sessionOf(page)
      await later(page, 'Steer', 'a word for you')
      await until(async () => /With the agent|The agent has seen this/.test(await whole(page)) && (await whole(page)).includes('a word for you'), 'the word stands in the chat')
      await later(page, 'Add to queue', '[[say:after all]]')
      await until(async () => (await waiting(page)).length === 1, 'it waits')
      expect(await box(page).inputValue()).toBe('')
      await later(page, 'Stop and send', '[[say:now this]]')
      await until(async () => (await asks(session)).includes('[[say:now this]]'), 'the stopped chat goes on with it')
      await until(async () => (await asks(session)).includes('[[say:after all]]'), 'and with what waited, once that had completed')
      expect(await asks(session)).toEqual([expect.any(String), '[[say:now this]]', '[[say:after all]]'])
      await until(async () => (await whole(page)).includes('Stopped by you'), 'the stopped answer says so')
      clean()
    }, 60_000)
  })

test('after a stop the queue waits and says why; one press sends the next, and the rest follows', async () => {
  const page = await device(DESKTOP)
  await page.goto(here.product.url)
  await send(page, slowly(400, 50))
  await until(async () => (await prose(page)).includes('w3'), 'the answer grows')
  const session = sessionOf(page)
  for (const text of ['[[say:one]]', '[[say:two]]']) await posted(here.product.url, '/api/chat/queue', { session_id: session, message: text })
  await until(async () => (await waiting(page)).length === 2, 'both wait')
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await until(async () => (await whole(page)).includes('Waits because the last answer was stopped.'), 'it says why it waits')
  expect((await prose(page)).includes('w3')).toBe(true)
  expect(await asks(session)).toHaveLength(1)
  await page.getByRole('button', { name: 'Send the next' }).click()
  await until(async () => (await asks(session)).length === 3, 'both go')
  clean()
})

test('the queue survives kill -9, pauses with the run that it broke off, and goes on when the person says so', async () => {
  const page = await device(DESKTOP)
  here.allowNetworkErrors()
  await page.goto(here.product.url)
  await send(page, slowly(400, 50))
  await until(async () => (await prose(page)).includes('w3'), 'the answer grows')
  const session = sessionOf(page)
  await posted(here.product.url, '/api/chat/queue', { session_id: session, message: '[[say:still here]]' })
  await until(async () => (await waiting(page)).length === 1, 'it waits')
  await here.product.kill()
  await until(async () => (await whole(page)).includes('They are kept on the server'), 'the waiting message is shown while the server is away', 30_000)
  expect(await waiting(page)).toEqual(['[[say:still here]]'])
  here.product = await startProduct({ folder: here.folder, port: here.product.port, args: ['--demo'] })
  await until(async () => (await whole(page)).includes('Waits because the last answer broke off.'), 'it says why it waits', 30_000)
  await page.getByRole('button', { name: 'Send the next' }).click()
  await until(async () => (await prose(page)).includes('still here'), 'it goes')
  expect(await asks(session)).toHaveLength(2)
  clean()
}, 90_000)

test('the list says which chat asks, which failed and which has news, also to a device that comes later', async () => {
  const chat = async (message: string) => {
    const session = ((await posted(here.product.url, '/api/session/new', {})).body as { session: { session_id: string } }).session.session_id
    await posted(here.product.url, '/api/chat/start', { session_id: session, message })
    return session
  }
  const quiet = await chat('Quiet one [[say:all is well]]')
  await chat('Asking one [[ask:make]]')
  await chat('Failing one [[error:rate_limit too many]]')
  await until(async () => (await asked<{ entries: { state: string }[] }>(here.product.url, '/api/sessions/changes')).entries.filter((entry) => entry.state === 'working').length === 0, 'all came to rest')
  await here.product.kill()
  here.product = await startProduct({ folder: here.folder, args: ['--demo'] })
  await until(async () => (await asked<{ entries: unknown[] }>(here.product.url, '/api/sessions/changes')).entries.length === 3, 'the list stands')
  const page = await device(DESKTOP)
  await page.goto(`${here.product.url}/session/${quiet}`)
  await until(async () => (await prose(page)).includes('all is well'), 'the chat stands')
  type Entries = { entries: { id: string; settled?: number; read?: number }[] }
  const unread = async () => (await asked<Entries>(here.product.url, '/api/sessions/changes')).entries.filter((entry) => (entry.settled ?? 0) > (entry.read ?? 0)).map((entry) => entry.id)
  await until(async () => !(await unread()).includes(quiet), 'seen here is read on the server')
  expect(await unread()).toHaveLength(2)
  clean()
})

test('Esc twice stops the run from the message box, and what was typed there stays', async () => {
  const page = await device(DESKTOP)
  await page.goto(here.product.url)
  await send(page, slowly(400, 50))
  await until(async () => (await prose(page)).includes('w3'), 'the answer grows')
  await box(page).fill('kept')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await until(async () => (await whole(page)).includes('Stopped by you'), 'the run is stopped')
  expect(await box(page).inputValue()).toBe('kept')
  clean()
})
