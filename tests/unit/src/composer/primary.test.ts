import { describe, expect, test } from 'vitest'
import { sends, type EnterPress } from '../../../../src/composer/enter'
import { primaryOf, type BoxFacts } from '../../../../src/composer/primary'

const idle: BoxFacts = { text: '', working: false, stopping: false, online: true, ready: true, sending: false }

describe('the one button of the box', () => {
  test('is off with a reason while there is nothing to send', () => {
    expect(primaryOf(idle)).toEqual({ act: 'off', look: 'arrow', name: 'Write something first' })
    expect(primaryOf({ ...idle, text: ' \n ' }).act).toBe('off')
  })
  test('sends text', () => {
    expect(primaryOf({ ...idle, text: 'Hello' })).toEqual({ act: 'send', name: 'Send' })
  })
  test('stops a working chat, whatever stands in the box', () => {
    expect(primaryOf({ ...idle, working: true })).toEqual({ act: 'stop', name: 'Stop' })
    expect(primaryOf({ ...idle, working: true, text: 'And then' })).toEqual({ act: 'stop', name: 'Stop' })
  })
  test('cannot stop twice', () => {
    expect(primaryOf({ ...idle, working: true, stopping: true }).act).toBe('off')
  })
  test('is off offline and says that the text is kept', () => {
    const off = primaryOf({ ...idle, text: 'Hello', online: false })
    expect(off.act).toBe('off')
    expect(off.name).toContain('offline')
    expect(primaryOf({ ...idle, working: true, online: false }).act).toBe('off')
  })
  test('is off without a model and while a send is on its way', () => {
    expect(primaryOf({ ...idle, text: 'Hello', ready: false }).name).toBe('Connect a model first')
    expect(primaryOf({ ...idle, text: 'Hello', sending: true })).toMatchObject({ act: 'off', look: 'busy' })
  })
})

describe('Enter', () => {
  const press: EnterPress = { key: 'Enter', shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, isComposing: false, keyCode: 13 }
  test('sends with a keyboard and makes a line with Shift', () => {
    expect(sends(press, false)).toBe(true)
    expect(sends({ ...press, shiftKey: true }, false)).toBe(false)
  })
  test('makes a line with fingers, where Ctrl or Cmd Enter sends', () => {
    expect(sends(press, true)).toBe(false)
    expect(sends({ ...press, ctrlKey: true }, true)).toBe(true)
    expect(sends({ ...press, metaKey: true }, true)).toBe(true)
  })
  test('never sends while a word is being composed', () => {
    expect(sends({ ...press, isComposing: true }, false)).toBe(false)
    expect(sends({ ...press, keyCode: 229 }, false)).toBe(false)
  })
})
