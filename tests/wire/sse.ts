/** One event of a stream. */
export interface SseEvent { id?: string; event: string; data: Record<string, unknown> & { session?: unknown } }

/** A reader of an event stream over a real connection. */
export interface Sse {
  status: number
  headers: Headers
  events: SseEvent[]
  /** Comment lines. */
  comments: string[]
  /** Resolves when an event passes; throws after a while with what came. */
  until(found: (event: SseEvent) => boolean, ms?: number): Promise<SseEvent>
  /** Resolves when the server ended the stream. */
  ended(ms?: number): Promise<void>
  /** Breaks the connection off. */
  cut(): void
}

export async function openSse(url: string, headers: Record<string, string> = {}): Promise<Sse> {
  const abort = new AbortController()
  const answer = await fetch(url, { headers: { Accept: 'text/event-stream', ...headers }, signal: abort.signal })
  const events: SseEvent[] = []
  const comments: string[] = []
  let done = false
  const read = async () => {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      rest += decoder.decode(chunk, { stream: true })
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        take(rest.slice(0, end))
        rest = rest.slice(end + 2)
      }
    }
  }
  const take = (block: string) => {
    const lines = block.split('\n')
    const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    comments.push(...lines.filter((line) => line.startsWith(':')))
    const data = field('data')
    if (data === undefined) return
    const id = field('id')
    events.push({ event: field('event') ?? 'message', data: JSON.parse(data) as SseEvent['data'], ...(id === undefined ? {} : { id }) })
  }
  const reading = read().catch(() => {}).finally(() => (done = true))
  const poll = async (what: string, hold: () => boolean, ms: number) => {
    const deadline = Date.now() + ms
    while (!hold()) {
      if (Date.now() > deadline) throw new Error(`${what}; came: ${JSON.stringify(events.map((each) => each.event))}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return {
    status: answer.status,
    headers: answer.headers,
    events,
    comments,
    async until(found, ms = 10_000) {
      await poll(done ? 'The stream ended before the event' : 'No such event', () => events.some(found), ms)
      return events.find(found)!
    },
    async ended(ms = 10_000) {
      await poll('The stream did not end', () => done, ms)
    },
    cut() {
      abort.abort()
      void reading
    },
  }
}
