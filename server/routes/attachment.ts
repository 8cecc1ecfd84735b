import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { isRaster } from '../contract/attachments'
import { Refusal } from '../contract/problems'
import { loadSession } from './load'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** Whatever it is, it may do nothing in a browser: no script, no form, no request, no origin. */
const CAGE = "default-src 'none'; sandbox"

/**
 * The bytes of a file of a message. Only raster pictures are shown in place, with the type that their bytes have; everything else is
 * saved, as bytes of no type (spec/server.md §10).
 */
export function attachment({ store, attachments }: Pick<Parts, 'store' | 'attachments'>): Handlers<'GET /api/attachment'> {
  return {
    async 'GET /api/attachment'({ input, header, request, response }) {
      await loadSession(store, input.session_id)
      const found = await attachments.find(input.session_id, input.id)
      const onDisk = found && (await stat(found.path).catch(() => null))
      if (!found || !onDisk?.isFile() || onDisk.size !== found.attachment.size) throw new Refusal('attachment_not_found', 'This file is not on the server.')
      const { name, mime, size, digest } = found.attachment
      const tag = `"${digest}"`
      const headers = {
        'Content-Type': isRaster(mime) ? mime : 'application/octet-stream', 'Content-Disposition': dispositionOf(isRaster(mime) ? 'inline' : 'attachment', name),
        'Content-Security-Policy': CAGE, 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'private, no-cache', ETag: tag,
      }
      if (header('if-none-match') === tag) return void response.writeHead(304, headers).end()
      response.writeHead(200, { ...headers, 'Content-Length': size })
      if (request.method === 'HEAD') return void response.end()
      // A reader that goes away ends the file, too.
      await pipeline(createReadStream(found.path), response).catch(() => response.destroy())
    },
  }
}

function dispositionOf(how: 'inline' | 'attachment', name: string): string {
  return `${how}; filename="${name.replace(/[^\w.-]/g, '_')}"; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)}`
}
