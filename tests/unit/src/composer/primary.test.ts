import { describe, expect, test } from 'vitest'
import { sends, type EnterPress } from '../../../../src/composer/enter'
import { otherWays, primaryOf, type BoxFacts } from '../../../../src/composer/primary'
import { parseWay } from '../../../../src/composer/way'

const idle: BoxFacts = { text: '', working: false, stopping: false, online: true, ready: true, sending: false, locked: false, mode: 'steer', steers: true }

describe('the one button of the box', () => {
  test('is off with a reason while there is nothing to send', () => {
    expect(primaryOf(idle)).toEqual({ act: 'off', look: 'arrow', name: 'Write something first' })
    expect(primaryOf({ ...idle, text: ' \n ' }).act).toBe('off')
  })
  test('sends text', () => {
    expect(primaryOf({ ...idle, text: 'Hello' })).toEqual({ act: 'send', name: 'Send' })
  })
  test('stops a working chat while the box is empty', () => {
    expect(primaryOf({ ...idle, working: true })).toEqual({ act: 'stop', name: 'Stop' })
  })
  test('case 86: text in a working chat steers, queues or interrupts as this device is set, in the same words', () => {
    const busy = { ...idle, working: true, text: 'And then' }
    expect(primaryOf(busy)).toEqual({ act: 'steer', name: 'Steer' })
    expect(primaryOf({ ...busy, mode: 'queue' })).toEqual({ act: 'queue', name: 'Add to queue' })
    expect(primaryOf({ ...busy, mode: 'interrupt' })).toEqual({ act: 'interrupt', name: 'Stop and send' })
    expect(otherWays({ ...busy, mode: 'queue' })).toEqual(['steer', 'interrupt'])
  })
  test('an agent that takes no words while it works is not offered any', () => {
    const busy = { ...idle, working: true, text: 'And then', steers: false }
    expect(primaryOf(busy)).toMatchObject({ act: 'queue' })
    expect(otherWays(busy)).toEqual(['interrupt'])
  })
  test('what is written while a run stops goes next', () => {
    const stopping = { ...idle, working: true, stopping: true, text: 'No, the other one' }
    expect(primaryOf(stopping)).toMatchObject({ act: 'interrupt' })
    expect(otherWays(stopping)).toEqual(['queue'])
  })
  test('is off while a question card holds the box, but a run can be stopped in its question', () => {
    expect(primaryOf({ ...idle, working: true, locked: true, text: 'kept' })).toMatchObject({ act: 'off', name: 'Answer the question above first' })
    expect(primaryOf({ ...idle, working: true, locked: true })).toMatchObject({ act: 'stop' })
  })
  test('a way that this device kept is read again, and nonsense is the usual one', () => {
    expect([parseWay('queue'), parseWay('interrupt'), parseWay('sing'), parseWay(null)]).toEqual(['queue', 'interrupt', 'steer', 'steer'])
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
