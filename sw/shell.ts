import { PrecacheController } from 'workbox-precaching/PrecacheController'

export interface ShellFile { url: string; revision: string | null }

const PREFIX = 'talaria-shell-'
/** A page that is loading or frozen may be slow to say of which build it is, ms. */
const ASK_MS = 3000
/** How often it is asked again before the matter is left to the next page that starts. */
const ROUNDS = 3

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

  /**
   * Removes the caches of builds that no open page is of. While a page does not say of which it is, everything stays; also while another build is being
   * installed or waits, whose files no page uses yet: the first page that starts under it sees to the rest.
   */
  async clean(): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const old = (await shellCaches()).filter((name) => name !== this.name)
      if (old.length === 0) return
      const pages = await this.scope.clients.matchAll({ type: 'window', includeUncontrolled: true })
      const files = await Promise.all(pages.map(buildOf))
      // A page that is just closing is still listed, and answers no more.
      if (files.includes(null)) continue
      const foreign: string[] = []
      for (const file of files) if (file && !(await this.controller.matchPrecache(file))) foreign.push(file)
      for (const name of old) {
        const cache = await caches.open(name)
        const used = await Promise.all(foreign.map((file) => cache.match(file)))
        // Looked at right before the end: a build that one goes back to is installed into the cache of its earlier time.
        if (this.another()) return
        if (used.every((found) => !found)) await caches.delete(name)
      }
      return
    }
  }

  private another(): boolean {
    const { installing, waiting } = this.scope.registration
    return installing !== null || waiting !== null
  }
}

async function shellCaches(): Promise<string[]> {
  return (await caches.keys()).filter((name) => name.startsWith(PREFIX))
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
