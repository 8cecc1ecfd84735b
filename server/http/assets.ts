import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { takesGzip } from './answer'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8', '.svg': 'image/svg+xml', '.png': 'image/png', '.ico': 'image/x-icon', '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8', '.map': 'application/json; charset=utf-8',
}

interface Asset { bytes: Buffer; gz?: Buffer; type: string; etag: string; cache: string }

export interface Assets {
  /** The page itself; null before it is built. */
  readonly html: string | null
  /** Answers for a file of the built page or for an address of the page's router; null for anything else. */
  answer(path: string, request: { ifNoneMatch?: string; acceptEncoding?: string }): Response | null
}

/** Addresses of the page's own router, answered with the page. */
const PAGES = /^\/(?:index\.html|new|session\/[A-Za-z0-9_-]{1,128}|settings(?:\/[a-z0-9-]*)?)?$/

/**
 * The built page, read once into memory: at most a few MB, and no path of a request ever reaches the file system. A name that carries the hash
 * of its content is immutable; the page, the worker script and everything else ask again each time.
 */
export function readAssets(folder: string): Assets {
  const files = new Map<string, Asset>()
  for (const path of walk(folder)) {
    if (path.endsWith('.gz')) continue
    const bytes = readFileSync(path)
    const name = `/${relative(folder, path).split(sep).join('/')}`
    files.set(name, {
      bytes,
      gz: readIfThere(`${path}.gz`),
      type: TYPES[extname(path)] ?? 'application/octet-stream',
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      cache: /^\/assets\/.+-[\w-]{8,}\.\w+$/.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
    })
  }
  return {
    html: files.get('/index.html')?.bytes.toString('utf8') ?? null,
    answer(path, request) {
      const asset = files.get(path) ?? (PAGES.test(path) ? files.get('/index.html') : undefined)
      if (!asset) return null
      const headers: Record<string, string> = { 'Content-Type': asset.type, 'Cache-Control': asset.cache, ETag: asset.etag, Vary: 'Accept-Encoding' }
      if (names(request.ifNoneMatch, asset.etag)) return new Response(null, { status: 304, headers })
      if (asset.gz && takesGzip(request.acceptEncoding)) return new Response(asset.gz, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
      return new Response(asset.bytes, { headers })
    },
  }
}

function names(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((item) => item.trim().replace(/^W\//, '') === etag || item.trim() === '*')
}

function walk(folder: string): string[] {
  let entries
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
  return entries.flatMap((entry) => (entry.isDirectory() ? walk(join(folder, entry.name)) : entry.isFile() ? [join(folder, entry.name)] : []))
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}
