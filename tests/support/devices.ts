import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { launch, watch } from './browser'
import { productFolder, removeFolder, startProduct, type Product } from './product'

/** One server with the scripted agent for each test of a file, and as many devices as a test opens. */
export interface Devices {
  product: Product
  folder: string
  /** A device of its own: another browser profile. Its context is `page.context()`. */
  device(size: object): Promise<Page>
  /** From here on a lost server is no finding: the test took it away. */
  allowNetworkErrors(): void
  /** No device reported anything. */
  clean(): void
}

/** Registers the hooks of a test file; the object is filled anew before each test. */
export function useDevices(): Devices {
  let browser: Browser
  const contexts: BrowserContext[] = []
  const watched: ReturnType<typeof watch>[] = []
  let lax = false
  const devices = {
    async device(size: object) {
      const context = await browser.newContext(size)
      contexts.push(context)
      const seen = watch(context)
      seen.allowNetworkErrors(lax)
      watched.push(seen)
      return context.newPage()
    },
    allowNetworkErrors() {
      lax = true
      for (const seen of watched) seen.allowNetworkErrors(true)
    },
    clean: () => watched.forEach((seen) => seen.expectNone()),
  } as Devices
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())
  beforeEach(async () => {
    devices.folder = productFolder()
    devices.product = await startProduct({ folder: devices.folder, args: ['--demo'] })
  })
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close()
    watched.splice(0)
    lax = false
    await devices.product.end()
    removeFolder(devices.folder)
  })
  return devices
}
