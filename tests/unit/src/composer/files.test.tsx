import { createSignal } from 'solid-js'
import { render } from 'solid-js/web'
import { afterEach, describe, expect, test } from 'vitest'
import { ProblemError } from '../../../../src/backend/port'
import { Composer } from '../../../../src/composer/composer'
import { makeDrafts } from '../../../../src/composer/drafts'
import { filesDraft, type Given, type Tray } from '../../../../src/composer/tray-port'
import type { Delivered, Way } from '../../../../src/composer/way'
import { query } from './page'

let dispose: () => void
afterEach(() => {
  dispose()
  document.body.replaceChildren()
})
const settle = () => new Promise((resolve) => setTimeout(resolve))

/** The box with a tray whose files are as a test says. */
function show(kept = '') {
  const durable = new Map<string, string>()
  const [given, setGiven] = createSignal<Given | undefined>()
  const [held, setHeld] = createSignal<string | null>(null)
  const [run, setRun] = createSignal<{ stopping: boolean; since: number } | null>(null)
  const told: unknown[] = []
  const sent: { text: string; key: string; way: Way; given: Given | undefined; done: (answer?: Delivered) => void; fail: (error: unknown) => void }[] = []
  let loads = 0
  let keys = 0
  const tray: Tray = {
    any: () => given() !== undefined || held() !== null,
    held: () => held(),
    given: () => given(),
    add: (chat, files) => void told.push(['add', chat, [...files].map(({ name }) => name)]),
    restore: (chat, value) => void told.push(['restore', chat, value]),
    sent: (chat, what, made) => {
      told.push(['sent', chat, what.ids, made])
      setGiven(undefined)
    },
    View: () => <p>Files</p>,
  }
  const drafts = makeDrafts({
    shelf: { read: (id) => Promise.resolve(id === filesDraft('ses_1') && kept ? JSON.stringify({ text: kept, at: 1 }) : (durable.get(id) ?? '')), write: (id, value) => Promise.resolve(void durable.set(id, value)) },
    quick: { getItem: () => null, setItem: () => undefined, removeItem: () => undefined },
    now: () => 1, mintKey: () => `key-${++keys}`, later: (_, run) => (run(), () => undefined),
  })
  const host = document.body.appendChild(document.createElement('div'))
  dispose = render(() => (
    <Composer
      chat="ses_1" placeholder="Write" workspace={null} model={{ provider: 'p', id: 'm' }} effort={null} scripted={false} run={run()} online ready phone={false} fingers={false} skew={0}
      drafts={drafts} mode="steer" steers onMode={() => undefined}
      send={(text, key, way, _, what) => new Promise((done, fail) => sent.push({ text, key, way, given: what, done: (answer = { taken: true }) => done(answer), fail }))}
      tray={() => {
        loads++
        return Promise.resolve(tray)
      }}
      stop={() => Promise.resolve()} models={() => new Promise(() => undefined)} onModel={() => undefined} onEffort={() => undefined} onManage={() => undefined} onSent={() => undefined}
      announce={(words) => told.push(words)} onFailedElsewhere={() => undefined}
    />
  ), host)
  const box = query<HTMLTextAreaElement>('textarea')
  return {
    sent, told, setGiven, setHeld, setRun, loads: () => loads,
    pick: (...names: string[]) => {
      const input = query<HTMLInputElement>('input[type=file]')
      Object.defineProperty(input, 'files', { value: names.map((name) => new File(['x'], name)), configurable: true })
      input.dispatchEvent(new Event('change', { bubbles: true }))
    },
    type: (text: string) => {
      box.value = text
      box.dispatchEvent(new Event('input', { bubbles: true }))
    },
    enter: () => box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true })),
    go: () => query('.go'),
  }
}
const files = (...ids: string[]): Given => ({ session: 'ses_1', ids, keyOf: (message, key) => (message === '' ? ids.join('+') : `${key}.${ids.join('+')}`) })

describe('files in the message box', () => {
  test('a box without files loads nothing of them; chosen ones go to the tray', async () => {
    const it = show()
    await settle()
    expect(it.loads()).toBe(0)
    it.pick('a.txt', 'b.txt')
    await settle()
    expect([it.loads(), it.told]).toEqual([1, [['add', 'ses_1', ['a.txt', 'b.txt']]]])
  })

  test('what an earlier page kept stands again', async () => {
    const it = show('[kept]')
    await settle()
    expect(it.told).toEqual([['restore', 'ses_1', '[kept]']])
  })

  test('a message goes once its files are there, and says why not before', async () => {
    const it = show()
    it.pick('a.txt')
    await settle()
    it.setHeld('Files are still being uploaded')
    it.type('Look')
    expect([it.go().getAttribute('aria-disabled'), it.go().getAttribute('aria-label')]).toEqual(['true', 'Files are still being uploaded'])
    it.enter()
    expect([it.sent, it.told.at(-1)]).toEqual([[], 'Files are still being uploaded'])
    it.setHeld(null)
    it.setGiven(files('att_1'))
    it.enter()
    expect(it.sent[0]).toMatchObject({ text: 'Look', way: 'send', given: { ids: ['att_1'] } })
    it.sent[0]!.done()
    await settle()
    expect(it.told.at(-1)).toEqual(['sent', 'ses_1', ['att_1'], undefined])
  })

  test('files alone are a message; the same again has the same key, other files another', async () => {
    const it = show()
    it.pick('a.txt')
    await settle()
    it.setGiven(files('att_1'))
    for (const key of ['att_1', 'att_1']) {
      it.enter()
      expect(it.sent.at(-1)).toMatchObject({ text: '', key })
      it.sent.at(-1)!.fail(new ProblemError(0, { code: 'offline', error: 'no' }))
      await settle()
    }
    it.type('Look')
    const used: string[] = []
    for (const now of [files('att_1'), files('att_1'), files('att_1', 'att_2')]) {
      it.setGiven(now)
      it.enter()
      used.push(it.sent.at(-1)!.key)
      it.sent.at(-1)!.fail(new ProblemError(0, { code: 'offline', error: 'no' }))
      await settle()
    }
    expect([used[0] === used[1], used[1] === used[2]]).toEqual([true, false])
  })

  test('files never go into a run: they wait for their turn', async () => {
    const it = show()
    it.setRun({ stopping: false, since: 0 })
    it.type('Look')
    expect(it.go().textContent).toBe('Steer')
    it.pick('a.txt')
    await settle()
    it.setGiven(files('att_1'))
    expect(it.go().textContent).toBe('Add to queue')
    it.type('')
    expect(it.go().textContent).toBe('Add to queue')
    it.enter()
    expect(it.sent[0]).toMatchObject({ text: '', way: 'queue', given: { ids: ['att_1'] } })
  })
})
