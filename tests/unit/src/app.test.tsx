import { render } from 'solid-js/web'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ListEntry } from '../../../server/contract/listing'
import type { ModelsStatus } from '../../../server/contract/models'
import type { Turn } from '../../../server/contract/session'
import { App } from '../../../src/app'
import { ProblemError, type Backend } from '../../../src/backend/port'
import { makeDrafts } from '../../../src/composer/drafts'
import { emptyValue, makeFakeSync, type FakeSync } from '../../support/fake-sync'

let dispose: (() => void) | undefined
vi.setConfig({ testTimeout: 30_000 })
afterEach(() => {
  dispose?.()
  document.body.replaceChildren()
})

const settle = async (until: () => boolean = () => true) => {
  // Parts of the page load on demand, which a busy machine does slowly.
  for (const end = Date.now() + 20_000; Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (until()) return
  }
  throw new Error(`It did not happen: ${document.body.textContent}`)
}

function entry(part: Partial<ListEntry>): ListEntry {
  return {
    id: 'ses_1', rev: 1, title: 'A chat', profile: 'default', workspace: '/w', agent: null, model: null, pinned: false, archived: false,
    createdAt: 0, lastAt: Date.now(), count: 2, state: 'idle', questions: 0, ticks: [], ...part,
  }
}

const nothing: ModelsStatus = {
  completed: false, default: null, default_source: null, hermes: { state: 'none' }, local: [], presets: [],
  connections: [{ id: 'scripted', display_name: 'Scripted', kind: 'scripted', source: 'scripted', state: 'ready', base_url: '', has_key: false, key_source: 'none', model: 'scripted', removable: false }],
}
const connected: ModelsStatus = { ...nothing, completed: true, default: { provider: 'scripted', id: 'scripted' }, default_source: 'page' }

function show(options: { path?: string; status?: ModelsStatus; entries?: ListEntry[]; saved?: (id: string) => boolean; update?: boolean; breaks?: string } = {}) {
  let loads = 0
  history.replaceState(null, '', options.path ?? '/')
  const quick = new Map<string, string>()
  const sync: FakeSync = makeFakeSync(options.saved)
  sync.setList(options.entries ?? [])
  let status = options.status ?? connected
  const calls: [string, Record<string, unknown>][] = []
  let refuse: string | null = null
  const backend = {
    call: (name: string, input: Record<string, unknown>) => {
      calls.push([name, input])
      if (name === refuse) return Promise.reject(new ProblemError(0, { code: 'offline', error: 'no answer' }))
      if (name === 'GET /api/onboarding/status') return Promise.resolve(status)
      if (name === 'POST /api/onboarding/setup') {
        status = connected
        return Promise.resolve({ ok: true, connection: connected.connections[0], default: connected.default })
      }
      if (name === 'GET /health') return Promise.resolve({ agents: [] })
      if (name === 'GET /api/agents') return Promise.resolve({ agents: [], chosen: 'embedded', chosen_by: 'default' })
      if (name === 'POST /api/session/new') return Promise.resolve({ session: { session_id: 'ses_new' } })
      return Promise.resolve({})
    },
  } as unknown as Backend
  let keys = 0
  const mintKey = () => `key-${++keys}`
  let timers: (() => void)[] = []
  const later = (_: number, run: () => void) => {
    timers.push(run)
    return () => {
      timers = timers.filter((one) => one !== run)
    }
  }
  const quickShelf = { getItem: (key: string) => quick.get(key) ?? null, setItem: (key: string, value: string) => void quick.set(key, value), removeItem: (key: string) => void quick.delete(key) }
  const host = document.body.appendChild(document.createElement('div'))
  dispose = render(
    () => (
      <App
        parts={{
          sync, backend, mintKey, later, quick: quickShelf, host: 'box.example',
          drafts: makeDrafts({ shelf: { read: () => Promise.resolve(''), write: () => Promise.resolve() }, quick: quickShelf, now: Date.now, mintKey, later }),
          Transcript: (props) => {
            if (props.chat.session === options.breaks) throw new Error('a row that cannot be drawn')
            return <p>transcript of {props.chat.session}</p>
          },
          device: { install: () => 'no', askInstall: () => undefined, offline: () => 'none', used: () => Promise.resolve(null), update: () => (options.update ? () => void loads++ : null), copy: () => Promise.resolve(true) },
        }}
      />
    ),
    host,
  )
  return {
    sync, calls, host, quick,
    loads: () => loads,
    text: () => host.textContent ?? '',
    called: (name: string) => calls.filter((call) => call[0] === name).map((call) => call[1]),
    refuse: (name: string | null) => {
      refuse = name
    },
    pass: () => {
      const due = timers
      timers = []
      for (const run of due) run()
    },
    button: (name: RegExp) => [...host.querySelectorAll('button')].find((one) => name.test(one.getAttribute('aria-label') ?? one.textContent ?? '')),
    send: (text: string) => {
      const box = host.querySelector('textarea')!
      box.value = text
      box.dispatchEvent(new Event('input', { bubbles: true }))
      box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true }))
    },
  }
}

describe('the page', () => {
  test('offers the scripted agent when nothing is connected, and a box once it is', async () => {
    const page = show({ status: nothing })
    await settle(() => !!page.button(/^Try it$/))
    expect(page.host.querySelector('textarea')).toBeNull()
    page.button(/^Try it$/)!.click()
    await settle(() => !!page.host.querySelector('textarea'))
    expect(page.called('POST /api/onboarding/setup')).toEqual([{ provider: 'scripted', model: 'scripted' }])
    expect(page.text()).toContain('plays prepared replies')
  })

  test('makes one chat for a first message, also when the message had to be sent twice', async () => {
    const page = show()
    await settle(() => !!page.host.querySelector('textarea'))
    page.refuse('POST /api/chat/start')
    page.send('Water the garden')
    await settle(() => page.text().includes('Not sent.'))
    expect(location.pathname).toBe('/')
    page.refuse(null)
    page.send('Water the garden')
    await settle(() => location.pathname === '/session/ses_new')
    expect(page.called('POST /api/session/new')).toHaveLength(1)
    const starts = page.called('POST /api/chat/start')
    expect(starts).toHaveLength(2)
    expect(starts[1]).toEqual({ session_id: 'ses_new', message: 'Water the garden', key: starts[0]!.key })
  })

  test('says after a while that the server is gone, keeps saved chats apart, and asks again when told', async () => {
    const page = show({ entries: [entry({ id: 'ses_here', title: 'Here' }), entry({ id: 'ses_there', title: 'There' })], saved: (id) => id === 'ses_here' })
    await settle()
    page.sync.setConnection({ state: 'reconnecting', since: Date.now(), attempt: 1 })
    expect(page.text()).not.toContain('No connection.')
    page.pass()
    expect(page.text()).toContain('No connection.')
    expect(page.text()).toContain('Not on this device')
    page.button(/Try now/)!.click()
    expect(page.sync.retries).toBe(1)
    page.sync.setConnection({ state: 'connected', since: Date.now() })
    expect(page.text()).toContain('Connected again')
    page.pass()
    expect(page.text()).not.toContain('Connected again')
    expect(page.text()).not.toContain('Not on this device')
  })

  test('says plainly when a chat is gone, or not here', async () => {
    const page = show({ path: '/session/ses_1' })
    page.sync.chat('ses_1').set({ state: 'absent' })
    page.sync.chat('ses_1').tell({ type: 'state' })
    await settle(() => page.text().includes('does not exist any more'))
    page.sync.chat('ses_1').set({ state: 'not_here' })
    await settle(() => page.text().includes('not on this device'))
    expect(page.host.querySelector('textarea')).toBeNull()
  })

  test('what breaks in one chat leaves the list standing, and another chat opens', async () => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const page = show({ path: '/session/ses_1', entries: [entry({}), entry({ id: 'ses_2', title: 'Another chat' })], breaks: 'ses_1' })
    const value = emptyValue()
    value.rows.set('row_1', { id: 'row_1', n: 1, turn: 'trn_1', pos: '11', seq: 1, at: 1, state: 'done', kind: 'user', source: 'person', text: 'Go' })
    value.order.push('row_1')
    for (const id of ['ses_1', 'ses_2']) page.sync.chat(id).set({ value })
    await settle(() => page.text().includes('stopped working'))
    expect(page.text()).toContain('Another chat')
    page.host.querySelector<HTMLAnchorElement>('a[data-session="ses_2"]')!.click()
    await settle(() => page.text().includes('transcript of ses_2'))
    expect(page.text()).not.toContain('stopped working')
    errors.mockRestore()
  })

  test('leaving a chat that asks something is not told as if the question had gone', async () => {
    const page = show({ path: '/session/ses_1', entries: [entry({ id: 'ses_1' }), entry({ id: 'ses_2', title: 'Other' })] })
    const value = emptyValue()
    value.rows.set('row_1', {
      id: 'row_1', n: 1, turn: 'trn_1', run: 'run_1', pos: '11', seq: 1, at: 1, state: 'live', kind: 'tool', text: '', tool: { call: 'c', name: 'shell', verb: 'run' },
      approval: { id: 'apr_1', row: 'row_1', run: 'run_1', raisedAt: 1, state: 'open', action: 'Run make', tool: 'shell', choices: [] },
    })
    value.order.push('row_1')
    page.sync.chat('ses_1').set({ value })
    await settle(() => page.text().includes('Permission needed: Run make'))
    page.host.querySelector<HTMLAnchorElement>('a[data-session=ses_2]')!.click()
    await settle(() => location.pathname === '/session/ses_2' && !page.host.querySelector('.ask'))
    expect(page.text()).not.toContain('no longer open')
  })

  test('an address that leads nowhere says so', async () => {
    const page = show({ path: '/nowhere' })
    await settle(() => page.text().includes('nothing at this address'))
  })

  test('asks before a chat is deleted, and the list says what waits', async () => {
    const page = show({ entries: [entry({ id: 'ses_1', title: 'First', count: 12 }), entry({ id: 'ses_2', title: 'Second', state: 'asking', questions: 1, line: { kind: 'question', text: 'Run make?' } })] })
    await settle()
    expect(page.text()).toContain('Run make?')
    expect(document.title.startsWith('● ')).toBe(true)
    page.button(/Options for First/)!.click()
    await settle(() => !!page.button(/^Delete$/))
    page.button(/^Delete$/)!.click()
    await settle(() => !!document.querySelector('dialog'))
    expect(document.querySelector('dialog')!.textContent).toContain('12 messages')
    expect(page.called('POST /api/session/delete')).toEqual([])
    ;[...document.querySelectorAll('dialog button')].find((one) => one.textContent === 'Delete')!.dispatchEvent(new MouseEvent('click', { bubbles: true }))
    await settle(() => page.called('POST /api/session/delete').length === 1)
  })
})

describe('what a person has seen', () => {
  const turnOf = (outcome: 'completed' | undefined, seq: number): Turn => ({
    id: 'trn_1', row: 'row_1', pos: '11', source: 'person', admittedAt: 1, seq,
    runs: [{ id: 'run_1', turn: 'trn_1', generation: 1, attempt: 1, cause: 'sent', agent: { kind: 'scripted', name: 's' }, model: null, startedAt: 1, state: outcome ? 'settled' : 'running', ...(outcome ? { outcome } : {}) }],
  })
  const put = (page: ReturnType<typeof show>, seq: number, outcome: 'completed' | undefined = 'completed') => {
    const value = emptyValue()
    value.turns.set('trn_1', turnOf(outcome, seq))
    value.rows.set('row_1', { id: 'row_1', n: 1, turn: 'trn_1', pos: '11', seq: 1, at: 1, state: 'done', kind: 'user', source: 'person', text: 'Go' })
    value.order.push('row_1')
    value.seq = seq
    page.sync.chat('ses_1').set({ value })
  }
  const done = (part: Partial<ListEntry> = {}) => entry({ settled: 9, outcome: 'completed', line: { kind: 'answer', text: 'It is done.' }, ...part })
  const visible = (now: boolean) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: now ? 'visible' : 'hidden' })
    document.dispatchEvent(new Event('visibilitychange'))
  }
  afterEach(() => visible(true))

  test('an answer is told to be seen once the open chat shows its end in a visible page, and not before', async () => {
    const page = show({ path: '/session/ses_1', entries: [entry({ state: 'working' }), done({ id: 'ses_2', title: 'Other' })] })
    put(page, 5, undefined)
    await settle()
    visible(false)
    put(page, 9)
    page.sync.setList([done()])
    await settle()
    expect(page.called('POST /api/session/read')).toEqual([])
    visible(true)
    await settle(() => page.called('POST /api/session/read').length === 1)
    expect(page.called('POST /api/session/read')).toEqual([{ session_id: 'ses_1', seq: 9 }])
    page.sync.setList([done({ read: 9, rev: 2 })])
    await settle()
    expect(page.called('POST /api/session/read')).toHaveLength(1)
  })

  test('the list may know of an end before the chat shows it', async () => {
    const page = show({ path: '/session/ses_1', entries: [done()] })
    put(page, 5, undefined)
    await settle()
    expect(page.called('POST /api/session/read')).toEqual([])
    put(page, 9)
    await settle(() => page.called('POST /api/session/read').length === 1)
  })

  test('without the network it is remembered, the highest alone, and told when the server is back', async () => {
    const page = show({ path: '/session/ses_1', entries: [done()] })
    page.refuse('POST /api/session/read')
    page.sync.setConnection({ state: 'offline', since: 1, attempt: 3 })
    put(page, 9)
    await settle()
    put(page, 14)
    page.sync.setList([done({ settled: 14, rev: 2 })])
    await settle()
    expect(page.called('POST /api/session/read')).toEqual([])
    expect(page.quick.get('talaria.seen')).toBe('{"ses_1":14}')
    page.refuse(null)
    page.sync.setConnection({ state: 'connected', since: 2 })
    await settle(() => page.called('POST /api/session/read').length === 1)
    expect(page.called('POST /api/session/read')).toEqual([{ session_id: 'ses_1', seq: 14 }])
    page.sync.setList([done({ settled: 14, read: 14, rev: 3 })])
    await settle()
    expect(page.quick.get('talaria.seen')).toBeUndefined()
  })

  test('seen on another device is seen here, and what waits for a look is counted on the icon', async () => {
    const badges: number[] = []
    Object.assign(navigator, { setAppBadge: (n: number) => Promise.resolve(void badges.push(n)), clearAppBadge: () => Promise.resolve(void badges.push(0)) })
    const page = show({ entries: [done({ id: 'ses_2', title: 'Other' }), entry({ id: 'ses_3', state: 'asking', questions: 1, queued: 2 }), done({ id: 'ses_4', outcome: 'failed', problem: 'rate_limit' })] })
    await settle()
    const row = (id: string) => page.host.querySelector(`a[data-session=${id}]`)!.textContent
    expect(row('ses_2')).toContain('not read yet')
    expect(row('ses_3')).toContain('needs you')
    expect(row('ses_3')).toContain('2 messages waiting')
    expect(row('ses_4')).toContain('Too many requests')
    page.sync.setList([done({ id: 'ses_2', title: 'Other', read: 9, rev: 2 }), done({ id: 'ses_4', outcome: 'failed', problem: 'rate_limit', read: 9, rev: 2 })])
    await settle()
    expect(row('ses_2')).not.toContain('not read yet')
    expect(row('ses_4')).not.toContain('Too many requests')
    expect(badges).toEqual([3, 0])
    for (const name of ['setAppBadge', 'clearAppBadge']) Reflect.deleteProperty(navigator, name)
  })
})

describe('a new build', () => {
  const offers = (page: ReturnType<typeof show>) => page.text().split('A new version is ready').length - 1

  test('is offered once, and loaded when asked', async () => {
    const page = show({ update: true })
    await settle()
    expect(offers(page)).toBe(1)
    page.button(/Load it/)!.click()
    expect(page.loads()).toBe(1)
  })

  test('waits while somebody writes and while a turn runs', async () => {
    const page = show({ update: true, path: '/session/ses_1' })
    await settle()
    expect(offers(page)).toBe(1)
    const value = emptyValue()
    const turn = (state: 'running' | 'settled'): Turn => ({
      id: 'trn_1', row: 'row_1', pos: '11', source: 'person', admittedAt: 1, seq: 1,
      runs: [{ id: 'run_1', turn: 'trn_1', generation: 1, attempt: 1, cause: 'sent', agent: { kind: 'scripted', name: 's' }, model: null, startedAt: 1, state }],
    })
    value.turns.set('trn_1', turn('running'))
    value.rows.set('row_1', { id: 'row_1', n: 1, turn: 'trn_1', pos: '11', seq: 1, at: 1, state: 'done', kind: 'user', source: 'person', text: 'Go' })
    value.order.push('row_1')
    page.sync.chat('ses_1').set({ value })
    expect(offers(page)).toBe(0)
    value.turns.set('trn_1', turn('settled'))
    page.sync.chat('ses_1').set({ value })
    expect(offers(page)).toBe(1)
    const box = page.host.querySelector('textarea')!
    box.focus()
    box.dispatchEvent(new FocusEvent('focusin', { bubbles: true }))
    box.value = 'In the middle of'
    box.dispatchEvent(new Event('input', { bubbles: true }))
    expect(offers(page)).toBe(0)
  })
})
