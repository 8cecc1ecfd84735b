/**
 * `multipart/form-data` piece by piece, pure (RFC 7578). What is a delimiter is decided by its bytes alone; everything else is the part's, whatever
 * its headers claim.
 */
export type FormEvent =
  /** `file`: the name that the part gives its file; absent for a plain field. Nothing of either is trusted. */
  | { type: 'part'; field: string; file?: string }
  | { type: 'bytes'; bytes: Buffer }
  | { type: 'end' }

/** Why a form cannot be read; the sentence is for people. */
export class FormFault extends Error {
  constructor(words: string) {
    super(words)
    this.name = 'FormFault'
  }
}

export interface FormReader {
  push(chunk: Buffer): FormEvent[]
  /** No more comes: throws when the form had not ended. */
  end(): void
}

/** Bytes that the header lines of one part may have. */
export const PART_HEADERS_LIMIT = 8 * 1024
/** Parts of one form. */
export const PARTS_LIMIT = 64

/** The boundary that a `Content-Type` names; null when it is another type, or names none that can be one. */
export function boundaryOf(contentType: string | undefined): string | null {
  const [type, ...rest] = (contentType ?? '').split(';')
  if (type!.trim().toLowerCase() !== 'multipart/form-data') return null
  const [, quoted, plain] = /^\s*boundary\s*=\s*(?:"([^"]*)"|([^\s;"]+))\s*(?:;|$)/i.exec(rest.filter((part) => /^\s*boundary\s*=/i.test(part)).join(';')) ?? []
  const boundary = quoted ?? plain
  return boundary !== undefined && /^[0-9A-Za-z'()+_,\-./:=? ]{1,70}$/.test(boundary) && !boundary.endsWith(' ') ? boundary : null
}

export function makeFormReader(boundary: string): FormReader {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  // The first delimiter may stand at the very beginning.
  let held: Buffer = Buffer.from('\r\n', 'latin1')
  let state: 'before' | 'headers' | 'body' | 'over' = 'before'
  let parts = 0

  /** Takes what is certain from `held`; false when more must come first. */
  const step = (events: FormEvent[]): boolean => {
    if (state === 'over') {
      held = Buffer.alloc(0)
      return false
    }
    if (state === 'headers') return readHeaders(events)
    const at = held.indexOf(delimiter)
    const certain = at < 0 ? Math.max(0, held.length - delimiter.length + 1) : at
    give(events, certain)
    if (at < 0 || held.length < delimiter.length + 2) return false
    const behind = held.toString('latin1', delimiter.length, delimiter.length + 2)
    if (behind !== '--' && behind !== '\r\n') {
      give(events, delimiter.length)
      return true
    }
    if (state === 'body') events.push({ type: 'end' })
    state = behind === '--' ? 'over' : 'headers'
    // The line end stays: headers without a line end at once with an empty one.
    held = held.subarray(behind === '--' ? delimiter.length + 2 : delimiter.length)
    if (state === 'headers' && ++parts > PARTS_LIMIT) throw new FormFault(`A form has no more than ${PARTS_LIMIT} parts`)
    return true
  }

  const give = (events: FormEvent[], bytes: number): void => {
    if (bytes === 0) return
    if (state === 'body') events.push({ type: 'bytes', bytes: held.subarray(0, bytes) })
    held = held.subarray(bytes)
  }

  const readHeaders = (events: FormEvent[]): boolean => {
    const end = held.indexOf('\r\n\r\n')
    if ((end < 0 ? held.length : end) > PART_HEADERS_LIMIT) throw new FormFault('The headers of a part are too large')
    if (end < 0) return false
    events.push({ type: 'part', ...dispositionOf(held.toString('utf8', 0, end)) })
    held = held.subarray(end + 4)
    state = 'body'
    return true
  }

  return {
    push(chunk) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      const events: FormEvent[] = []
      while (step(events));
      return events
    },
    end() {
      if (state !== 'over') throw new FormFault(state === 'before' ? 'The form does not begin with its boundary' : 'The form broke off')
    },
  }
}

function dispositionOf(headers: string): { field: string; file?: string } {
  const line = headers.split('\r\n').find((each) => /^content-disposition\s*:/i.test(each))
  if (line === undefined) throw new FormFault('A part has no Content-Disposition')
  const found = new Map<string, string>()
  for (const [, name, quoted, plain] of line.matchAll(/;\s*([\w-]+\*?)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))/g)) {
    if (!found.has(name!.toLowerCase())) found.set(name!.toLowerCase(), quoted === undefined ? plain! : quoted.replace(/\\(["\\])/g, '$1'))
  }
  const file = extended(found.get('filename*')) ?? found.get('filename')
  return { field: found.get('name') ?? '', ...(file === undefined ? {} : { file: file.replace(/%(22|0D|0A)/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))) }) }
}

/** RFC 5987, as some clients still send it. */
function extended(value: string | undefined): string | undefined {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(value ?? '') ?? []
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
