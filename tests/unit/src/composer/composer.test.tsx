import { createSignal } from 'solid-js'
import { render } from 'solid-js/web'
import { afterEach, describe, expect, test } from 'vitest'
import { ProblemError } from '../../../../src/backend/port'
import { Composer } from '../../../../src/composer/composer'
import { makeDrafts } from '../../../../src/composer/drafts'
import type { ComposerHandle } from '../../../../src/composer/port'
import type { BusyWay, Delivered, Way } from '../../../../src/composer/way'

let dispose: (() => void) | undefined
afterEach(() => {
  dispose?.()
  document.body.replaceChildren()
})
const settle = () => new Promise((resolve) => setTimeout(resolve))
/** Parts of the box load on demand, which a busy machine does slowly. */
const until = async (done: () => boolean) => {
  for (const end = Date.now() + 10_000; !done(); await new Promise((resolve) => setTimeout(resolve, 5))) if (Date.now() > end) throw new Error(`It did not happen: ${document.body.innerHTML}`)
}

function show() {
  const durable = new Map<string, string>()
  const quick = new Map<string, string>()
  let keys = 0
  const [chat, setChat] = createSignal('ses_1')
  const [online, setOnline] = createSignal(true)
  const [run, setRun] = createSignal<{ stopping: boolean; since: number } | null>(null)
  const [mode, setMode] = createSignal<BusyWay>('steer')
  const [locked, setLocked] = createSignal(false)
  const [held, setHeld] = createSignal(false)
  const [effort, setEffort] = createSignal<string | null>(null)
  let handle!: ComposerHandle
  const sent: { text: string; key: string; way: Way; going: (way: Way) => void; done: (answer?: Delivered) => void; fail: (error: unknown) => void }[] = []
  const said: string[] = []
  let stops = 0
  const drafts = makeDrafts({
    shelf: { read: (id) => Promise.resolve(durable.get(id) ?? ''), write: (id, value) => Promise.resolve(void durable.set(id, value)) },
    quick: { getItem: (key) => quick.get(key) ?? null, setItem: (key, value) => void quick.set(key, value), removeItem: (key) => void quick.delete(key) },
    now: () => 1,
    mintKey: () => `key-${++keys}`,
    later: (_, run) => (run(), () => undefined),
  })
  const host = document.body.appendChild(document.createElement('div'))
  dispose = render(
    () => (
      <Composer
        chat={chat()}
        placeholder="Write"
        workspace="/home/ann/garden"
        model={{ provider: 'p', id: 'm' }}
        effort={effort()}
        scripted={false}
        run={run()}
        online={online()}
        ready
        phone={false}
        fingers={false}
        skew={0}
        drafts={drafts}
        locked={locked()}
        held={held()}
        onEnter={() => setHeld(false)}
        mode={mode()}
        steers
        onMode={setMode}
        handle={(given) => (handle = given)}
        send={(text, key, way, going) => new Promise((done, fail) => sent.push({ text, key, way, going, done: (answer = { taken: true }) => done(answer), fail }))}
        stop={() => {
          stops++
          return Promise.resolve()
        }}
        models={() => new Promise(() => undefined)}
        onModel={() => undefined}
        onEffort={setEffort}
        onManage={() => undefined}
        onSent={() => undefined}
        announce={(text) => said.push(text)}
        onFailedElsewhere={(text) => said.push(text)}
      />
    ),
    host,
  )
  const box = host.querySelector('textarea')!
  return {
    host, box, sent, said, drafts, handle, setChat, setOnline, setRun, setMode, setLocked, setHeld,
    mode,
    stops: () => stops,
    go: () => host.querySelector<HTMLButtonElement>('.go')!,
    type: (text: string) => {
      box.value = text
      box.dispatchEvent(new Event('input', { bubbles: true }))
    },
    enter: () => box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true })),
    strip: () => host.querySelector('.strip')?.textContent ?? '',
  }
}

describe('the message box', () => {
  test('is cleared by a send, and a refused text comes back with its reason and its key', async () => {
    const it = show()
    await settle()
    it.type('Water the garden')
    it.enter()
    expect(it.box.value).toBe('')
    it.sent[0]!.fail(new ProblemError(409, { code: 'session_busy', error: 'busy' }))
    await settle()
    expect(it.box.value).toBe('Water the garden')
    expect(it.strip()).toContain('already working')
    it.enter()
    expect(it.sent[1]).toMatchObject({ text: 'Water the garden', key: it.sent[0]!.key })
    it.sent[1]!.done()
    await settle()
    expect(it.box.value).toBe('')
    expect(it.strip()).toBe('')
  })

  test('takes no focus, no text and no Enter while a secret is typed elsewhere or its field went, until the person presses it', async () => {
    const it = show()
    await settle()
    it.type('A draft')
    it.setHeld(true)
    it.handle.focus()
    it.handle.give('Words given back')
    expect(document.activeElement).not.toBe(it.box)
    expect(it.box.readOnly).toBe(true)
    it.box.focus()
    it.enter()
    it.setRun({ stopping: false, since: 1 })
    it.enter()
    it.setRun(null)
    expect([it.sent, it.box.value]).toEqual([[], 'A draft\n\nWords given back'])
    it.box.blur()
    it.box.dispatchEvent(new Event('pointerdown', { bubbles: true }))
    it.handle.focus()
    expect([it.box.readOnly, document.activeElement]).toEqual([false, it.box])
    it.enter()
    expect(it.sent[0]?.text).toBe('A draft\n\nWords given back')
  })

  test('never puts a refused text over a newer one', async () => {
    const it = show()
    await settle()
    it.type('First')
    it.enter()
    it.type('Second')
    it.sent[0]!.fail(new ProblemError(0, { code: 'offline', error: 'no' }))
    await settle()
    expect(it.box.value).toBe('Second')
    it.host.querySelector<HTMLButtonElement>('.strip .b')!.click()
    expect(it.box.value).toBe('First\n\nSecond')
  })

  test('a text that was refused while another chat is open waits in its own chat', async () => {
    const it = show()
    await settle()
    it.type('For the first chat')
    it.enter()
    it.setChat('ses_2')
    await settle()
    expect(it.box.value).toBe('')
    it.sent[0]!.fail(new ProblemError(0, { code: 'offline', error: 'no' }))
    await settle()
    expect(it.box.value).toBe('')
    expect(it.strip()).toBe('')
    expect(it.said.at(-1)).toContain('Not sent')
    it.setChat('ses_1')
    await settle()
    expect(it.box.value).toBe('For the first chat')
  })

  test('what was typed after a text that was refused behind one is kept with it', async () => {
    const it = show()
    await settle()
    it.type('First')
    it.enter()
    it.type('Second')
    it.setChat('ses_2')
    await settle()
    it.sent[0]!.fail(new ProblemError(0, { code: 'offline', error: 'no' }))
    await settle()
    it.setChat('ses_1')
    await settle()
    expect(it.box.value).toBe('First\n\nSecond')
  })

  test('case 92: a second message in the moment before the first is taken goes behind it', async () => {
    const it = show()
    await settle()
    it.type('One')
    it.enter()
    it.type('Two')
    it.enter()
    expect(it.sent.map((one) => one.text)).toEqual(['One'])
    expect(it.box.value).toBe('Two')
    it.sent[0]!.done()
    await settle()
    expect(it.sent.map(({ text, way }) => [text, way])).toEqual([['One', 'send'], ['Two', 'queue']])
    expect(it.sent[1]!.key).not.toBe(it.sent[0]!.key)
  })

  test('a working chat is stopped once, and Enter in an empty box stops nothing', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.enter()
    expect(it.stops()).toBe(0)
    expect(it.go().getAttribute('aria-label')).toBe('Stop')
    it.go().click()
    it.go().click()
    expect(it.stops()).toBe(1)
    expect(it.go().getAttribute('aria-label')).toBe('Stopping')
  })

  test('case 86: text in a working chat goes the usual way of this device, and stop stands beside it', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.type('Leave the monthly ones alone')
    expect(it.go().textContent).toBe('Steer')
    it.enter()
    expect(it.sent.map(({ text, way }) => [text, way])).toEqual([['Leave the monthly ones alone', 'steer']])
    expect(it.box.value).toBe('')
    it.sent[0]!.done()
    await settle()
    it.type('More')
    it.host.querySelector<HTMLButtonElement>('.stop')!.click()
    expect(it.stops()).toBe(1)
    expect(it.box.value).toBe('More')
    expect(it.go().textContent).toBe('Stop and send')
    // The longer word has moved under the pointer: the second half of a double press is for Stop.
    it.go().click()
    expect([it.sent.length, it.box.value]).toEqual([1, 'More'])
    it.enter()
    expect(it.sent[1]).toMatchObject({ text: 'More', way: 'interrupt' })
  })

  test('another way is one press away and becomes the usual one', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.type('Then prune')
    it.host.querySelector<HTMLButtonElement>('.half')!.click()
    await until(() => it.host.querySelectorAll('[role=menuitem]').length === 2)
    expect([...it.host.querySelectorAll('[role=menuitem]')].map((one) => one.textContent)).toEqual(['Add to queue', 'Stop and send'])
    it.host.querySelector<HTMLButtonElement>('[role=menuitem]')!.click()
    expect(it.sent[0]).toMatchObject({ text: 'Then prune', way: 'queue' })
    expect(it.mode()).toBe('queue')
  })

  test('case 78: words that the run did not take come back into the box with the reason, and stop nothing', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.type('Wait')
    it.enter()
    it.sent[0]!.done({ taken: false, why: 'The answer was ending.' })
    await settle()
    expect(it.box.value).toBe('Wait')
    expect(it.strip()).toContain('The answer was ending.')
    expect(it.stops()).toBe(0)
    it.enter()
    expect(it.sent[1]).toMatchObject({ text: 'Wait', way: 'steer', key: it.sent[0]!.key })
  })

  test('case 82: a message that waits instead is gone from the box, and the box says so', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.type('Wait')
    it.enter()
    it.sent[0]!.done({ taken: true, say: 'Your message waits for its turn.' })
    await settle()
    expect(it.box.value).toBe('')
    expect(it.strip()).toContain('waits for its turn')
    expect(it.said.at(-1)).toContain('waits for its turn')
  })

  test('what was on its way without an answer goes the same way again, whatever the chat does by then', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.setMode('queue')
    it.type('Then prune')
    it.enter()
    it.sent[0]!.fail(new ProblemError(0, { code: 'offline', error: 'no' }))
    await settle()
    it.setRun(null)
    it.enter()
    expect(it.sent[1]).toMatchObject({ way: 'queue', key: it.sent[0]!.key })
  })

  test('a message that had turned into a waiting one before the answer was lost is not begun as a turn', async () => {
    const it = show()
    await settle()
    it.type('Go')
    it.enter()
    expect(it.sent[0]!.way).toBe('send')
    it.sent[0]!.going('queue')
    it.sent[0]!.fail(new ProblemError(0, { code: 'offline', error: 'no' }))
    await settle()
    it.enter()
    expect(it.sent[1]).toMatchObject({ way: 'queue', key: it.sent[0]!.key })
  })

  test('words of which it turns out that they had not arrived go the way that fits now', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.type('Go')
    it.enter()
    it.sent[0]!.fail(new ProblemError(0, { code: 'offline', error: 'no' }))
    await settle()
    it.setRun(null)
    it.enter()
    it.sent[1]!.done({ taken: false, why: 'ended' })
    await settle()
    expect(it.sent.map((one) => one.way)).toEqual(['steer', 'steer', 'send'])
    it.sent[2]!.done()
    await settle()
    expect(it.box.value).toBe('')
    expect(it.strip()).toBe('')
  })

  test('a refused word of a chat that was left becomes its draft', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.type('For the first chat')
    it.enter()
    it.setChat('ses_2')
    await settle()
    it.sent[0]!.done({ taken: false, why: 'ended' })
    await settle()
    expect(it.box.value).toBe('')
    it.setChat('ses_1')
    await settle()
    expect(it.box.value).toBe('For the first chat')
  })

  test('words that were given back stand below what is typed', async () => {
    const it = show()
    await settle()
    it.handle.give('given back')
    expect(it.box.value).toBe('given back')
    it.handle.give('and this')
    expect(it.box.value).toBe('given back\n\nand this')
    await it.drafts.append('ses_2', 'elsewhere')
    it.setChat('ses_2')
    await settle()
    expect(it.box.value).toBe('elsewhere')
  })

  test('words that were given back leave the box again only as long as nothing but them stands in it, and they were not sent from there', async () => {
    const it = show()
    await settle()
    it.handle.give('given back')
    it.handle.take('something else')
    expect(it.box.value).toBe('given back')
    it.handle.take('given back')
    expect([it.box.value, it.drafts.peek('ses_1')!.text]).toEqual(['', ''])
    it.handle.give('given back')
    it.type('given back, and more')
    it.handle.take('given back')
    expect(it.box.value).toBe('given back, and more')
    it.type('given back')
    it.enter()
    it.sent[0]!.fail(new TypeError('the network'))
    await settle()
    it.handle.take('given back')
    expect(it.box.value).toBe('given back')
  })

  test('case 76: a question card holds the box; its draft is kept and back afterwards', async () => {
    const it = show()
    await settle()
    it.type('half a')
    it.setRun({ stopping: false, since: 0 })
    it.setLocked(true)
    it.enter()
    expect(it.sent).toEqual([])
    expect(it.said.at(-1)).toContain('Answer the question above first')
    expect(it.box.readOnly).toBe(true)
    it.setLocked(false)
    expect(it.box.value).toBe('half a')
    it.enter()
    expect(it.sent).toHaveLength(1)
  })

  test('what was typed behind a first message goes along into the chat that it made', async () => {
    const it = show()
    it.setChat('new')
    await settle()
    it.type('First')
    it.enter()
    it.type('Second')
    it.setChat('ses_made')
    it.sent[0]!.done({ taken: true, chat: 'ses_made' })
    await settle()
    expect(it.box.value).toBe('Second')
    it.setChat('new')
    await settle()
    expect(it.box.value).toBe('')
  })

  test('keeps the text and says so while offline', async () => {
    const it = show()
    await settle()
    it.setOnline(false)
    it.type('Later')
    it.enter()
    expect(it.sent).toEqual([])
    expect(it.go().getAttribute('aria-disabled')).toBe('true')
    expect(it.host.textContent).toContain('Kept until you are back online')
    it.setOnline(true)
    it.enter()
    expect(it.sent).toHaveLength(1)
  })

  test('keeps one draft for each chat', async () => {
    const it = show()
    await settle()
    it.type('of one')
    it.setChat('ses_2')
    await settle()
    it.type('of two')
    it.setChat('ses_1')
    await settle()
    expect(it.box.value).toBe('of one')
  })
})
