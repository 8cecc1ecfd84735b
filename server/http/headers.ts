import { createHash } from 'node:crypto'

/** Names of the Trusted Types policies that our page makes. */
export const POLICIES = ['talaria']

/**
 * Headers of every answer. Nothing may load from another host, nothing may frame us, and no string becomes script or markup
 * (DESIGN §3, law 11). `hashes` name the inline scripts of the built page.
 */
export function securityHeaders(hashes: string[]): Record<string, string> {
  return {
    'Content-Security-Policy': contentPolicy(hashes),
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), payment=(), usb=()',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

export function contentPolicy(hashes: string[]): string {
  return [
    "default-src 'none'",
    ["script-src 'self'", ...hashes.map((hash) => `'${hash}'`)].join(' '),
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "media-src 'self' blob:",
    "worker-src 'self'",
    "manifest-src 'self'",
    "frame-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    `trusted-types ${POLICIES.join(' ')}`,
    'report-uri /api/csp-report',
  ].join('; ')
}

/** `sha256-…` of every inline script of a page, as a content policy names them. */
export function inlineScriptHashes(html: string): string[] {
  return [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map((match) => `sha256-${createHash('sha256').update(match[1]!).digest('base64')}`)
}
