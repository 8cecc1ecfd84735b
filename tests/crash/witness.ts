import type { Event } from '../../server/contract/events'
import { emptyTranscript, fold } from '../../server/contract/fold'
import type { Changes, Frames } from '../../server/contract/wire'
import { checkInvariants } from '../support/invariants'
import { call } from '../wire/api'
import { openSse } from '../wire/sse'
import type { Sse } from '../wire/sse'

/** What one client of the server was told about one chat: everything here must be true for ever, whatever dies. */
export class Witness {
  /** Events that a stream showed, by `seq`, as they were shown. */
  readonly shown = new Map<number, string>()
  /** Starts that were answered: key → what was sent and answered. */
  readonly started = new Map<string, { message: string; run: string; turn: string }>()
  /** Starts that were sent and got no answer. */
  readonly unanswered = new Map<string, string>()
  readonly stopped = new Set<string>()
  readonly decided = new Map<string, string>()
  #streams: Sse[] = []
  #taken = 0

  constructor(readonly session: string) {}

  async watch(url: string): Promise<void> {
    this.#streams.push(await openSse(`${url}/api/events?session_id=${this.session}&after=0`))
    this.#taken = 0
  }

  /** Remembers what the stream has shown since the last look, and checks what was shown before. */
  look(): Event[] {
    const stream = this.#streams.at(-1)
    if (!stream) return []
    const fresh: Event[] = []
    for (; this.#taken < stream.events.length; this.#taken++) {
      const { event, data } = stream.events[this.#taken]!
      if (event !== 'change' || data.session !== this.session) continue
      for (const each of (data as unknown as Frames['change']).events ?? []) {
        const text = JSON.stringify(each)
        const before = this.shown.get(each.seq)
        if (before !== undefined && before !== text) throw new Error(`event ${each.seq} of ${this.session} was ${before} and is ${text}`)
        this.shown.set(each.seq, text)
        fresh.push(each)
      }
    }
    return fresh
  }

  /** Throws with words when anything that was acknowledged or shown is lost, doubled or changed after a restart. */
  async verify(url: string): Promise<void> {
    this.look()
    for (const stream of this.#streams.splice(0)) stream.cut()
    const before = new Map(this.shown)
    await this.watch(url)
    await this.#streams[0]!.until((event) => event.event === 'synced')
    this.look()
    const events = [...this.shown].sort(([a], [b]) => a - b).map(([, text]) => JSON.parse(text) as Event)
    const wrong: string[] = []
    events.forEach((event, i) => event.seq === i + 1 || wrong.push(`seq ${event.seq} stands at ${i + 1}`))
    for (const seq of before.keys()) if (!this.#replayed(seq)) wrong.push(`event ${seq} was shown and is gone`)

    const of = <T extends Event['type']>(type: T) => events.filter((event): event is Extract<Event, { type: T }> => event.type === type)
    const count = (what: string, found: unknown[]): void => void (found.length === 1 || wrong.push(`${what} is there ${found.length} times`))
    for (const [key, { run, turn }] of this.started) {
      count(`the turn of key ${key}`, of('turn.admitted').filter((event) => event.key === key && event.turn === turn))
      count(`the run ${run}`, of('run.started').filter((event) => event.run === run))
    }
    for (const run of this.stopped) {
      count(`the stop of ${run}`, of('run.stopping').filter((event) => event.run === run))
      if (of('run.settled').find((event) => event.run === run)?.outcome !== 'cancelled') wrong.push(`the stopped run ${run} is not cancelled`)
    }
    for (const [approval, kind] of this.decided) count(`the answer to ${approval}`, of('approval.decided').filter((event) => event.approval === approval && event.kind === kind))
    for (const { run } of of('run.started')) count(`the outcome of ${run}`, of('run.settled').filter((event) => event.run === run))
    for (const { key } of of('turn.admitted')) if (key !== undefined) count(`the turn of key ${key}`, of('turn.admitted').filter((event) => event.key === key))

    const value = fold(emptyTranscript(), events)
    wrong.push(...checkInvariants(value))
    const { body } = await call({ url }, 'GET /api/session/changes', { session_id: this.session, limit: 10_000 })
    const window = body as Changes
    if (window.seq !== events.length) wrong.push(`the head says seq ${window.seq}, the log ends with ${events.length}`)
    const rows = value.order.map((id) => value.rows.get(id))
    if (JSON.stringify(sorted(window.rows)) !== JSON.stringify(sorted(rows))) wrong.push('the rows are not the fold of the log')
    if (wrong.length) throw new Error(`${this.session}: ${wrong.join('; ')}`)
  }

  close(): void {
    for (const stream of this.#streams.splice(0)) stream.cut()
  }

  #replayed(seq: number): boolean {
    return this.#streams[0]!.events.some(({ data }) => data.session === this.session && (data as unknown as Frames['change']).events?.some((event) => event.seq === seq))
  }
}

/** The same value with the members of every object in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]))
}
