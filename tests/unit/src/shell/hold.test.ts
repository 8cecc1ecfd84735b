import { createRoot, createSignal } from 'solid-js'
import { afterEach, expect, test } from 'vitest'
import { createHold } from '../../../../src/shell/hold'

let dispose: (() => void) | undefined
afterEach(() => dispose?.())
const [session, setSession] = createSignal<string | null>('ses_1')
const make = () =>
  createRoot((end) => {
    dispose = end
    return createHold(session)
  })
const press = (key: string) => dispatchEvent(new KeyboardEvent('keydown', { key }))

test('a secret that was typed holds the message box through every key of a secret', () => {
  const [held, setHeld] = make()
  expect(held()).toBe(false)
  setHeld(true)
  for (const key of ['A', '1', '/', 'Enter', 'Backspace', 'Shift']) press(key)
  expect(held()).toBe(true)
})

test.each(['Tab', 'Escape'])('it ends with %s, by which a person leaves the field', (key) => {
  const [held, setHeld] = make()
  setHeld(true)
  press(key)
  expect(held()).toBe(false)
})

test('it ends with another chat', () => {
  const [held, setHeld] = make()
  setHeld(true)
  setSession('ses_2')
  expect(held()).toBe(false)
})
