import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Attachments, Received, Receiving } from '../attachments/port'
import { ATTACHMENTS_LIMIT, UPLOAD_CAP, isRaster } from '../contract/attachments'
import { Refusal } from '../contract/problems'
import type { UploadedFile } from '../contract/routes'
import { bodyPieces } from '../http/body-pieces'
import { exchangeOf } from '../http/gate'
import { boundaryOf, FormFault, makeFormReader } from '../http/multipart'
import type { FormEvent } from '../http/multipart'
import { loadSession, notFound } from './load'
import type { Ownership } from './ownership'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** Where an upload goes, so that nothing else is read as one. */
export const UPLOAD_PATH = '/api/upload'
/** The original's words for a request above the cap (spec/server.md §1.3, F13). */
export const FILE_TOO_LARGE = `File too large (max ${UPLOAD_CAP / 1024 / 1024}MB)`
/** Bytes of a plain field; the longest that counts is an id. */
const FIELD_LIMIT = 1024

type UploadParts = Pick<Parts, 'store' | 'attachments'> & { ownership: Ownership }

/** Takes files of messages to come (spec/server.md §11). Their bytes pass from the socket to the disk; an upload that does not end well leaves nothing. */
export function upload({ store, attachments, ownership }: UploadParts): Handlers<'POST /api/upload'> {
  return {
    async 'POST /api/upload'({ profile, header, request, response }) {
      // Only a length that was told beforehand is bounded before the body is read.
      if (exchangeOf(request)?.declares && header('content-length') === undefined) throw new Refusal('length_required', 'Length required')
      const boundary = boundaryOf(header('content-type'))
      if (boundary === null) throw new Refusal('bad_request', 'No boundary in Content-Type')
      const mayTake = async (session: string): Promise<void> => {
        await ownership.check(profile, session)
        await loadSession(store, session)
      }
      const form = new Form(attachments, mayTake)
      const kept: UploadedFile[] = []
      try {
        await readForm(form, boundary, request, response)
        const session = await form.whole()
        for (const { received, name } of form.files) {
          const { attachment, path } = await attachments.keep(session, received, name)
          kept.push({ filename: attachment.name, path, size: attachment.size, mime: attachment.mime, is_image: isRaster(attachment.mime), id: attachment.id, digest: attachment.digest })
        }
        // The chat may have been deleted meanwhile, and its folder with it.
        await mayTake(session).catch(async (error: unknown) => {
          await attachments.remove(session)
          throw error
        })
        return kept.length === 1 ? kept[0]! : { files: kept, count: kept.length }
      } catch (error) {
        await form.abandon()
        const { session } = form
        if (session !== null) for (const { id } of kept) await attachments.discard(session, id).catch(() => undefined)
        throw refusalOf(error)
      }
    },
  }
}

async function readForm(form: Form, boundary: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reader = makeFormReader(boundary)
  for await (const piece of bodyPieces(request, response, { cap: UPLOAD_CAP, words: FILE_TOO_LARGE })) for (const event of reader.push(piece)) await form.take(event)
  if (exchangeOf(request)?.declares) reader.end()
}

type OpenPart = { kind: 'file'; receiving: Receiving; name: string } | { kind: 'session'; bytes: Buffer[] } | { kind: 'other' }

/** What of a form counts: the chat, and every file of the field `file`. */
class Form {
  session: string | null = null
  readonly files: { received: Received; name: string }[] = []
  #nameless = false
  #part: OpenPart = { kind: 'other' }
  #begun: Receiving[] = []

  constructor(private readonly attachments: Attachments, private readonly mayTake: (session: string) => Promise<void>) {}

  async take(event: FormEvent): Promise<void> {
    const part = this.#part
    if (event.type === 'part') this.#part = await this.#begin(event)
    else if (event.type === 'bytes') {
      if (part.kind === 'file') await part.receiving.write(event.bytes)
      if (part.kind === 'session') {
        part.bytes.push(event.bytes)
        if (part.bytes.reduce((size, bytes) => size + bytes.length, 0) > FIELD_LIMIT) throw new Refusal('bad_request', 'session_id is not valid')
      }
    } else {
      if (part.kind === 'file') this.files.push({ received: await part.receiving.end(), name: part.name })
      if (part.kind === 'session') {
        this.session = Buffer.concat(part.bytes).toString('utf8')
        // Before a byte of any file that follows is written.
        await this.mayTake(this.session)
      }
      this.#part = { kind: 'other' }
    }
  }

  /** The chat of a form that came whole and holds what it must. */
  async whole(): Promise<string> {
    if (this.#nameless) throw new Refusal('bad_request', 'No filename in upload')
    if (this.files.length === 0) throw new Refusal('bad_request', 'No file field in request')
    if (this.session === null) throw new Refusal('bad_request', 'session_id is required')
    return this.session
  }

  async abandon(): Promise<void> {
    for (const receiving of this.#begun) await receiving.abandon().catch(() => undefined)
  }

  async #begin({ field, file }: FormEvent & { type: 'part' }): Promise<OpenPart> {
    if (field === 'session_id' && file === undefined && this.session === null) return { kind: 'session', bytes: [] }
    if (field !== 'file') return { kind: 'other' }
    if (file === undefined || file === '') {
      this.#nameless = true
      return { kind: 'other' }
    }
    if (this.files.length >= ATTACHMENTS_LIMIT) throw new Refusal('bad_request', `No more than ${ATTACHMENTS_LIMIT} files at once`)
    const receiving = await this.attachments.receive()
    this.#begun.push(receiving)
    return { kind: 'file', receiving, name: file }
  }
}

function refusalOf(error: unknown): unknown {
  if (error instanceof FormFault) return new Refusal('bad_request', error.message)
  const code = (error as NodeJS.ErrnoException).code
  // Its folder left in the middle, with its chat.
  if (code === 'ENOENT') return notFound()
  if (code === 'ENOSPC' || code === 'EDQUOT') return new Refusal('store_full', 'The disk is full; nothing was kept', { retryable: true })
  return error
}
