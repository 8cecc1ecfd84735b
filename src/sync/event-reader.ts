/** One event of a `text/event-stream`, complete; comments and events without data are left out. */
export interface StreamEvent { name: string; id: string | null; data: string }

/**
 * Cuts the bytes of an event stream into events, whatever the chunks. What is not closed by an empty line when the stream ends is no event.
 * (WHATWG HTML §9.2.6; `retry` is left out: the ladder decides.)
 */
export function makeEventReader(): (bytes: Uint8Array) => StreamEvent[] {
  const decoder = new TextDecoder()
  let rest = ''
  let name = ''
  let id: string | null = null
  let data: string[] = []
  let skipFeed = false

  function field(line: string, events: StreamEvent[]): void {
    if (line === '') {
      if (data.length > 0) events.push({ name: name || 'message', id, data: data.join('\n') })
      name = ''
      id = null
      data = []
      return
    }
    const colon = line.indexOf(':')
    const key = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (key === 'event') name = value
    else if (key === 'data') data.push(value)
    else if (key === 'id') id = value
  }

  return (bytes) => {
    const events: StreamEvent[] = []
    let text = decoder.decode(bytes, { stream: true })
    if (text === '') return events
    // A CR that ended the last chunk has closed its line already; the LF that belongs to it closes none.
    if (skipFeed && text.startsWith('\n')) text = text.slice(1)
    skipFeed = text.endsWith('\r')
    let start = 0
    for (const end of text.matchAll(/\r\n|\r|\n/g)) {
      field(rest + text.slice(start, end.index), events)
      rest = ''
      start = end.index + end[0].length
    }
    rest += text.slice(start)
    return events
  }
}
