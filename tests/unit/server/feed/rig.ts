import type { Draft } from '../../../../server/contract/events'
import { makeFeed } from '../../../../server/feed/feed'
import type { Feed } from '../../../../server/feed/feed'
import type { Outlet } from '../../../../server/feed/outlet'
import type { Store } from '../../../../server/store/port'
import { FakeTimers } from '../../../support/fake-timers'
import { ModelStore } from '../../../support/model-store'

export interface Frame { id?: string; event: string; data: Record<string, unknown> }

/** An outlet that keeps what it was sent; the very bytes, so that sharing can be seen. */
export interface KeptOutlet extends Outlet {
  bytes: Uint8Array[]
  frames(): Frame[]
  comments(): number
  /** Set by a test: something waits. */
  idle: boolean
  /** The reader goes away. */
  leave(): void
}

export function keptOutlet(): KeptOutlet {
  const bytes: Uint8Array[] = []
  const listeners: (() => void)[] = []
  let closed = false
  const leave = () => {
    if (closed) return
    closed = true
    listeners.forEach((listener) => listener())
  }
  return {
    bytes,
    frames: () => bytes.map((each) => Buffer.from(each).toString()).filter((text) => !text.startsWith(':')).map(parse),
    comments: () => bytes.filter((each) => Buffer.from(each).toString().startsWith(':')).length,
    leave,
    idle: true,
    send: (frame) => void (closed || bytes.push(frame)),
    drained: () => Promise.resolve(),
    end: leave,
    get closed() {
      return closed
    },
    onClose: (listener) => void (closed ? listener() : listeners.push(listener)),
  }
}

function parse(text: string): Frame {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]
  const id = field('id')
  return { event: field('event')!, data: JSON.parse(field('data')!) as Frame['data'], ...(id === undefined ? {} : { id }) }
}

export interface Rig { store: ModelStore; timers: FakeTimers; feed: Feed; reported: unknown[]; make(session: string, profile?: string): Promise<void>; add(session: string, ...drafts: Draft[]): Promise<void> }

export async function feedRig(wrap: (store: ModelStore) => Store = (store) => store): Promise<Rig> {
  const timers = new FakeTimers()
  const store = new ModelStore({ groupMs: 0, after: (_, then) => queueMicrotask(then) })
  const reported: unknown[] = []
  const feed = await makeFeed({ store: wrap(store), timers, version: '1', report: (error) => reported.push(error) })
  const seqs = new Map<string, number>()
  const add = async (session: string, ...drafts: Draft[]) => {
    const from = seqs.get(session) ?? 0
    seqs.set(session, from + drafts.length)
    await store.append({ session, expectSeq: from + 1, generation: 1, urgency: 'now', events: drafts.map((draft, i) => ({ ...draft, session, seq: from + i + 1, at: timers.now() })) })
  }
  return {
    store, timers, feed, reported, add,
    make: (session, profile = 'default') => add(session, { type: 'session.created', title: session, titleBy: 'person', profile, workspace: '/w', agent: null, model: null, source: 'talaria' }),
  }
}

/** What opens a turn with one live answer row. */
export function turnOf(name: string): Draft[] {
  const agent = { kind: 'scripted' as const, name: 'Script' }
  return [
    { type: 'turn.admitted', turn: `trn_${name}`, row: `usr_${name}`, n: 1, pos: '10', text: 'hi', source: 'person' },
    { type: 'run.started', run: `run_${name}`, turn: `trn_${name}`, generation: 1, attempt: 1, cause: 'sent', agent, model: null },
  ]
}
