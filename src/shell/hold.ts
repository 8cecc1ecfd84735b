import { createEffect, createSignal, on, onCleanup, type Accessor } from 'solid-js'

/**
 * Whether the message box takes nothing because a secret is being typed, or was when its field went away: what is typed on, however late, must
 * not become a message. It ends when the secret was given, when the person comes to the box by themselves (the caller says both), with Tab
 * or Esc, by which they leave the field, and with another chat.
 */
export function createHold(session: Accessor<string | null>): [Accessor<boolean>, (held: boolean) => void] {
  const [held, setHeld] = createSignal(false)
  createEffect(on(session, () => setHeld(false), { defer: true }))
  const leave = (key: KeyboardEvent) => {
    if (key.key === 'Tab' || key.key === 'Escape') setHeld(false)
  }
  addEventListener('keydown', leave, true)
  onCleanup(() => removeEventListener('keydown', leave, true))
  return [held, setHeld]
}
