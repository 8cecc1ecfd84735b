/**
 * The base address of a model server in one form: http or https, without credentials, query and last slash; an address without a path gets `/v1`, which is
 * where these servers have their API. Null for what is none.
 */
export function baseAddress(text: string): string | null {
  const raw = text.trim()
  if (!/^https?:\/\//i.test(raw) || !URL.canParse(raw)) return null
  const url = new URL(raw)
  if (url.username !== '' || url.password !== '' || url.hostname === '') return null
  // People paste the address of one call.
  const path = url.pathname.replace(/\/+$/, '').replace(/\/(?:chat\/completions|messages|models|completions)$/, '')
  return `${url.origin}${path === '' ? '/v1' : path}`
}

/** Anthropic's API stands below `/v1`, and its address is often written without. */
export function anthropicAddress(base: string): string {
  return /\/v\d+$/.test(base) ? base : `${base}/v1`
}

/** Host and port, to tell whether two addresses are one server. Names of this machine are the same. */
export function serverOf(base: string): string {
  const url = new URL(base)
  const host = isLoopback(url.hostname) ? 'loopback' : url.hostname
  return `${host}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
