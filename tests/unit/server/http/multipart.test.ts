import { describe, expect, it } from 'vitest'
import { boundaryOf, FormFault, makeFormReader } from '../../../../server/http/multipart'

interface Part { field: string; file?: string; bytes: Buffer }

/** All parts of a form that comes in these pieces. */
function read(pieces: Buffer[], boundary: string): Part[] {
  const reader = makeFormReader(boundary)
  const parts: Part[] = []
  for (const piece of pieces)
    for (const event of reader.push(piece)) {
      if (event.type === 'part') parts.push({ field: event.field, ...(event.file === undefined ? {} : { file: event.file }), bytes: Buffer.alloc(0) })
      if (event.type === 'bytes') parts.at(-1)!.bytes = Buffer.concat([parts.at(-1)!.bytes, event.bytes])
    }
  reader.end()
  return parts
}

function written(parts: Part[], boundary: string): Buffer {
  return Buffer.concat([...parts.flatMap(({ field, file, bytes }) => [Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${field}"${file === undefined ? '' : `; filename="${file}"`}\r\n\r\n`), bytes, Buffer.from('\r\n')]), Buffer.from(`--${boundary}--\r\n`)])
}

/** Numbers in [0, 1) from a seed. */
function from(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

describe('a form', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

  it(`is the same however it is cut, also where its bytes look like its boundary (SEED=${seed})`, () => {
    const random = from(seed)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    for (let round = 0; round < 200; round++) {
      const boundary = pick(['b', 'edge', '----WebKitFormBoundary7MA4', '--'])
      // What follows `CRLF--boundary` in a part is never its end or another part's beginning: a writer chooses a boundary that does not come.
      const crumbs = ['\r', '\n', '\r\n', '-', '--', `\r\n--${boundary.slice(0, -1)}x`, `--${boundary}`, 'text', '\0']
      const parts = Array.from({ length: Math.floor(random() * 4) }, (_, i): Part => ({ field: `f${i}`, ...(random() < 0.5 ? { file: 'a.txt' } : {}), bytes: Buffer.from(Array.from({ length: Math.floor(random() * 12) }, () => pick(crumbs)).join('').replaceAll(`\r\n--${boundary}`, '.'), 'latin1') }))
      const whole = written(parts, boundary)
      const pieces: Buffer[] = []
      for (let at = 0; at < whole.length; ) {
        const next = at + 1 + Math.floor(random() * random() * 40)
        pieces.push(whole.subarray(at, next))
        at = next
      }
      expect(read(pieces, boundary), `round ${round}`).toEqual(parts)
    }
  })

  it('that is cut anywhere before its end is told from a whole one', () => {
    const whole = written([{ field: 'file', file: 'a', bytes: Buffer.from('abc') }], 'edge')
    for (let at = 0; at < whole.length - 2; at++) expect(() => read([whole.subarray(0, at)], 'edge'), String(at)).toThrow(FormFault)
  })

  it('has names in quotes with what browsers and older clients escape', () => {
    const named = (disposition: string) => read([Buffer.from(`--b\r\ncontent-disposition:${disposition}\r\n\r\n\r\n--b--`)], 'b').map(({ field, file }) => [field, file])
    expect(named(' form-data; name="file"; filename="a%22b.txt"')).toEqual([['file', 'a"b.txt']])
    expect(named(' form-data; filename="a\\"; name=\\"session_id"; name="file"')).toEqual([['file', 'a"; name="session_id']])
    expect(named(` form-data; name=file; filename="plain"; filename*=UTF-8''na%C3%AFve`)).toEqual([['file', 'naïve']])
    expect(named(' form-data; name="file"; filename="C:\\dir\\x.txt"')).toEqual([['file', 'C:\\dir\\x.txt']])
    expect(named(' form-data; name="file"; filename=""')).toEqual([['file', '']])
    expect(() => read([Buffer.from('--b\r\nX-Other: 1\r\n\r\n\r\n--b--')], 'b')).toThrow(FormFault)
  })

  it.each([
    ['multipart/form-data; boundary=abc', 'abc'], ['Multipart/Form-Data; charset=utf-8; boundary="a b?c"', 'a b?c'], ['multipart/form-data', null], ['multipart/form-data; boundary=', null], ['multipart/mixed; boundary=abc', null], [undefined, null],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, null], ['multipart/form-data; xboundary=abc', null], ['application/json', null],
  ])('of the type %j has the boundary %j', (type, boundary) => {
    expect(boundaryOf(type)).toBe(boundary)
  })
})
