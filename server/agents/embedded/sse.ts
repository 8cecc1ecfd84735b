/** One event of a stream. `data` is null where the event had no data line (an `event: error` alone is one that counts). */
export interface Frame { event: string; data: string | null }

/**
 * Server-sent events from bytes, in pieces cut anywhere: within a character, between CR and LF, within a field. Takes LF, CRLF and CR,
 * `data:` with and without the blank, comments, and a last event that no blank line ends. Frames longer than `limit` units are dropped.
 */
export function makeFrames(limit = 8 * 1024 * 1024): { push(bytes: Uint8Array): Frame[]; end(): Frame[] } {
  const decoder = new TextDecoder()
  let rest = ''
  let afterCr = false
  let event = ''
  let data: string[] = []
  let size = 0

  const flush = (out: Frame[]): void => {
    if ((event !== '' || data.length > 0) && size <= limit) out.push({ event, data: data.length > 0 ? data.join('\n') : null })
    event = ''
    data = []
    size = 0
  }
  const line = (text: string, out: Frame[]): void => {
    if (text === '') return flush(out)
    if (text.startsWith(':')) return
    const colon = text.indexOf(':')
    const name = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'event') event = value
    if (name !== 'data') return
    size += value.length
    if (size <= limit) data.push(value)
    else data = []
  }
  const take = (text: string): Frame[] => {
    const out: Frame[] = []
    if (afterCr && text.startsWith('\n')) text = text.slice(1)
    if (text !== '') afterCr = false
    rest += text
    let from = 0
    for (let i = Math.max(0, rest.length - text.length); i < rest.length; i++) {
      const mark = rest.charCodeAt(i)
      if (mark !== 10 && mark !== 13) continue
      line(rest.slice(from, i), out)
      if (mark === 13 && i + 1 === rest.length) afterCr = true
      else if (mark === 13 && rest.charCodeAt(i + 1) === 10) i++
      from = i + 1
    }
    rest = rest.slice(from)
    if (rest.length > limit) {
      size = limit + 1
      rest = ''
    }
    return out
  }
  return {
    push: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end: () => {
      const out = take(decoder.decode())
      if (rest !== '') line(rest, out)
      rest = ''
      flush(out)
      return out
    },
  }
}
