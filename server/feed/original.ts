import { BEAT_MS } from '../contract/wire'
import { originalCursor, originalId, originalStream, translate } from '../contract/original'
import type { OriginalFrame } from '../contract/original'
import type { Event } from '../contract/events'
import type { FullSession } from '../contract/routes'
import type { Timers } from '../agents/port'
import type { Store } from '../store/port'
import type { Feed } from './feed'
import { encodeFrame, KEEPALIVE } from './frames'
import type { Outlet } from './outlet'

/** How often `reasoning` is told at most, ms (settlement.md §0). */
const REASONING_MS = 100
const PAGE = 500

export interface OriginalReader {
  outlet: Outlet
  session: string
  run: string
  startedSeq: number
  /** Of an earlier connection: `<run>:<n>`, or the number alone. What cannot be honoured is told from the start, never skipped. */
  cursor?: string
}

export interface OriginalParts {
  store: Pick<Store, 'events' | 'load'>
  feed: Pick<Feed, 'watch' | 'onEnd'>
  timers: Timers
  /** The settled session, for the last frame. */
  full(session: string): Promise<FullSession | null>
}

/**
 * The original's stream of one run (spec/log.md §8): a view over the log that holds nothing durable. Events are read from the store, in order, from
 * the run's start; a commit only wakes the reading, so that nothing waits in memory for a slow reader. Resolves when the stream has ended.
 */
export async function tellRun({ store, feed, timers, full }: OriginalParts, reader: OriginalReader): Promise<void> {
  const { outlet, session } = reader
  const stream = originalStream(session, reader.run, reader.startedSeq)
  const lastSeq = (await store.load(session))?.seq ?? 0
  const from = originalCursor(reader.cursor, stream, lastSeq)
  const reasoning = new ReasoningBuffer(timers, (text, id) => outlet.send(encodeFrame('reasoning', { text }, id)))

  let read = reader.startedSeq - 1
  let news = true
  let deletion: Event | undefined
  let over = outlet.closed
  let wake: () => void = () => {}
  const signal = () => {
    news = true
    wake()
  }
  const finish = () => {
    over = true
    wake()
  }
  const unwatch = feed.watch(session, (entry) => {
    if (entry.removed) deletion = entry.events.find((event) => event.type === 'session.deleted')
    signal()
  })
  const offEnd = feed.onEnd(finish)
  outlet.onClose(finish)
  let cancelBeat = timers.after(BEAT_MS, function beat() {
    if (outlet.idle) outlet.send(KEEPALIVE)
    cancelBeat = timers.after(BEAT_MS, beat)
  })

  const tell = (frames: OriginalFrame[], seq: number) => {
    for (const { k, name, data, ends } of frames) {
      if (from === null || seq > from.seq || (seq === from.seq && k > from.k)) {
        const id = originalId(stream, seq, k)
        if (name === 'reasoning') reasoning.add(String(data.text), id)
        else {
          reasoning.flush()
          outlet.send(encodeFrame(name, data, id))
        }
      }
      if (ends) over = true
    }
  }

  try {
    while (!over) {
      if (!news) {
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      news = false
      const page = deletion ? [deletion] : await store.events(session, { afterSeq: read, limit: PAGE })
      for (const event of page) {
        if (over) break
        const settled = event.type === 'run.settled' && event.run === reader.run
        tell(translate(stream, event, settled ? await full(session) : null), event.seq)
        read = event.seq
        await outlet.drained()
      }
      if (page.length === PAGE) news = true
      if (stream.ended) over = true
    }
  } finally {
    unwatch()
    offEnd()
    cancelBeat()
    reasoning.flush()
    outlet.end()
  }
}

/** Joins what is thought within a tenth of a second; the frame has the id of its last event. */
class ReasoningBuffer {
  #text = ''
  #id = ''
  #cancel: (() => void) | undefined

  constructor(
    private readonly timers: Timers,
    private readonly send: (text: string, id: string) => void,
  ) {}

  add(text: string, id: string): void {
    this.#text += text
    this.#id = id
    this.#cancel ??= this.timers.after(REASONING_MS, () => this.flush())
  }

  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#text === '') return
    this.send(this.#text, this.#id)
    this.#text = ''
  }
}
