/** Typing that goes on without its field has ended once it rests this long, ms. */
const REST_MS = 1000

/**
 * The field into which somebody types has gone away: what is typed on blindly does nothing, until it rests or a pointer is pressed. A secret
 * must not run on into a message, an answer or a key of the page.
 */
export function swallowTyping(): void {
  let timer: ReturnType<typeof setTimeout>
  const end = () => {
    clearTimeout(timer)
    removeEventListener('keydown', swallow, true)
    removeEventListener('pointerdown', end, true)
  }
  const rest = () => {
    clearTimeout(timer)
    timer = setTimeout(end, REST_MS)
  }
  const swallow = (key: KeyboardEvent) => {
    if (key.key === 'Tab' || key.key === 'Escape') return end()
    key.preventDefault()
    key.stopImmediatePropagation()
    rest()
  }
  addEventListener('keydown', swallow, true)
  addEventListener('pointerdown', end, true)
  rest()
}
