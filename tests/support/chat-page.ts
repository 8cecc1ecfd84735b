import type { Page } from 'playwright-core'
import { until } from './browser'

/** What tests do with an open page as a person would: by the names that a screen reader hears. */
export const box = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true })

/** Opens a new chat where none is open, and sends the text. */
export async function send(page: Page, text: string): Promise<void> {
  const fresh = page.getByRole('button', { name: 'New chat' }).or(page.getByRole('link', { name: 'New chat' }))
  await until(async () => (await box(page).isVisible()) || (await fresh.isVisible()), 'the message box or the list is there')
  if (!(await box(page).isVisible())) await fresh.click()
  await box(page).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

/** Text of the prose of all answers on screen. */
export async function prose(page: Page): Promise<string> {
  return (await page.locator('main .tx-md').allInnerTexts()).join('\n')
}

/** Everything that the main part shows. */
export const whole = (page: Page): Promise<string> => page.locator('main').innerText()

export const sessionOf = (page: Page): string => new URL(page.url()).pathname.split('/')[2]!

/** A script whose `n` words come slowly. */
export const slowly = (n: number, ms: number): string => Array.from({ length: n }, (_, i) => `[[say:w${i + 1} ]][[delay:${ms}]]`).join('')

/** The server's own word, past the page. */
export async function asked<T>(url: string, path: string): Promise<T> {
  return (await (await fetch(`${url}${path}`)).json()) as T
}

export async function posted(url: string, path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** Sends while the chat works, in the given way. */
export async function later(page: Page, way: 'Add to queue' | 'Steer' | 'Stop and send', text: string): Promise<void> {
  await box(page).fill(text)
  const primary = page.getByRole('button', { name: way, exact: true })
  if (!(await primary.isVisible())) {
    await page.getByRole('button', { name: 'Other ways to send' }).click()
    await page.getByRole('menuitem', { name: way }).or(page.getByRole('menuitemradio', { name: way })).click()
    if ((await box(page).inputValue()) === '') return
  }
  await primary.click()
}
