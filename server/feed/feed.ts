import { BEAT_MS } from '../contract/wire'
import type { Timers } from '../agents/port'
import type { Committed, Store } from '../store/port'
import { encodeWire, fullFrame, listFrame } from './frames'
import type { Outlet } from './outlet'

/** Readers of what is committed. It holds nothing durable: a reader that is gone resumes from its cursor. */
export interface Feed {
  /** Registers, replays until it stands where the store stands, says `synced`, and goes on live without a gap. Returns at once. */
  open(reader: FeedReader): void
  /** Committed entries of one session in order, from now on: what the older streams are views over. Returns its end. */
  watch(session: string, listener: (entry: Committed) => void): () => void
  /** The same for every session of a profile. */
  watchProfile(profile: string, listener: (entry: Committed) => void): () => void
  /** Called when everything ends; streams that are views end themselves here. */
  onEnd(listener: () => void): () => void
  /** Ends every stream, so that the server can close. */
  end(): void
  stats(): FeedStats
}

export interface FeedReader {
  outlet: Outlet
  /** Only entries of this profile are seen. */
  profile: string
  /** The session that is open: its events are sent, of others only the list entry. */
  session?: string
  /** Resume behind this cursor; absent: from now on. */
  after?: string
}

export interface FeedStats {
  /** Of `/api/events`. */
  readers: number
  /** Every open stream, the older ones too. */
  streams: number
  /** Frames made since the start: grows with what is committed, never with the number of readers. */
  encoded: number
}

export interface FeedParts {
  store: Store
  timers: Timers
  version: string
  /** Told about what could not be read for a replay. */
  report: (error: unknown) => void
}

/** How many entries of a replay are read and sent before the reader must have taken them. */
const REPLAY_PAGE = 200

type Listener = (entry: Committed) => void

interface Reader extends FeedReader {
  /** False while it is replayed to: what is committed meanwhile is read by the replay itself, so that nothing waits in memory. */
  live: boolean
}

export async function makeFeed({ store, timers, version, report }: FeedParts): Promise<Feed> {
  const readers = new Set<Reader>()
  const watchers = new Map<string, Set<Listener>>()
  const profileWatchers = new Map<string, Set<Listener>>()
  const enders = new Set<() => void>()
  let rev = 0
  let encoded = 0
  let cancelBeat: (() => void) | undefined
  let ended = false

  /** A reader that throws is its own affair: what is committed is settled, and everybody else is told of it. */
  const guarded = (tell: () => void) => {
    try {
      tell()
    } catch (error) {
      report(error)
    }
  }

  /** Each of the two forms of an entry is made once, and only when somebody reads it. */
  const publish = (entry: Committed) => {
    rev = Math.max(rev, entry.rev)
    let full: Buffer | undefined
    let list: Buffer | null | undefined
    for (const reader of readers) {
      if (!reader.live || reader.profile !== entry.profile) continue
      let frame: Buffer | null
      if (reader.session === entry.session && entry.events.length > 0) {
        if (full === undefined) encoded++
        frame = full ??= fullFrame(entry)
      } else {
        if (list === undefined && (list = listFrame(entry))) encoded++
        frame = list
      }
      if (frame) guarded(() => reader.outlet.send(frame))
    }
    for (const set of [watchers.get(entry.session), profileWatchers.get(entry.profile)]) for (const listener of set ?? []) guarded(() => listener(entry))
  }

  store.onCommit((batch) => batch.forEach(publish))
  rev = Math.max(rev, await store.head())

  const beat = () => {
    const frame = encodeWire('beat', { now: timers.now() })
    for (const reader of readers) if (reader.outlet.idle) reader.outlet.send(frame)
    cancelBeat = timers.after(BEAT_MS, beat)
  }
  cancelBeat = timers.after(BEAT_MS, beat)

  const reset = (reader: Reader): number => {
    reader.outlet.send(encodeWire('reset', { cursor: String(rev) }, String(rev)))
    return rev
  }

  const goLive = (reader: Reader) => {
    reader.live = true
    reader.outlet.send(encodeWire('synced', { store: store.id, version, cursor: String(rev), now: timers.now() }, String(rev)))
  }

  /** Nothing is awaited between the last look at `rev` and going live: no entry falls between the two. */
  const catchUp = async (reader: Reader): Promise<void> => {
    let after = reader.after === undefined ? rev : Number(reader.after)
    if (after > rev) after = reset(reader)
    while (after < rev && !reader.outlet.closed) {
      const upTo = rev
      const page = await store.since({ after, upTo, session: reader.session, profile: reader.profile, limit: REPLAY_PAGE })
      if (page === null) {
        after = reset(reader)
        break
      }
      for (const entry of page) {
        const frame = entry.session === reader.session && entry.events.length > 0 ? fullFrame(entry) : listFrame(entry)
        if (frame) reader.outlet.send(frame)
        // A reader that is behind is never cut off for what it has not asked to take so fast.
        await reader.outlet.drained()
      }
      after = page.length < REPLAY_PAGE ? upTo : page[page.length - 1]!.rev
    }
    goLive(reader)
  }

  return {
    open(given) {
      const reader: Reader = { ...given, live: false }
      if (ended) return given.outlet.end()
      readers.add(reader)
      given.outlet.onClose(() => readers.delete(reader))
      catchUp(reader).catch((error: unknown) => {
        report(error)
        given.outlet.end()
      })
    },
    watch: (session, listener) => join(watchers, session, listener),
    watchProfile: (profile, listener) => join(profileWatchers, profile, listener),
    onEnd(listener) {
      enders.add(listener)
      return () => enders.delete(listener)
    },
    end() {
      ended = true
      cancelBeat?.()
      for (const listener of enders) listener()
      for (const reader of readers) reader.outlet.end()
      readers.clear()
    },
    stats: () => ({ readers: readers.size, streams: readers.size + enders.size, encoded }),
  }
}

/** Adds a listener under a name; its end leaves nothing behind. */
function join(all: Map<string, Set<Listener>>, name: string, listener: Listener): () => void {
  const set = all.get(name) ?? new Set()
  all.set(name, set.add(listener))
  return () => {
    set.delete(listener)
    if (set.size === 0 && all.get(name) === set) all.delete(name)
  }
}
