import { createSignal, onCleanup, type Accessor } from 'solid-js'

/** Where one is. `home` is the list on a phone and an empty chat elsewhere; `new` is an empty chat everywhere. */
export type Route =
  | { name: 'home' }
  | { name: 'new' }
  | { name: 'session'; id: string }
  | { name: 'settings' }
  | { name: 'connection' }
  | { name: 'agent' }
  | { name: 'appearance' }
  | { name: 'missing' }

/** The route of a path; ids that are not safe in a path lead nowhere. */
export function parseRoute(path: string): Route {
  const parts = path.split('/').filter(Boolean)
  if (parts.length === 0) return { name: 'home' }
  if (parts.length === 1 && parts[0] === 'new') return { name: 'new' }
  if (parts.length === 2 && parts[0] === 'session' && /^[A-Za-z0-9_-]{1,128}$/.test(parts[1]!)) return { name: 'session', id: parts[1]! }
  if (parts[0] === 'settings') {
    if (parts.length === 1) return { name: 'settings' }
    if (parts.length === 2 && (parts[1] === 'connection' || parts[1] === 'agent' || parts[1] === 'appearance')) return { name: parts[1] }
  }
  return { name: 'missing' }
}

export interface Router {
  route: Accessor<Route>
  /** `replace` leaves no way back to where one was. */
  go: (path: string, replace?: boolean) => void
  /** True once somebody went somewhere: then a new page may take the focus. */
  moved: () => boolean
}

/** Follows the address bar and the plain presses on our own links. */
export function createRouter(page: Window): Router {
  const [route, set] = createSignal<Route>(parseRoute(page.location.pathname), { equals: (a, b) => JSON.stringify(a) === JSON.stringify(b) })
  let moved = false
  const read = () => {
    moved = true
    set(parseRoute(page.location.pathname))
  }
  const go = (path: string, replace = false) => {
    if (path !== page.location.pathname) page.history[replace ? 'replaceState' : 'pushState'](null, '', path)
    read()
  }
  const onPress = (press: MouseEvent) => {
    if (press.defaultPrevented || press.button !== 0 || press.ctrlKey || press.metaKey || press.shiftKey || press.altKey) return
    const link = press.target instanceof Element ? press.target.closest('a[href]') : null
    const href = link?.getAttribute('href')
    if (!link || !href?.startsWith('/') || href.startsWith('//') || link.hasAttribute('target') || link.hasAttribute('download') || href.startsWith('/api/')) return
    press.preventDefault()
    go(href)
  }
  page.addEventListener('popstate', read)
  page.addEventListener('click', onPress)
  onCleanup(() => {
    page.removeEventListener('popstate', read)
    page.removeEventListener('click', onPress)
  })
  return { route, go, moved: () => moved }
}
