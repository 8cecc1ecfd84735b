import { afterEach, describe, expect, test } from 'vitest'
import { GUARD_MS } from '../../../../src/approvals/guard'
import { ProblemError } from '../../../../src/backend/port'
import { ask, cards, rowWith, settle, type CardStage } from './stage'

let on: CardStage | undefined
afterEach(() => on?.leave())
const show = (...given: Parameters<typeof cards>) => (on = cards(...given))
const names = () => [...on!.host.querySelectorAll('.acts button')].map((one) => one.textContent || one.getAttribute('aria-label'))
const problem = (status: number, code: 'relay_failed' | 'question_gone' | 'offline' | 'session_profile_mismatch', words?: string) => Promise.reject(new ProblemError(status, { code, error: 'no', ...(words ? { words } : {}) }))

describe('the choices of a permission', () => {
  test('are exactly those that are offered, in the agent’s words where it has some, and are answered by their id', () => {
    const card = show([ask('a', { choices: [{ id: 'x1', kind: 'once', label: 'Allow this edit' }, { id: 'x2', kind: 'session' }, { id: 'x3', kind: 'session', label: 'Allow all edits' }] })])
    expect(names()).toEqual(['Allow this editEnter', 'Allow in this chat', 'Allow all edits', 'More answers'])
    card.pass(GUARD_MS)
    card.key('Backspace', { ctrlKey: true })
    expect(card.sent).toEqual([])
    card.button(/Allow all edits/).click()
    expect(card.sent).toEqual([['a', 'x3']])
  })

  test('without a once, Enter allows nothing', () => {
    const card = show([ask('a', { choices: [{ id: 'x', kind: 'session' }, { id: 'n', kind: 'deny' }] })])
    card.pass(GUARD_MS)
    card.key('Enter')
    expect(card.sent).toEqual([])
  })

  test('what lasts says what it means, and is pressed once more, past the first moment; Back takes nothing', async () => {
    const card = show([ask('a', { choices: [{ id: 'o', kind: 'once' }, { id: 'al', kind: 'always', consequence: 'It is on the list for ever.' }, { id: 'n', kind: 'deny_always' }] })])
    card.pass(GUARD_MS)
    card.button(/More answers/).click()
    card.button(/^Always allow…$/).click()
    expect(card.sent).toEqual([])
    expect(card.host.textContent).toContain('It is on the list for ever.')
    await settle()
    expect(document.activeElement).toBe(card.button(/^Back$/))
    card.button(/^Always allow$/).click()
    card.key('Enter')
    expect(card.sent).toEqual([])
    card.button(/^Back$/).click()
    expect(card.host.textContent).not.toContain('for ever')
    card.button(/More answers/).click()
    card.button(/^Never allow…$/).click()
    // Without words of the agent it has ours.
    expect(card.host.textContent).toContain('From now on the agent is refused')
    card.pass(GUARD_MS)
    card.button(/^Never allow$/).click()
    expect(card.sent).toEqual([['a', 'n']])
  })

  test('on a phone they stand on the card itself', () => {
    show([ask('a', { choices: [{ id: 'o', kind: 'once' }, { id: 's', kind: 'session' }, { id: 'al', kind: 'always' }, { id: 'd', kind: 'deny' }] })], { phone: true })
    expect(names()).toEqual(['Allow now', 'Refuse', 'Allow in this chat', 'Always allow…'])
  })

  test('the part that made it ask is underlined, and the command stays whole', () => {
    const card = show([ask('a', { command: 'run --now --become', trigger: '--become' })])
    expect(card.host.querySelector('.cmd')!.textContent).toBe('run --now --become')
    expect(card.host.querySelector('.cmd u')!.textContent).toBe('--become')
  })
})

describe('several questions', () => {
  test('one that is not the first can be looked at and answered; the first stays', () => {
    const card = show([ask('a'), ask('b'), ask('c')])
    card.button(/The next question/).click()
    expect(card.host.textContent).toContain('2 of 3')
    expect(card.host.textContent).toContain('Do b')
    card.pass(GUARD_MS)
    card.button(/Refuse/).click()
    expect(card.sent).toEqual([['b', 'deny']])
  })

  test('what is asked next has no answers, and takes none by keys', () => {
    const card = show([ask('a', { waits: true }), ask('b')])
    expect(card.host.textContent).toContain('Do b')
    expect(card.host.querySelector('.next')!.textContent).toContain('Do a')
    card.setQuestions([ask('a', { waits: true })])
    card.pass(GUARD_MS)
    expect(names()).toEqual([])
    card.key('Enter')
    card.key('Backspace', { ctrlKey: true })
    expect(card.sent).toEqual([])
    expect(card.host.textContent).toContain('one answer at a time')
  })

  test('another one is announced calmly while the first stands', async () => {
    const card = show([ask('a')])
    await settle()
    card.setQuestions([ask('a'), ask('b')])
    await settle()
    expect(card.shouted).toHaveLength(1)
    expect(card.said).toEqual(['One more question waits: Do b: make all'])
  })
})

describe('a question that is decided elsewhere', () => {
  const decided = (kind: string, by: string) => rowWith('approval', { id: 'a', state: 'decided', kind, by, choice: 'x' })

  test('goes, and one line says what was done', async () => {
    const card = show([ask('a')])
    await settle()
    card.row('row_a', decided('always', 'person'))
    card.setQuestions([])
    await settle()
    expect(card.told).toEqual(['Always allowed on another device or in another window'])
    expect(card.gone()).toBe(1)
  })

  test('by itself says so; at the end of its run the run says enough', async () => {
    const card = show([ask('a'), ask('b')])
    await settle()
    card.row('row_a', decided('once', 'auto'))
    card.row('row_b', rowWith('approval', { id: 'b', state: 'retired', why: 'run_ended' }))
    card.setQuestions([])
    await settle()
    expect(card.told).toEqual(['Allowed by itself: this chat allows everything'])
  })

  test('answered by itself in the very moment it was raised, it was never asked', async () => {
    const card = show([])
    card.setQuestions([ask('a')])
    card.setQuestions([])
    await settle()
    expect([card.shouted, card.said, card.told]).toEqual([[], [], []])
  })

  test('an answer from here that comes too late is told, too', async () => {
    const card = show([ask('a')])
    await settle()
    card.pass(GUARD_MS)
    card.answerWith(() => problem(409, 'question_gone'))
    card.button(/Allow now/).click()
    card.row('row_a', decided('deny', 'person'))
    card.setQuestions([])
    await settle()
    expect(card.told).toEqual(['Refused on another device or in another window'])
  })
})

describe('an answer on its way', () => {
  test('keeps its card until it is known whether it was taken', async () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    let take = () => {}
    card.answerWith(() => new Promise((resolve) => (take = resolve)))
    card.button(/Allow now/).click()
    card.setQuestions([])
    expect(card.host.querySelector('.ask')).not.toBeNull()
    take()
    await settle()
    expect(card.host.querySelector('.ask')).toBeNull()
    expect(card.said.at(-1)).toBe('Allowed')
    expect(card.told).toEqual([])
  })

  test('a relay that failed asks anew on the same row: the reason stands on the new question, which is no news', async () => {
    const card = show([ask('a')])
    await settle()
    card.pass(GUARD_MS)
    card.answerWith(() => problem(502, 'relay_failed', 'EPIPE'))
    card.button(/Allow now/).click()
    card.setQuestions([ask('a2', { row: 'row_a' })])
    await settle()
    expect(card.host.querySelector('.fail')!.textContent).toContain('EPIPE')
    expect(card.shouted).toHaveLength(1)
    card.answerWith(() => Promise.resolve())
    card.pass(GUARD_MS)
    card.button(/Allow now/).click()
    expect(card.sent).toEqual([['a', 'once'], ['a2', 'once']])
    await settle()
    expect(card.host.querySelector('.fail')).toBeNull()
  })

  test('a chat of another profile keeps its card and says so', async () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.answerWith(() => problem(409, 'session_profile_mismatch'))
    card.button(/Allow now/).click()
    await settle()
    expect(card.host.querySelector('.fail')!.textContent).toContain('another profile')
    expect(card.button(/Allow now/).getAttribute('aria-disabled')).toBeNull()
  })

  test('while the run is being stopped nothing is taken', () => {
    const card = show([ask('a')])
    card.pass(GUARD_MS)
    card.setStopping(true)
    card.button(/Allow now/).click()
    expect(card.sent).toEqual([])
    expect(card.host.textContent).toContain('being stopped')
  })
})
