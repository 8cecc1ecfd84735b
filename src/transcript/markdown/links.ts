/** Schemes that a link of an answer may have; everything else is shown as text (spec/frontend.md §3.2, brief of this page). */
const SAFE = new Set(['http:', 'https:', 'mailto:'])

/** The address that may be set, or null. Control characters and blanks, which browsers drop before they read the scheme, go first. */
export function safeAddress(href: string): string | null {
  const clean = [...href].filter((char) => !isBlank(char.codePointAt(0)!)).join('')
  if (!/^[a-z][a-z0-9+.-]*:/i.test(clean)) return null
  try {
    const url = new URL(clean)
    return SAFE.has(url.protocol) ? url.href : null
  } catch {
    return null
  }
}

/** Control characters, blanks and marks without width. */
function isBlank(code: number): boolean {
  return code <= 0x20 || (code >= 0x7f && code <= 0xa0) || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202f) || code === 0xfeff
}
