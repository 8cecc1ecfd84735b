import { setTrustedTypesPolicy } from 'solid-js/web'
import type { ScriptAddress } from './backend/updates'

/** The parts of the browser's Trusted Types that we use; older browsers have none and need none. */
interface PolicyFactory {
  createPolicy(name: string, rules: { createHTML: (html: string) => string; createScriptURL: (url: string) => string }): { createHTML(html: string): unknown; createScriptURL(url: string): unknown }
}

/** Addresses that may become a script: the service worker, and our worker as the build names it (or serves it while developing). */
const SCRIPTS = /^\/(sw\.js|assets\/worker-[\w-]+\.js|src\/worker\/[\w-]+\.ts(\?[\w=&.-]*)?)$/

/** True for the addresses of our two workers on this origin. */
export function isOurScript(url: string, origin: string): boolean {
  const address = new URL(url, origin)
  return address.origin === origin && SCRIPTS.test(address.pathname + address.search)
}

const rules = {
  // Solid alone asks for markup, and only for templates that the compiler wrote: agent and user text become nodes, never strings of HTML.
  createHTML: (html: string) => html,
  createScriptURL: (url: string) => {
    if (!isOurScript(url, location.origin)) throw new TypeError(`Not a script of this page: ${url}`)
    return url
  },
}

const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes
const policy = factory?.createPolicy('talaria', rules)
setTrustedTypesPolicy(policy)

/** Blesses the address of one of our workers, for `new Worker` and for registration (law 11). Throws for any other address. */
export const scripts = {
  createScriptURL: (url: string) => (policy ?? rules).createScriptURL(url) as ScriptAddress,
}
