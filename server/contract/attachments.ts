/** A file that a person gave with a message (spec/features.md §2.3, `/api/upload`). Its bytes lie on the server's disk, in the chat's own folder, and leave with the chat. */
export interface Attachment {
  id: string
  /** Safe as a file's name, unique within its chat, and how the file is called there. */
  name: string
  /** Bytes. */
  size: number
  /** What the bytes say, never what was claimed: one of the raster types, PDF, ZIP, a text type, or `application/octet-stream`. */
  mime: string
  /** SHA-256 of the bytes, hex. */
  digest: string
}

/** How many a message may have. */
export const ATTACHMENTS_LIMIT = 20
/** Largest request of an upload, bytes: the original's 20 MB. */
export const UPLOAD_CAP = 20 * 1024 * 1024

/** The types that are shown as pictures and given to models as such: raster only, an SVG is a text that can do things. */
const RASTER: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** Whether it is shown as a picture. */
export function isRaster(mime: string): boolean {
  return RASTER.includes(mime)
}

/** Of several messages that become one: each file once, in order. */
export function joinedAttachments(lists: readonly (readonly Attachment[] | undefined)[]): Attachment[] {
  const found = new Map<string, Attachment>()
  for (const list of lists) for (const attachment of list ?? []) found.set(attachment.id, attachment)
  return [...found.values()]
}

/** The member of an event, row or item that holds them: none where there are none. */
export function withAttachments(list: readonly Attachment[] | undefined): { attachments?: readonly Attachment[] } {
  return list && list.length > 0 ? { attachments: list } : {}
}
