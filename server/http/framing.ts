import type { ProblemCode } from '../contract/problems'

/**
 * How a request's body is framed, decided from the raw header list, which keeps duplicates (spec/server.md §1.2–1.5). Node by itself runs a
 * hidden request behind an empty `Transfer-Encoding`, and answers some codings that it then cannot decode: what is refused here
 * never reaches a handler.
 */
export type Framing =
  | { state: 'none' }
  /** `length` is null for a chunked body. */
  | { state: 'body'; length: number | null }
  | { state: 'refused'; status: 400 | 411 | 413; code: ProblemCode; error: string }

/** What all values of `Content-Length` together say. */
export type DeclaredLength = { state: 'none' } | { state: 'body'; length: number } | { state: 'unreadable' }

/** More digits than this are beyond any cap and beyond exact numbers. */
const EXACT_DIGITS = 15

/**
 * Reads every occurrence, split on commas, trimmed of space and tab only; a member must be ASCII digits and nothing else. Members that
 * disagree mean that a body must be assumed: `unreadable`. Never throws, whatever the header holds.
 */
export function declaredLength(values: string[]): DeclaredLength {
  if (values.length === 0) return { state: 'none' }
  const members = values.flatMap((value) => value.split(',')).map(trimOws)
  if (!members.every((member) => /^[0-9]+$/.test(member))) return { state: 'unreadable' }
  const digits = members.map((member) => member.replace(/^0+(?=.)/, ''))
  if (!digits.every((each) => each === digits[0])) return { state: 'unreadable' }
  if (digits[0] === '0') return { state: 'none' }
  return { state: 'body', length: digits[0]!.length > EXACT_DIGITS ? Infinity : Number(digits[0]) }
}

/** `cap` is the largest body in bytes that the route takes. */
export function readFraming(rawHeaders: string[], cap: number): Framing {
  const of = (name: string) => rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]!.toLowerCase() === name)
  const encodings = of('transfer-encoding')
  const lengths = of('content-length')

  if (of('host').length > 1) return { state: 'refused', status: 400, code: 'bad_request', error: 'More than one Host header' }
  if (encodings.length > 0) {
    const decodable = encodings.length === 1 && trimOws(encodings[0]!).toLowerCase() === 'chunked' && lengths.length === 0
    return decodable ? { state: 'body', length: null } : { state: 'refused', status: 411, code: 'length_required', error: 'This transfer encoding is not accepted; send a Content-Length' }
  }
  if (lengths.length > 1 || lengths.some((value) => value.includes(','))) return { state: 'refused', status: 400, code: 'bad_request', error: 'More than one Content-Length' }
  const declared = declaredLength(lengths)
  if (declared.state === 'unreadable') return { state: 'refused', status: 400, code: 'bad_request', error: 'Invalid Content-Length' }
  if (declared.state === 'body' && declared.length > cap) return { state: 'refused', status: 413, code: 'body_too_large', error: tooLarge(declared.length, cap) }
  return declared
}

/** The original's words for a body above the cap. */
export function tooLarge(bytes: number, cap: number): string {
  return `Request body too large (${Number.isFinite(bytes) ? bytes : 'too many'} bytes, max ${cap})`
}

function trimOws(value: string): string {
  return value.replace(/^[ \t]+|[ \t]+$/g, '')
}
