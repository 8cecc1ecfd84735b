/// <reference lib="webworker" />
import { openShelf } from '../src/cache/shelf'
import { routeOf, routes, type RouteName } from '../server/contract/routes'
import { Shell, type ShellFile } from './shell'
import { makeShim } from './shim'

declare const self: ServiceWorkerGlobalScope & { __WB_MANIFEST: ShellFile[] }
declare const __BUILD__: string

/** Lifecycle and wiring only. What is not named here goes to the network as if there were no worker: streams, health, login, writes, and this script. */
const shell = new Shell(self, self.__WB_MANIFEST, __BUILD__)
const after = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
const shim = makeShim({ fetch: (request) => fetch(request), shelf: openShelf({ user: 'local', profile: 'default' }, after), clock: { after } })

self.addEventListener('install', (event) => event.waitUntil(shell.install(event)))

/**
 * The first worker takes over the pages that are open already; a later one comes here only when it was asked for, or no page was open. Files of older builds
 * are cleared when the next page has started: what is awaited here holds up every page, and a page that is just closing does not answer.
 */
self.addEventListener('activate', (event) => {
  event.waitUntil(self.clients.claim())
})

self.addEventListener('message', (event: ExtendableMessageEvent) => {
  const type = (event.data as { type?: unknown } | null)?.type
  if (type === 'SKIP_WAITING') event.waitUntil(self.skipWaiting())
  // A page that was on its way while this worker became active was not there to be taken over, and one that was loaded past it is not either.
  if (type === 'PAGE_STARTED') event.waitUntil(self.clients.claim().then(() => shell.clean(), () => undefined))
})

self.addEventListener('fetch', (event) => {
  const { request } = event
  const url = new URL(request.url)
  if (request.method !== 'GET' || url.origin !== self.location.origin) return
  if (request.mode === 'navigate') {
    if (isPage(url.pathname)) event.respondWith(shell.page())
  } else if (isShimmed(url.pathname)) {
    // `no-store` asks for the server itself: sync and status take no copy for an answer.
    if (request.cache !== 'no-store') event.respondWith(shim(request))
  } else if (shell.owns(url)) event.respondWith(shell.file(request))
})

/** Addresses of the app itself; everything else that a person may open (login, health, an API answer, a file) is the server's business. */
function isPage(path: string): boolean {
  return path === '/' || path === '/index.html' || /^\/(session|settings|new)(\/|$)/.test(path)
}

function isShimmed(path: string): boolean {
  const name = `GET ${path}`
  return name in routes && path.startsWith('/api/') && !routeOf(name as RouteName).stream && !routeOf(name as RouteName).file
}
