import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DESKTOP, launch, PHONE, until, watch } from '../support/browser'
import { later, prose, send, sessionOf, whole } from '../support/chat-page'
import { Stage } from './stage'

/** What people say in the story, in plain words, and what the model then does. */
const SAID = {
  repair: 'The build fails since yesterday. Can you repair it?',
  release: 'Prepare the release notes.',
  tests: 'Run all the tests.',
  essay: 'Write a long report about it.',
  thanks: 'Thank you!',
}
const FOR = (work: string): Record<string, string> => ({
  [SAID.repair]: [
    `@@thinkcall The build script is the place to look at first.|read_file {"path":"${work}/build.sh"}`,
    `@@saycall The script copies a folder that is gone. I repair that line, and remove what the last build left.|patch ${JSON.stringify({ path: `${work}/build.sh`, old_string: 'cp -r assets out/', new_string: 'cp -r public out/' })}`,
    `@@call terminal {"command":"rm -rf ${work}/out"}`,
    '@@text The build works again. The script copied `assets`, which is called `public` now. I also removed what the last build had left.',
  ].join(' &&& '),
  [SAID.release]: '@@call clarify {"question":"Which version is it?","choices":["1.4.1","1.5.0"]} &&& @@text The notes are ready.',
  [SAID.tests]: '@@call terminal {"command":"sleep 5; echo 12 passed"} &&& @@text All tests passed.',
  [SAID.essay]: '@@slow 150 200',
  [SAID.thanks]: '@@text You are welcome.',
})

/** Pictures for people go here when the variable names a folder. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.TALARIA_PICTURES
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) })
}

describe.each([['desktop', { ...DESKTOP, colorScheme: 'light' as const }], ['phone', { ...PHONE, colorScheme: 'dark' as const }]])('a chat with the real Hermes Agent on a %s', (name, size) => {
  let stage: Stage
  let browser: Browser
  let page: Page
  let seen: ReturnType<typeof watch>
  beforeAll(async () => {
    stage = await Stage.set()
    writeFileSync(join(stage.folder, 'scripts.json'), JSON.stringify(FOR(stage.server.work)))
    writeFileSync(join(stage.server.work, 'build.sh'), '#!/bin/sh\nmkdir -p out\ncp -r assets out/\n')
    mkdirSync(join(stage.server.work, 'out'))
    browser = await launch()
    const context = await browser.newContext(size)
    seen = watch(context)
    page = await context.newPage()
    await page.goto(stage.server.url)
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    await stage?.strike()
  })
  const button = (label: string | RegExp) => page.getByRole('button', { name: label })
  const card = (title: string) => page.getByRole('alertdialog', { name: title }).or(page.getByRole('dialog', { name: title })).first()
  const says = (text: string) => until(async () => (await prose(page)).includes(text), text, 60_000)

  it('shows thoughts, steps, a change and a permission, and does what was allowed', async () => {
    await send(page, SAID.repair)
    await card('Permission needed').waitFor({ timeout: 60_000 })
    expect(await whole(page)).toContain(`rm -rf ${stage.server.work}/out`)
    await page.waitForTimeout(900)
    await picture(page, `hermes-${name}`)
    expect(existsSync(join(stage.server.work, 'out'))).toBe(true)
    await button(/^Allow now/).first().click()
    await says('The build works again.')
    expect(existsSync(join(stage.server.work, 'out'))).toBe(false)
    expect(readFileSync(join(stage.server.work, 'build.sh'), 'utf8')).toContain('cp -r public out/')
    const { rows, turns, session } = await stage.over(sessionOf(page))
    expect(session?.agent).toMatchObject({ kind: 'hermes', version: '0.19.0' })
    expect(turns[0]!.runs[0]).toMatchObject({ outcome: 'completed' })
    expect(turns[0]!.runs[0]!.usage?.input).toBeGreaterThan(0)
    const steps = rows.filter((row) => row.kind === 'tool')
    expect(steps.map((row) => row.tool.name)).toEqual(['read_file', 'patch', 'terminal'])
    expect(steps.every((row) => row.state === 'done')).toBe(true)
    expect(steps[1]!.tool.diff).toContain('+cp -r public out/')
    expect(rows.find((row) => row.kind === 'thought')?.text).toContain('The build script is the place')
    await picture(page, `hermes-${name}-done`)
  }, 180_000)

  it('is named by the agent', async () => {
    await until(async () => (await stage.changes(sessionOf(page))).session?.title === 'Fake title', 'its title came', 30_000)
  })

  it('asks back, and goes on with the answer', async () => {
    await send(page, SAID.release)
    await card('A question for you').waitFor({ timeout: 60_000 })
    await page.waitForTimeout(900)
    await button(/^1\.5\.0/).first().click()
    await says('The notes are ready.')
    expect(JSON.stringify(stage.model.requests().at(-1)!.body)).toContain('1.5.0')
  }, 120_000)

  it('takes a word while a tool runs, and says that it was heard', async () => {
    await send(page, SAID.tests)
    await until(async () => (await stage.changes(sessionOf(page))).rows.some((row) => row.kind === 'tool' && row.state === 'live'), 'the tool runs', 60_000)
    const session = sessionOf(page)
    await later(page, 'Steer', 'Be brief, please.')
    await says('All tests passed.')
    const word = (await stage.over(session)).rows.find((row) => row.kind === 'steer')
    expect(word).toMatchObject({ text: 'Be brief, please.', state: 'done', steer: { state: 'delivered', evidence: 'inferred' } })
    expect(JSON.stringify(stage.model.requests().at(-1)!.body)).toContain('Be brief, please.')
  }, 120_000)

  it('stops at once and keeps every word; the next turn works, and all is there after a reload', async () => {
    await send(page, SAID.essay)
    await says('w3 ')
    await button('Stop').first().click()
    await until(async () => (await whole(page)).includes('Stopped by you'), 'it says so', 30_000)
    await stage.over(sessionOf(page))
    // A press within 800 ms of Stop is taken for its second half.
    await page.waitForTimeout(900)
    await send(page, SAID.thanks)
    await says('You are welcome.')
    await page.reload()
    await says('You are welcome.')
    expect(await prose(page)).toContain('w3')
    seen.expectNone()
  }, 120_000)
})
