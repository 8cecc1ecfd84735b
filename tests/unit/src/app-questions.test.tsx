import { render } from 'solid-js/web'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { entryOf } from '../../../server/contract/listing'
import { App } from '../../../src/app'
import { GUARD_MS } from '../../../src/approvals/guard'
import { ProblemError, type Backend } from '../../../src/backend/port'
import { makeDrafts } from '../../../src/composer/drafts'
import { makeFakeSync } from '../../support/fake-sync'
import { Story } from '../../support/story'

let dispose: (() => void) | undefined
vi.setConfig({ testTimeout: 60_000 })
afterEach(() => {
  dispose?.()
  vi.unstubAllGlobals()
  document.body.replaceChildren()
})

const until = async (what: string, is: () => unknown) => {
  for (const end = Date.now() + 30_000; !is(); ) {
    if (Date.now() > end) throw new Error(`${what} did not happen: ${document.body.textContent}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
/** Past the first moment of a question; the page's clock counts whole milliseconds, a timer does not. */
const past = async () => {
  for (const begin = Date.now(); Date.now() - begin <= GUARD_MS; ) await pause(10)
}

/** The page with one open chat, told by a story; the server answers as the test says. */
function page(tell: (story: Story) => void, options: { phone?: boolean; drafts?: Record<string, string>; refuse?: Record<string, ProblemError> } = {}) {
  if (options.phone) vi.stubGlobal('matchMedia', (query: string) => ({ matches: query.includes('max-width: 640px'), addEventListener: () => undefined, removeEventListener: () => undefined }))
  history.replaceState(null, '', '/session/ses_1')
  const story = new Story('ses_1')
  tell(story)
  const sync = makeFakeSync()
  const show = () => {
    sync.chat('ses_1').set({ value: story.value })
    sync.setList([{ ...entryOf(story.value)!, rev: 1 }])
  }
  show()
  const calls: [string, Record<string, unknown>][] = []
  const backend = {
    call: (name: string, input: Record<string, unknown>) => {
      calls.push([name, input])
      const refusal = options.refuse?.[name]
      if (refusal) return Promise.reject(refusal)
      if (name === 'GET /health') return Promise.resolve({ agents: [] })
      if (name === 'GET /api/agents') return Promise.resolve({ agents: [], chosen: 'embedded', chosen_by: 'default' })
      return Promise.resolve(name === 'POST /api/approval/respond' ? { ok: true, choice: 'once' } : { ok: true })
    },
  } as unknown as Backend
  const shelf = new Map(Object.entries(options.drafts ?? {}))
  const quick = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined }
  const later = (ms: number, run: () => void) => {
    const id = setTimeout(run, Math.min(ms, 20))
    return () => clearTimeout(id)
  }
  const mintKey = () => 'key'
  const host = document.body.appendChild(document.createElement('div'))
  dispose = render(
    () => (
      <App
        parts={{
          sync, backend, mintKey, later, quick, host: 'box.example',
          drafts: makeDrafts({ shelf: { read: (chat) => Promise.resolve(shelf.get(chat) ?? ''), write: (chat, value) => Promise.resolve(void shelf.set(chat, value)) }, quick, now: Date.now, mintKey, later }),
          Transcript: (props) => <p>transcript of {props.chat.session}</p>,
          device: { install: () => 'no', askInstall: () => undefined, offline: () => 'none', used: () => Promise.resolve(null), update: () => null, copy: () => Promise.resolve(true) },
        }}
      />
    ),
    host,
  )
  const button = (name: RegExp) => [...document.body.querySelectorAll('button')].find((one) => name.test(one.getAttribute('aria-label') ?? one.textContent ?? ''))
  return {
    story, show, host, button,
    box: () => host.querySelector<HTMLTextAreaElement>('#message'),
    asked: () => host.querySelector('.ask'),
    called: (name: string) => calls.filter((call) => call[0] === name).map((call) => call[1]),
    answer: (text: string) => {
      const field = host.querySelector<HTMLTextAreaElement>('.ask textarea, .ask input')!
      field.value = text
      field.dispatchEvent(new Event('input', { bubbles: true }))
    },
  }
}

describe('what the open chat asks', () => {
  test('a permission is answered by the id of the choice, in its chat', async () => {
    const it = page((story) => story.ask('t', 'Go').tool('a').raise('a', 'apr_1', { choices: [{ id: 'x-7', kind: 'once' }] }))
    await until('the card', it.asked)
    await past()
    it.button(/Allow now/)!.click()
    expect(it.called('POST /api/approval/respond')).toEqual([{ session_id: 'ses_1', approval_id: 'apr_1', choice_id: 'x-7' }])
    await until('the tab says so', () => document.title.startsWith('● '))
  })

  test('a question holds the message box, and its answer goes by its id', async () => {
    const it = page((story) => story.ask('t', 'Go').clarify('q', 'clr_1', { choices: [] }))
    await until('the card', it.asked)
    expect(it.box()!.placeholder).toBe('Answer the question above first')
    await past()
    it.answer('Left')
    it.button(/^Answer/)!.click()
    expect(it.called('POST /api/clarify/respond')).toEqual([{ session_id: 'ses_1', clarify_id: 'clr_1', response: 'Left' }])
  })

  test('a secret goes once, and its refusal without a value', async () => {
    const it = page((story) => story.ask('t', 'Go').secret('q', 'sec_1'))
    await until('the card', it.asked)
    await past()
    it.answer('hush')
    it.button(/^Give it/)!.click()
    expect(it.called('POST /api/secret/respond')).toEqual([{ session_id: 'ses_1', secret_id: 'sec_1', value: 'hush' }])
    it.story.secret('q2', 'sec_2')
    it.story.give('q', 'sec_1').close('q')
    it.show()
    await until('the second', () => it.host.querySelector('.ask input') && it.button(/^Do not give it/)?.getAttribute('aria-disabled') !== 'true')
    await past()
    it.button(/^Do not give it/)!.click()
    expect(it.called('POST /api/secret/respond')[1]).toEqual({ session_id: 'ses_1', secret_id: 'sec_2', cancel: true })
  })

  test('on a phone the sheet stands in place of the box, and words that lose their question go below its draft', async () => {
    const it = page((story) => story.ask('t', 'Go').clarify('q', 'clr_1', { choices: [] }), { phone: true, drafts: { ses_1: JSON.stringify({ text: 'My draft', at: 1 }) } })
    await until('the sheet', it.asked)
    expect(it.box()).toBeNull()
    it.answer('Half an answ')
    await pause(0)
    it.story.say({ type: 'clarify.retired', clarify: 'clr_1', row: 'q', run: 't.run', why: 'expired' }).close('q', { state: 'cancelled' })
    it.show()
    await until('the box', () => it.box()?.value === 'My draft\n\nHalf an answ')
    expect(it.host.textContent).toContain('Time was up')
  })

  test('a half-written answer whose question ended while the page was away goes into the box', async () => {
    const it = page((story) => story.ask('t', 'Go').answer('a', 'Done').close('a').settle(), { drafts: { 'answer.ses_1': JSON.stringify({ text: JSON.stringify({ question: 'clr_old', text: 'Left, I think' }), at: 1 }) } })
    await until('the rescue', () => it.box()?.value === 'Left, I think')
  })
})

describe('a chat that allows everything', () => {
  test('is switched on after it said what that means, and ended by one press', async () => {
    const it = page((story) => story.ask('t', 'Go').answer('a', 'Done').close('a').settle())
    await until('the menu', () => it.button(/^More$/))
    it.button(/^More$/)!.click()
    await until('its entry', () => it.button(/^Allow everything here/))
    it.button(/^Allow everything here/)!.click()
    await until('the dialog', () => it.button(/^Allow everything$/))
    expect(document.body.textContent).toContain('whatever this account can')
    expect(it.called('POST /api/session/yolo')).toEqual([])
    it.button(/^Allow everything$/)!.click()
    expect(it.called('POST /api/session/yolo')).toEqual([{ session_id: 'ses_1', enabled: true }])
    it.story.say({ type: 'session.changed', approvals: 'all' })
    it.show()
    await until('the mark', () => it.host.querySelector('.chip.allows'))
    it.host.querySelector<HTMLElement>('.chip.allows')!.click()
    expect(it.called('POST /api/session/yolo')[1]).toEqual({ session_id: 'ses_1', enabled: false })
    it.story.say({ type: 'session.changed', approvals: 'ask' })
    it.show()
    await until('no mark', () => !it.host.querySelector('.chip.allows'))
  })

  test('a refusal stays in the dialog, in words', async () => {
    const it = page((story) => story.ask('t', 'Go').answer('a', 'Done').close('a').settle(), { refuse: { 'POST /api/session/yolo': new ProblemError(502, { code: 'relay_failed', error: 'no', words: 'the pipe broke' }) } })
    await until('the menu', () => it.button(/^More$/))
    it.button(/^More$/)!.click()
    await until('its entry', () => it.button(/^Allow everything here/))
    it.button(/^Allow everything here/)!.click()
    await until('the dialog', () => it.button(/^Allow everything$/))
    it.button(/^Allow everything$/)!.click()
    await until('the reason', () => document.body.querySelector('dialog')?.textContent.includes('the pipe broke'))
  })
})
