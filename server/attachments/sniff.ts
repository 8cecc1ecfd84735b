/** What a file is, by its bytes as they pass; a claimed type is never looked at. The name decides only between kinds of text. */
export interface Sniffer {
  take(bytes: Buffer): void
  /** The type, once all bytes were taken. */
  type(name: string): string
}

const HEAD = 16
const TEXTS: Record<string, string> = { md: 'text/markdown', csv: 'text/csv', json: 'application/json' }

export function makeSniffer(): Sniffer {
  let head = Buffer.alloc(0)
  let text = true
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (bytes: Buffer | undefined): void => {
    try {
      decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      text = false
    }
  }
  return {
    take(bytes) {
      if (head.length < HEAD) head = Buffer.concat([head, bytes.subarray(0, HEAD - head.length)])
      if (text && bytes.includes(0)) text = false
      if (text) decode(bytes)
    },
    type(name) {
      if (text) decode(undefined)
      return magic(head) ?? (text ? (TEXTS[/\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''] ?? 'text/plain') : 'application/octet-stream')
    },
  }
}

function magic(head: Buffer): string | null {
  const is = (at: number, ascii: string): boolean => head.toString('latin1', at, at + ascii.length) === ascii
  if (is(0, '\x89PNG\r\n\x1a\n')) return 'image/png'
  if (is(0, '\xff\xd8\xff')) return 'image/jpeg'
  if (is(0, 'GIF87a') || is(0, 'GIF89a')) return 'image/gif'
  if (is(0, 'RIFF') && is(8, 'WEBP')) return 'image/webp'
  if (is(0, '%PDF-')) return 'application/pdf'
  return is(0, 'PK\x03\x04') ? 'application/zip' : null
}
