import { createSignal } from 'solid-js'
import { render } from 'solid-js/web'
import { afterEach, describe, expect, test } from 'vitest'
import { ProblemError } from '../../../../src/backend/port'
import { Composer } from '../../../../src/composer/composer'
import { makeDrafts } from '../../../../src/composer/drafts'

let dispose: (() => void) | undefined
afterEach(() => {
  dispose?.()
  document.body.replaceChildren()
})
const settle = () => new Promise((resolve) => setTimeout(resolve))

function show() {
  const durable = new Map<string, string>()
  const quick = new Map<string, string>()
  let keys = 0
  const [chat, setChat] = createSignal('ses_1')
  const [online, setOnline] = createSignal(true)
  const [run, setRun] = createSignal<{ stopping: boolean; since: number } | null>(null)
  const sent: { text: string; key: string; done: () => void; fail: (error: unknown) => void }[] = []
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
        scripted={false}
        run={run()}
        online={online()}
        ready
        phone={false}
        fingers={false}
        skew={0}
        drafts={drafts}
        send={(text, key) => new Promise((done, fail) => sent.push({ text, key, done, fail }))}
        stop={() => {
          stops++
          return Promise.resolve()
        }}
        models={() => new Promise(() => undefined)}
        onModel={() => undefined}
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
    host, box, sent, said, setChat, setOnline, setRun,
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

  test('sends one message at a time', async () => {
    const it = show()
    await settle()
    it.type('One')
    it.enter()
    it.type('Two')
    it.enter()
    expect(it.sent.map((one) => one.text)).toEqual(['One'])
    expect(it.box.value).toBe('Two')
  })

  test('stops a working chat once, and Enter does not send into it', async () => {
    const it = show()
    await settle()
    it.setRun({ stopping: false, since: 0 })
    it.type('More')
    it.enter()
    expect(it.sent).toEqual([])
    expect(it.said.at(-1)).toContain('working')
    expect(it.go().getAttribute('aria-label')).toBe('Stop')
    it.go().click()
    it.go().click()
    expect(it.stops()).toBe(1)
    expect(it.box.value).toBe('More')
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
