import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }
export const TABLET = { viewport: { width: 820, height: 1180 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }
export const DESKTOP = { viewport: { width: 1440, height: 900 } }

/** The browser of the machine; a clear failure where there is none. */
export function chromiumPath(): string {
  const path = process.env.CHROMIUM ?? '/usr/bin/chromium'
  return path
}

export async function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: ARGS })
}

/** A browser profile that survives its browser: what a person's own browser keeps between two days. */
export function profileFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'talaria-profile-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) }
}

export async function launchProfile(path: string, options: Parameters<typeof chromium.launchPersistentContext>[1] = DESKTOP): Promise<BrowserContext> {
  return chromium.launchPersistentContext(path, { executablePath: chromiumPath(), args: ARGS, ...options })
}

/**
 * Watches every page of a context: errors on the console, uncaught errors, reports of CSP and Trusted Types, requests to another host.
 * `allowNetworkErrors(true)` is for the phases in which a test itself took the server away: then only the browser's own lines about failed loads are let through.
 */
export function watch(context: BrowserContext): { findings: string[]; allowNetworkErrors: (allow: boolean) => void; expectNone: () => void } {
  const findings: string[] = []
  let networkErrors = false
  const look = (page: Page) => {
    page.on('console', (message) => {
      const text = message.text()
      if (message.type() !== 'error' && !/Content Security Policy|Trusted ?Type/i.test(text)) return
      if (networkErrors && /Failed to load resource|net::ERR_|the server responded with a status of 503/.test(text)) return
      findings.push(`console: ${text} (${message.location().url})`)
    })
    page.on('pageerror', (error) => findings.push(`uncaught: ${error.stack ?? error.message}`))
  }
  context.pages().forEach(look)
  context.on('page', look)
  context.on('request', (request) => {
    const url = new URL(request.url())
    if (/^https?:$/.test(url.protocol) && url.hostname !== 'localhost' && url.hostname !== '127.0.0.1') findings.push(`foreign request: ${request.url()}`)
  })
  void context.addInitScript({
    content: "addEventListener('securitypolicyviolation', (e) => console.error(`Content Security Policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`))",
  })
  return {
    findings,
    allowNetworkErrors: (allow) => (networkErrors = allow),
    expectNone() {
      if (findings.length) throw new Error(`The page reported:\n${findings.join('\n')}`)
    },
  }
}

/** Polls until `probe` gives something truthy; the deadline is a failure with the words given. */
export async function until<T>(probe: () => Promise<T | null | undefined | false> | T | null | undefined | false, words: string, ms = 15_000): Promise<T> {
  const end = Date.now() + ms
  for (;;) {
    const got = await probe()
    if (got) return got
    if (Date.now() > end) throw new Error(`Waited ${ms} ms in vain: ${words}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Resolves when what comes in or goes has come or gone; colours in the middle of that are nobody's. What moves for ever, such as a sign of work, is not waited for. */
export async function stillness(page: Page): Promise<void> {
  await page.evaluate("Promise.all(document.getAnimations().filter((each) => Number.isFinite(each.effect?.getComputedTiming().endTime)).map((each) => each.finished.catch(() => undefined))).then(() => undefined)")
}
