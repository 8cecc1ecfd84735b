import { gzip } from 'node:zlib'
import { promisify } from 'node:util'

const squeeze = promisify(gzip)
/** Below this many bytes compressing costs more than it saves. */
const GZIP_FROM = 1024

/** A JSON answer, compressed when it is over 1 KB and the client takes gzip. JSON of the API is never stored by any cache. */
export async function jsonAnswer(body: unknown, options: { status?: number; acceptEncoding?: string; headers?: Record<string, string> } = {}): Promise<Response> {
  const bytes = Buffer.from(JSON.stringify(body))
  const headers: Record<string, string> = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store', Vary: 'Accept-Encoding', ...options.headers }
  const status = options.status ?? 200
  if (bytes.length <= GZIP_FROM || !takesGzip(options.acceptEncoding)) return new Response(bytes, { status, headers })
  return new Response(await squeeze(bytes, { level: 5 }), { status, headers: { ...headers, 'Content-Encoding': 'gzip' } })
}

export function takesGzip(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? '').split(',').some((item) => /^\s*(?:gzip|\*)\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)[\d.]+\s*)?$/i.test(item))
}
