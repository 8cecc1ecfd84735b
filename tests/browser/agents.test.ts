import { resolve } from 'node:path'
import AxeBuilder from '@axe-core/playwright'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { makeChoice, type AgentChoice } from '../../server/agents/choice'
import { makeScripted } from '../../server/agents/scripted'
import { systemTimers } from '../../server/runs/timers'
import { DESKTOP, PHONE, launch, stillness, until, watch } from '../support/browser'
import { box, send, sessionOf, whole } from '../support/chat-page'
import { startServer, type TestServer } from '../support/server'
import { DELEGATE, StandIn } from '../support/stand-in'

// The page with an agent that has a program of its own: who answers and how that stands, model and effort, sub-agents.
let browser: Browser
let server: TestServer
let hermes: StandIn
let context: BrowserContext
let seen: ReturnType<typeof watch>

beforeAll(async () => {
  browser = await launch()
})
afterAll(async () => browser.close())
beforeEach(async () => {
  hermes = new StandIn()
  const timers = systemTimers()
  const agents = { hermes, embedded: { ...makeScripted({ timers, scale: 0 }), kind: 'embedded' as const } }
  let kept: AgentChoice | undefined
  const choice = (): AgentChoice => (kept ??= makeChoice({ folder: `${server.folder}/state/talaria`, agents, timers }))
  server = await startServer({
    agents, clientFolder: resolve(process.env.TALARIA_DIST ?? 'dist', 'client'), parts: { choice: { of: (profile) => choice().of(profile), choose: (profile, kind) => choice().choose(profile, kind) } },
  })
})
afterEach(async () => {
  await context?.close()
  await server.end()
})

async function open(size: object, path = '/'): Promise<Page> {
  context = await browser.newContext(size)
  seen = watch(context)
  const page = await context.newPage()
  await page.goto(`${server.url}${path}`)
  return page
}

/** Something that settles by itself, held until it is let go. */
function held(): { promise: Promise<void>; go: () => void } {
  let go = (): void => undefined
  const promise = new Promise<void>((done) => (go = done))
  return { promise, go }
}

const headOf = async (page: Page) => ((await (await fetch(`${server.url}/api/session/changes?session_id=${sessionOf(page)}`)).json()) as { session: { effort?: string; model: { id: string } | null; agent: { kind: string } } }).session
const header = (page: Page) => page.locator('main header.bar')
async function expectAccessible(page: Page): Promise<void> {
  await stillness(page)
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`)).toEqual([])
}

test.each([
  ['a desktop', DESKTOP],
  ['a phone', PHONE],
])('on %s the header says who answers, that it starts, and that it is there; a missing one leads to what can be done', async (_, size) => {
  const started = held()
  hermes.starting = started.promise
  const page = await open(size, '/new')
  await page.getByText('Hermes Agent 0.19.1 answers').waitFor()
  expect(await box(page).getAttribute('placeholder')).toBe('Write to Hermes…')
  await send(page, '[[say:I am there.]]')
  await header(page).getByText('Hermes Agent 0.19.1 is starting', { exact: true }).waitFor()
  started.go()
  await page.getByText('I am there.').last().waitFor()
  await header(page).getByText('Hermes Agent 0.19.1', { exact: true }).waitFor()

  hermes.missing = { fault: 'not_installed', words: 'hermes is not on PATH.' }
  await box(page).fill('[[say:Again.]]')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('heading', { name: 'The agent could not be started' }).waitFor()
  await header(page).getByText(/^Hermes Agent.* is not installed here$/).waitFor()
  await page.getByRole('button', { name: 'Look at the agent' }).click()
  await page.getByText('pip install hermes-agent', { exact: true }).waitFor()
  expect(await whole(page)).toContain('hermes is not on PATH.')
  // Nothing else breaks: the built-in agent takes new chats over.
  await page.getByRole('region', { name: 'Built-in agent' }).getByText('Answers new chats').waitFor()
  seen.expectNone()
})

test('settings tell how an agent stands and what it can do, show its log, start it again and keep who answers new chats', async () => {
  hermes.program = { state: 'ready', pid: 4711, startedAt: Date.now(), restarts: 2, log: 'listening on a port of this machine\n' }
  const page = await open(DESKTOP, '/settings/agent')
  const section = page.getByRole('region', { name: 'Hermes Agent 0.19.1' })
  await section.getByText('Running · Answers new chats').waitFor()
  expect(await section.innerText()).toMatch(/Program\s+\/opt\/hermes\/bin\/hermes[\s\S]*4711, started[\s\S]*2 times/)
  await section.getByText('What it can do').press('Enter')
  await section.getByText('Sends out sub-agents').waitFor()
  await section.getByText('Takes images').waitFor()
  await section.getByText('Log', { exact: true }).press('Enter')
  await section.getByText('listening on a port of this machine').waitFor()
  await expectAccessible(page)

  await section.getByRole('button', { name: 'Start again' }).click()
  const dialog = page.getByRole('dialog', { name: 'Start Hermes Agent again?' })
  await dialog.getByRole('button', { name: 'Start again' }).click()
  await page.getByText('Hermes Agent was started again').waitFor()
  expect(hermes.restarted).toBe(1)

  await page.getByRole('radio', { name: 'Built-in agent' }).check({ force: true })
  await page.getByRole('region', { name: 'Built-in agent' }).getByText('Answers new chats').waitFor()
  await page.reload()
  await page.getByText('Chosen by you').waitFor()
  seen.expectNone()
})

test('model and effort are those of the chat’s agent: chosen before the first message and after it, and shown beside each other', async () => {
  const page = await open(DESKTOP, '/new')
  const chip = page.getByRole('button', { name: /^Model/ })
  await page.getByRole('button', { name: 'Model: hermes-4-70b' }).click()
  await page.getByRole('radio', { name: 'As it is set' }).focus()
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowRight')
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await until(async () => (await chip.getAttribute('aria-label')) === 'Model: hermes-4-70b. Effort: High', 'the chip says both')
  await send(page, '[[say:First.]]')
  await page.getByText('First.').last().waitFor()
  await until(() => /\/session\//.test(page.url()), 'the chat has an address')
  expect(await headOf(page)).toMatchObject({ effort: 'high', agent: { kind: 'hermes' } })
  await until(() => hermes.inputs[0]?.effort === 'high', 'the agent was told')

  await chip.click()
  await page.getByRole('option', { name: 'Small' }).click()
  await until(async () => (await chip.getAttribute('aria-label')) === 'Model: small', 'a model that takes no effort has none')
  await chip.click()
  expect(await page.getByRole('radiogroup', { name: 'Effort' }).count()).toBe(0)
  await page.getByRole('option', { name: 'Hermes 4 70B' }).click()
  seen.expectNone()
})

test('sub-agents stand folded under the step that sent them, with how many there are and how they stand, by keyboard too', async () => {
  const working = held()
  hermes.delegated = working.promise
  const page = await open(DESKTOP, '/new')
  await send(page, DELEGATE)
  const fold = page.getByRole('button', { name: /2 sub-agents/ })
  await fold.waitFor()
  await until(async () => /1 working, 1 failed/.test(await fold.innerText()), 'it says how they stand')
  expect(await page.getByText('Read the tests').isVisible()).toBe(false)
  await fold.focus()
  await page.keyboard.press('Enter')
  await page.getByText('Read the tests').waitFor()
  await page.getByRole('button', { name: /1 step of a sub-agent/ }).press('Enter')
  await page.getByText('tests/a.ts').waitFor()
  await expectAccessible(page)
  working.go()
  await until(async () => /1 failed/.test(await fold.innerText().catch(() => '')) || !(await fold.isVisible()), 'the first is back')
  await page.getByText('There are three tests').last().waitFor()
  seen.expectNone()
})

test('where no agent is found, the first screen leads to how Hermes Agent is installed', async () => {
  hermes.missing = { fault: 'not_installed' }
  const page = await open(PHONE)
  await page.getByRole('link', { name: 'How to set it up' }).click()
  await page.getByText('pip install hermes-agent', { exact: true }).waitFor()
  await expectAccessible(page)
  seen.expectNone()
})
