/** Schemes that a link of an answer may have; everything else is shown as text (spec/frontend.md §3.2, brief of this page). */
const SAFE = new Set(['http:', 'https:', 'mailto:'])

/** The address that may be set, or null. Control characters and blanks, which browsers drop before they read the scheme, go first. */
export function safeAddress(href: string): string | null {
  // eslint-disable-next-line no-control-regex -- these are the characters to be removed
  const clean = href.replace(/[\u0000-\u0020\u007f-\u00a0\u200b-\u200f\u2028-\u202f\ufeff]/g, '')
  if (!/^[a-z][a-z0-9+.-]*:/i.test(clean)) return null
  try {
    const url = new URL(clean)
    return SAFE.has(url.protocol) ? url.href : null
  } catch {
    return null
  }
}
