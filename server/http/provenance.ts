import { Refusal } from '../contract/problems'

type HeaderOf = (name: string) => string | undefined

/**
 * Against DNS rebinding: only a loopback literal, `localhost`, the bound address, or a name from `HERMES_WEBUI_ALLOWED_HOSTS` may stand in
 * Host, on every request (DESIGN §5). Ports are not compared: a forwarded port is common, and the name is what an attacker controls.
 */
export function checkHost(host: string | undefined, allowed: ReadonlySet<string>): void {
  const name = hostName(host ?? '')
  if (name !== null && (isLoopbackName(name) || allowed.has(name))) return
  throw new Refusal('misdirected_host', 'This host name is not served here. Add it to HERMES_WEBUI_ALLOWED_HOSTS if it should be.')
}

/** Names of a comma-separated list, ports dropped; what is no host name is left out. */
export function hostNames(list: string): string[] {
  return list.split(',').map((item) => hostName(item.trim())).filter((name): name is string => name !== null)
}

/** An origin with its scheme, as browsers send it; null for what is none. A path behind it is dropped. */
export function originOf(text: string): string | null {
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text).origin : null
}

/**
 * The check of everything that acts, a GET that acts included (spec/server.md §2.4): a browser must have sent it from a page of this very
 * origin, or of an allowed one, as behind a proxy that sends another Host. Without Origin, Referer and fetch metadata it is no browser, and passes. `same-site` is refused too: another port of
 * `localhost` is the same site.
 */
export function checkOrigin(header: HeaderOf, allowed: ReadonlySet<string>): void {
  const site = header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new Refusal('cross_origin', 'Cross-origin request rejected')
  const from = header('origin') ?? header('referer')
  if (from === undefined) return
  const origin = originOf(from)
  if (origin !== null && allowed.has(origin)) return
  const host = header('host')
  if (host === undefined || originHost(from) !== withPort(host, from)) throw new Refusal('cross_origin', 'Cross-origin mismatch - check reverse proxy headers')
}

function hostName(host: string): string | null {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(host)
  return match && Number(match[2] ?? 0) <= 65535 ? match[1]!.toLowerCase() : null
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name)
}

/** Host and port of an origin or address; null for `null` and what cannot be read. */
function originHost(from: string): string | null {
  try {
    const url = new URL(from)
    return url.host === '' ? null : `${url.hostname}:${url.port || defaultPort(url.protocol)}`
  } catch {
    return null
  }
}

/** Host as the scheme of `from` reads it: the port is spelled out. */
function withPort(host: string, from: string): string | null {
  return originHost(`${from.slice(0, from.indexOf(':'))}://${host}`)
}

function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80'
}
