import { PrecacheController } from 'workbox-precaching/PrecacheController'

export interface ShellFile { url: string; revision: string | null }

const PREFIX = 'talaria-shell-'
/** A page that is loading or frozen may be slow to say of which build it is, ms. */
const ASK_MS = 3000

/**
 * The files of this build, kept from the first visit on, in a cache of their own (law 12). Older builds' caches stay while a page of
 * that build is open, so that it finds its parts.
 */
export class Shell {
  private readonly name: string
  private readonly controller: PrecacheController
  private readonly urls: Set<string>

  constructor(
    private readonly scope: ServiceWorkerGlobalScope,
    files: ShellFile[],
    build: string,
  ) {
    this.name = PREFIX + build
    this.controller = new PrecacheController({ cacheName: this.name })
    this.controller.addToCacheList(files)
    this.urls = new Set(files.map((file) => new URL(file.url, scope.location.href).href))
  }

  /** All files or none: a build that is not whole is never used. */
  install(event: ExtendableEvent): Promise<unknown> {
    return this.controller.install(event)
  }

  /** Whether a request is for a file of a build: of this one, or by its address of any. */
  owns(url: URL): boolean {
    return this.urls.has(url.href) || url.pathname.startsWith('/assets/')
  }

  async page(): Promise<Response> {
    return (await this.controller.matchPrecache('/index.html')) ?? fetch('/index.html')
  }

  /** From this build's cache, else from that of a build which is still open, else from the network. */
  async file(request: Request): Promise<Response> {
    const url = new URL(request.url)
    const here = this.urls.has(url.href) ? await this.controller.matchPrecache(url.href) : undefined
    if (here) return here
    for (const name of await shellCaches()) {
      const found = await (await caches.open(name)).match(request.url)
      if (found) return found
    }
    return fetch(request)
  }

  /** Removes the caches of builds that no open page is of. When a page does not answer, everything stays. */
  async clean(): Promise<void> {
    const old = (await shellCaches()).filter((name) => name !== this.cacheName())
    if (old.length === 0) return
    const pages = await this.scope.clients.matchAll({ type: 'window', includeUncontrolled: true })
    const files = await Promise.all(pages.map(buildOf))
    if (files.includes(null)) return
    for (const name of old) {
      const cache = await caches.open(name)
      const used = await Promise.all(files.map(async (file) => (await this.mine(file!)) === false && (await cache.match(file!)) !== undefined))
      if (!used.includes(true)) await caches.delete(name)
    }
  }

  private async mine(file: string): Promise<boolean> {
    return (await this.controller.matchPrecache(file)) !== undefined
  }

  private cacheName(): string {
    return this.controller.strategy.cacheName
  }
}

async function shellCaches(): Promise<string[]> {
  return (await caches.keys()).filter((name) => name.includes(PREFIX))
}

/** The address of the script that a page runs, which names its build; null when it does not say. */
function buildOf(page: Client): Promise<string | null> {
  return new Promise((resolve) => {
    const channel = new MessageChannel()
    const timer = setTimeout(() => resolve(null), ASK_MS)
    channel.port1.onmessage = (event: MessageEvent<unknown>) => {
      clearTimeout(timer)
      resolve(typeof event.data === 'string' ? event.data : null)
    }
    page.postMessage({ type: 'WHICH_BUILD' }, [channel.port2])
  })
}
