import { afterEach, describe, expect, test } from 'vitest'
import { GUARD_MS } from '../../../../src/approvals/guard'
import { ProblemError } from '../../../../src/backend/port'
import { ask, cards, settle, type CardStage } from './stage'

let on: CardStage | undefined
afterEach(() => on?.leave())
const show = (...given: Parameters<typeof cards>) => (on = cards(...given))

describe('the permission card', () => {
  test('takes no press in its first moment, then one', () => {
    const card = show([ask('a')])
    card.button(/Allow/).click()
    expect(card.sent).toEqual([])
    card.pass(GUARD_MS)
    card.button(/Allow/).click()
    card.button(/Refuse/).click()
    expect(card.sent).toEqual([['a', 'once']])
    expect(card.button(/Allow/).getAttribute('aria-disabled')).toBe('true')
  })

  test('guards the next request anew, and says which of how many it is', () => {
    const card = show([ask('a'), ask('b')])
    expect(card.host.textContent).toContain('1 of 2')
    card.pass(GUARD_MS)
    card.setQuestions([ask('b')])
    card.button(/Allow/).click()
    expect(card.sent).toEqual([])
    card.pass(GUARD_MS)
    card.button(/Refuse/).click()
    expect(card.sent).toEqual([['b', 'deny']])
  })

  test('a press that was not taken can be repeated, with the reason beside it', async () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.answerWith(() => Promise.reject(new ProblemError(502, { code: 'relay_failed', error: 'not taken', words: 'pipe closed' })))
    card.button(/Allow/).click()
    await settle()
    expect(card.host.querySelector('[role=alert]')?.textContent).toBe('The agent did not take your answer and asks again. pipe closed')
    card.button(/Refuse/).click()
    expect(card.sent).toEqual([['a', 'once']])
    card.pass(GUARD_MS)
    card.button(/Refuse/).click()
    expect(card.sent).toEqual([['a', 'once'], ['a', 'deny']])
  })

  test('a request that is gone says so and takes nothing more', async () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.answerWith(() => Promise.reject(new ProblemError(409, { code: 'question_gone', error: 'gone' })))
    card.button(/Allow/).click()
    await settle()
    expect(card.host.textContent).toContain('no longer open')
    card.button(/Refuse/).click()
    expect(card.sent).toHaveLength(1)
  })

  test('takes no answer while the server cannot be reached', () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.setOnline(false)
    card.button(/Allow/).click()
    expect(card.sent).toEqual([])
    card.setOnline(true)
    card.button(/Allow/).click()
    expect(card.sent).toEqual([['a', 'once']])
  })

  test('Esc folds and never answers; opening guards anew', async () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.key('Escape', {}, card.button(/Allow/))
    expect(card.host.textContent).toContain('Do a')
    expect(card.button(/Allow/)).toBeUndefined()
    card.key('Enter')
    card.key('Backspace', { ctrlKey: true })
    expect(card.sent).toEqual([])
    card.button(/Open/).click()
    card.button(/Allow/).click()
    expect(card.sent).toEqual([])
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
    const card = show([ask('a')], { quiet: true })
    expect(card.button(/Allow/)).toBeUndefined()
    expect(card.host.textContent).toContain('Do a')
    await settle()
    card.setQuestions([])
    await settle()
    expect(card.gone()).toBe(1)
  })

  test('Ctrl Backspace refuses, but deletes a word where there is text', () => {
    const card = show([ask('a')])
    const box = document.body.appendChild(document.createElement('textarea'))
    card.pass(GUARD_MS)
    box.value = 'two words'
    card.key('Backspace', { ctrlKey: true }, box)
    expect(card.sent).toEqual([])
    box.value = ''
    card.key('Enter', {}, box)
    expect(card.sent).toEqual([])
    card.key('Backspace', { ctrlKey: true }, box)
    expect(card.sent).toEqual([['a', 'deny']])
  })

  test('takes the focus unless somebody writes', async () => {
    const box = document.body.appendChild(document.createElement('textarea'))
    box.focus()
    const card = show([ask('a')])
    await settle()
    expect(document.activeElement).toBe(box)
    box.blur()
    card.setQuestions([ask('b')])
    await settle()
    expect(document.activeElement).toBe(card.button(/Allow/))
  })

  test('is announced when it comes, and when it leaves without an answer', async () => {
    const card = show([ask('a')])
    await settle()
    expect(card.shouted).toEqual(['Permission needed: Do a: make all'])
    card.setQuestions([])
    await settle()
    expect(card.said.at(-1)).toBe('The question ended with its answer')
    expect(card.host.querySelector('.ask')).toBeNull()
  })
})
