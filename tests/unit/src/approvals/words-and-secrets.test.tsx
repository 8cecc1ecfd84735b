import { afterEach, describe, expect, test } from 'vitest'
import { GUARD_MS } from '../../../../src/approvals/guard'
import { placeOf } from '../../../../src/approvals/typed'
import { ProblemError } from '../../../../src/backend/port'
import { ask, cards, need, rowWith, settle, wonder, type CardStage } from './stage'

let on: CardStage | undefined
afterEach(() => on?.leave())
const show = (...given: Parameters<typeof cards>) => (on = cards(...given))
const field = () => on!.host.querySelector<HTMLTextAreaElement>('textarea')!
const refuse = (status: number, code: 'question_gone' | 'offline') => Promise.reject(new ProblemError(status, { code, error: 'no' }))

describe('a question to a person', () => {
  test('one press on a choice answers with its words; so does its number, outside of text', () => {
    const card = show([wonder('a')])
    card.pass(GUARD_MS)
    card.key('2', {}, document.body.appendChild(document.createElement('input')))
    expect(card.sent).toEqual([])
    card.key('2')
    card.button(/Gross/).click()
    expect(card.sent).toEqual([['a', 'Net']])
  })

  test('the number after the last choice goes to the field', async () => {
    const card = show([wonder('a')])
    card.pass(GUARD_MS)
    card.key('3')
    expect(document.activeElement).toBe(field())
    expect(card.sent).toEqual([])
    await settle()
  })

  test('Enter sends what was typed, Shift Enter is a line; with fingers Enter is a line and Ctrl Enter sends', () => {
    const card = show([wonder('a')])
    card.pass(GUARD_MS)
    card.type('  Both  ')
    card.key('Enter', { shiftKey: true }, field())
    card.key('Enter', { isComposing: true }, field())
    expect(card.sent).toEqual([])
    card.key('Enter', {}, field())
    expect(card.sent).toEqual([['a', 'Both']])
    card.leave()
    const touch = show([wonder('b')], { fingers: true })
    touch.pass(GUARD_MS)
    touch.type('Both')
    touch.key('Enter', {}, field())
    expect(touch.sent).toEqual([])
    touch.key('Enter', { ctrlKey: true }, field())
    expect(touch.sent).toEqual([['b', 'Both']])
  })

  test('takes no words where none are wanted, but always where there is no choice', () => {
    show([wonder('a', { free: false })])
    expect(field()).toBeNull()
    on!.leave()
    show([wonder('a', { free: false, choices: [] })])
    expect(field()).not.toBeNull()
  })

  test('case 74: with the network down, card and words stay', async () => {
    const card = show([wonder('a')])
    card.pass(GUARD_MS)
    card.type('Both')
    card.answerWith(() => refuse(0, 'offline'))
    card.key('Enter', {}, field())
    await settle()
    expect(field().value).toBe('Both')
    expect(card.host.querySelector('.fail')).not.toBeNull()
    expect(card.rescued).toEqual([])
  })

  test('case 73: when time is up, typed words go into the message box, and one line says so', async () => {
    const card = show([wonder('a')])
    card.type('Half an answ')
    await settle()
    card.row('row_a', rowWith('clarify', { id: 'a', state: 'retired', why: 'expired' }))
    card.setQuestions([])
    await settle()
    expect(card.rescued).toEqual(['Half an answ'])
    expect(card.told).toEqual(['Time was up: the question is no longer open', 'Your text stands in the message box'])
    expect(card.kept()).toBeNull()
  })

  test('case 136: words for a question that is gone stay in sight where a newer question takes words', async () => {
    const card = show([wonder('a')])
    card.type('Half')
    card.setQuestions([wonder('b')])
    await settle()
    expect(card.rescued).toEqual([])
    expect(field().value).toBe('Half')
    expect(card.sent).toEqual([])
  })

  test('an answer that was refused as gone is rescued once the question leaves', async () => {
    const card = show([wonder('a')])
    card.pass(GUARD_MS)
    card.type('Late')
    card.answerWith(() => refuse(409, 'question_gone'))
    card.key('Enter', {}, field())
    await settle()
    card.setQuestions([])
    await settle()
    expect(card.rescued).toEqual(['Late'])
  })

  test('an answer that was taken is nowhere else', async () => {
    const card = show([wonder('a')])
    card.pass(GUARD_MS)
    card.type('Both')
    expect(card.kept()).toEqual({ question: 'a', text: 'Both' })
    card.answerWith(() => Promise.resolve())
    card.key('Enter', {}, field())
    card.setQuestions([])
    await settle()
    expect([card.kept(), card.rescued]).toEqual([null, []])
  })

  test('what was typed is there again after a reload; without its question it goes into the box', async () => {
    show([wonder('a')], { kept: { question: 'a', text: 'Half' } })
    await settle()
    expect(field().value).toBe('Half')
    on!.leave()
    const card = show([], { kept: { question: 'a', text: 'Half' } })
    await settle()
    expect(card.rescued).toEqual(['Half'])
  })

  test('the focus goes on from a box that takes nothing now, never from words that stand there; and to a half-written answer', async () => {
    const box = document.body.appendChild(document.createElement('textarea'))
    box.value = 'half a message'
    box.readOnly = true
    box.focus()
    show([wonder('a')])
    await settle()
    expect(document.activeElement).toBe(box)
    on!.leave()
    document.body.append(box)
    box.value = ''
    box.focus()
    const card = show([wonder('a')])
    await settle()
    expect(document.activeElement).toBe(card.button(/Gross/))
    card.leave()
    show([wonder('a')], { kept: { question: 'a', text: 'Half' } })
    await settle()
    expect(document.activeElement).toBe(field())
  })

  test('words find their place by what is open', () => {
    const typed = { question: 'a', text: 'x' }
    expect(placeOf(typed, [wonder('a')])).toEqual({ to: 'stay' })
    expect(placeOf(typed, [ask('p'), wonder('b', { free: false }), wonder('c')])).toEqual({ to: 'question', question: 'c' })
    expect(placeOf(typed, [ask('p')])).toEqual({ to: 'box' })
    expect(placeOf({ question: 'a', text: '  ' }, [])).toEqual({ to: 'nowhere' })
  })
})

describe('a secret', () => {
  const input = () => on!.host.querySelector('input')!

  test('is handed on once and leaves its field at once; it is kept nowhere', () => {
    const card = show([need('a')])
    expect(input().type).toBe('password')
    expect(input().getAttribute('autocomplete')).toBe('one-time-code')
    card.type('hush')
    card.button(/Give it/).click()
    // Within the first moment nothing is taken, and nothing is lost.
    expect(input().value).toBe('hush')
    card.pass(GUARD_MS)
    card.button(/Give it/).click()
    expect(card.sent).toEqual([['a', 'hush']])
    expect(input().value).toBe('')
    expect(card.host.innerHTML).not.toContain('hush')
    expect(card.kept()).toBeNull()
  })

  test('can be refused', () => {
    const card = show([need('a')])
    card.pass(GUARD_MS)
    card.button(/Do not give it/).click()
    expect(card.sent).toEqual([['a', null]])
  })

  test('leaves its field when the page hides, when it folds, and when the question goes', async () => {
    const card = show([need('a')])
    const first = input()
    card.type('hush')
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
    Reflect.deleteProperty(document, 'visibilityState')
    expect(first.value).toBe('')
    card.type('hush')
    card.key('Escape', {}, first)
    expect(first.value).toBe('')
    card.button(/Open/).click()
    const second = input()
    expect(second.value).toBe('')
    card.type('hush')
    card.setQuestions([need('b')])
    expect(second.value).toBe('')
    expect(input().value).toBe('')
    await settle()
    expect(card.rescued).toEqual([])
  })

  test('that is being typed when its question goes runs on into nothing: no field, no answer, no key of the page, until it rests', async () => {
    const card = show([need('a')])
    await settle()
    input().focus()
    card.type('hus')
    card.setQuestions([wonder('b')])
    await settle()
    card.pass(GUARD_MS)
    expect(document.activeElement).toBe(card.host.querySelector('.ask'))
    let heard = 0
    const hear = () => heard++
    addEventListener('keydown', hear)
    for (const key of ['h', '1', 'Enter']) card.key(key, {}, document.activeElement!)
    expect([heard, card.sent]).toEqual([0, []])
    dispatchEvent(new Event('pointerdown'))
    card.key('1')
    removeEventListener('keydown', hear)
    expect([heard, card.sent]).toEqual([1, [['b', 'Gross']]])
  })

  test('that is being typed when the last question goes is told to the page; one that was given is not', async () => {
    const card = show([need('a')])
    await settle()
    card.pass(GUARD_MS)
    card.answerWith(() => Promise.resolve())
    input().focus()
    card.type('hush')
    card.key('Enter', {}, input())
    await settle()
    card.setQuestions([])
    await settle()
    expect([card.sent, card.gone(), card.blind()]).toEqual([[['a', 'hush']], 1, false])
    card.leave()
    const other = show([need('a')])
    await settle()
    input().focus()
    other.setQuestions([])
    await settle()
    expect([other.gone(), other.blind()]).toEqual([1, true])
    dispatchEvent(new Event('pointerdown'))
  })

  test('holds the message box from the first moment in its field, and lets it go only once it was given', async () => {
    const card = show([need('a')])
    await settle()
    input().focus()
    expect(card.typing.at(-1)).toBe(true)
    card.setQuestions([])
    await settle()
    expect(card.typing).not.toContain(false)
    dispatchEvent(new Event('pointerdown'))
    card.leave()
    const other = show([need('b')])
    await settle()
    other.pass(GUARD_MS)
    input().focus()
    other.type('hush')
    other.key('Enter', {}, input())
    expect(other.typing.at(-1)).toBe(false)
    // It was not taken: typed once more it holds once more.
    other.type('h')
    expect(other.typing.at(-1)).toBe(true)
  })

  test('can be looked at while it is typed', () => {
    const card = show([need('a')])
    card.button(/^Show$/).click()
    expect(input().type).toBe('text')
    card.button(/^Hide$/).click()
    expect(input().type).toBe('password')
  })
})
