import { createSignal } from 'solid-js'
import { render } from 'solid-js/web'
import { afterEach, describe, expect, test } from 'vitest'
import { ApprovalCard } from '../../../../src/approvals/card'
import { GUARD_MS } from '../../../../src/approvals/guard'
import { ProblemError } from '../../../../src/backend/port'
import type { OpenApproval } from '../../../../src/sync/reactive'

let dispose: (() => void) | undefined
afterEach(() => {
  dispose?.()
  document.body.replaceChildren()
})

const ask = (id: string, part: Partial<OpenApproval> = {}): OpenApproval => ({
  id, row: `row_${id}`, run: 'run_1', raisedAt: 1, state: 'open', action: `Do ${id}`, tool: 'shell', command: 'make all', choices: [{ id: 'once', kind: 'once' }, { id: 'deny', kind: 'deny' }], ...part,
})

function show(first: OpenApproval[], quiet = false) {
  let now = 1000
  const [requests, setRequests] = createSignal(first)
  const [online, setOnline] = createSignal(true)
  const decided: [string, string][] = []
  const said: string[] = []
  let gone = 0
  let answer: (request: OpenApproval) => Promise<void> = () => new Promise(() => undefined)
  const host = document.body.appendChild(document.createElement('div'))
  dispose = render(
    () => (
      <ApprovalCard
        requests={requests()}
        online={online()}
        phone={false}
        quiet={quiet}
        onGone={() => void gone++}
        now={() => now}
        announce={(text) => said.push(text)}
        decide={(request, kind) => {
          decided.push([request.id, kind])
          return answer(request)
        }}
      />
    ),
    host,
  )
  const button = (name: RegExp) => [...host.querySelectorAll('button')].find((one) => name.test(one.textContent ?? '') || name.test(one.getAttribute('aria-label') ?? ''))!
  return {
    host, decided, said, button, gone: () => gone, setRequests, setOnline,
    pass: (ms: number) => {
      now += ms
    },
    answerWith: (next: typeof answer) => {
      answer = next
    },
    key: (key: string, init: KeyboardEventInit = {}, target: EventTarget = document.body) => target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...init })),
  }
}
const settle = () => new Promise((resolve) => setTimeout(resolve))

describe('the permission card', () => {
  test('takes no press in its first moment, then one', () => {
    const card = show([ask('a')])
    card.button(/Allow/).click()
    expect(card.decided).toEqual([])
    card.pass(GUARD_MS)
    card.button(/Allow/).click()
    card.button(/Refuse/).click()
    expect(card.decided).toEqual([['a', 'once']])
    expect(card.button(/Allow/).getAttribute('aria-disabled')).toBe('true')
  })

  test('guards the next request anew, and says which of how many it is', () => {
    const card = show([ask('a'), ask('b')])
    expect(card.host.textContent).toContain('1 of 2')
    card.pass(GUARD_MS)
    card.setRequests([ask('b')])
    card.button(/Allow/).click()
    expect(card.decided).toEqual([])
    card.pass(GUARD_MS)
    card.button(/Refuse/).click()
    expect(card.decided).toEqual([['b', 'deny']])
  })

  test('a press that was not taken can be repeated, with the reason beside it', async () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.answerWith(() => Promise.reject(new ProblemError(502, { code: 'relay_failed', error: 'The agent did not take it' })))
    card.button(/Allow/).click()
    await settle()
    expect(card.host.querySelector('[role=alert]')?.textContent).toContain('The agent did not take it')
    card.button(/Refuse/).click()
    expect(card.decided).toEqual([['a', 'once'], ['a', 'deny']])
  })

  test('a request that is gone says so and takes nothing more', async () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.answerWith(() => Promise.reject(new ProblemError(409, { code: 'question_gone', error: 'gone' })))
    card.button(/Allow/).click()
    await settle()
    expect(card.host.textContent).toContain('no longer open')
    card.button(/Refuse/).click()
    expect(card.decided).toHaveLength(1)
  })

  test('takes no answer while the server cannot be reached', () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.setOnline(false)
    card.button(/Allow/).click()
    expect(card.decided).toEqual([])
    card.setOnline(true)
    card.button(/Allow/).click()
    expect(card.decided).toEqual([['a', 'once']])
  })

  test('Esc folds and never answers; opening guards anew', async () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.key('Escape', {}, card.button(/Allow/))
    expect(card.host.textContent).toContain('Do a')
    expect(card.button(/Allow/)).toBeUndefined()
    card.key('Enter')
    card.key('Backspace', { ctrlKey: true })
    expect(card.decided).toEqual([])
    card.button(/Open/).click()
    card.button(/Allow/).click()
    expect(card.decided).toEqual([])
    await settle()
  })

  test('Esc folds from the message box, too, which keeps the focus, and counts for nothing else', async () => {
    const card = show([ask('a')])
    const box = document.body.appendChild(document.createElement('textarea'))
    box.focus()
    let heard = 0
    const hear = () => void heard++
    addEventListener('keydown', hear)
    card.key('Escape', {}, box)
    await settle()
    expect(card.button(/Allow/)).toBeUndefined()
    expect(document.activeElement).toBe(box)
    expect(heard).toBe(0)
    card.key('Escape', {}, box)
    expect(heard).toBe(1)
    removeEventListener('keydown', hear)
  })

  test('comes folded where somebody writes, and says when it went away', async () => {
    const card = show([ask('a')], true)
    expect(card.button(/Allow/)).toBeUndefined()
    expect(card.host.textContent).toContain('Do a')
    card.setRequests([])
    await settle()
    expect(card.gone()).toBe(1)
  })

  test('Ctrl Backspace refuses, but deletes a word where there is text', () => {
    const card = show([ask('a')])
    const box = document.body.appendChild(document.createElement('textarea'))
    card.pass(GUARD_MS)
    box.value = 'two words'
    card.key('Backspace', { ctrlKey: true }, box)
    expect(card.decided).toEqual([])
    box.value = ''
    card.key('Enter', {}, box)
    expect(card.decided).toEqual([])
    card.key('Backspace', { ctrlKey: true }, box)
    expect(card.decided).toEqual([['a', 'deny']])
  })

  test('takes the focus unless somebody writes', async () => {
    const box = document.body.appendChild(document.createElement('textarea'))
    box.focus()
    const card = show([ask('a')])
    await settle()
    expect(document.activeElement).toBe(box)
    box.blur()
    card.setRequests([ask('b')])
    await settle()
    expect(document.activeElement).toBe(card.button(/Allow/))
  })

  test('is announced when it comes, and when it leaves without an answer', () => {
    const card = show([ask('a')])
    expect(card.said).toEqual(['Permission needed: Do a'])
    card.setRequests([])
    expect(card.said.at(-1)).toBe('The request is no longer open')
    expect(card.host.querySelector('.ask')).toBeNull()
  })
})
