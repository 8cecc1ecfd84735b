/** How far a swipe from the edge goes before it counts, CSS px (design/LANGUAGE.md §3; frontend.md §1.2). */
export const SWIPE = { edge: 24, claim: 10, open: 64, vertical: 84 } as const

export interface Swipe {
  /** A finger came down at `x` from the start side; false when the swipe does not begin there. */
  start(x: number, y: number): boolean
  /** How far the screen follows the finger: null while the swipe is not claimed, or once it is lost to scrolling. */
  move(x: number, y: number): number | null
  /** The finger left: true when one goes back. */
  end(): boolean
}

/** One finger's way, without the document. */
export function makeSwipe(): Swipe {
  let from: { x: number; y: number } | null = null
  let by = 0
  let claimed = false
  return {
    start(x, y) {
      from = x <= SWIPE.edge ? { x, y } : null
      by = 0
      claimed = false
      return from !== null
    },
    move(x, y) {
      if (!from) return null
      by = x - from.x
      const vertical = Math.abs(y - from.y)
      // What goes down more than sideways before it is claimed is scrolling.
      if (vertical > SWIPE.vertical || (!claimed && vertical > SWIPE.claim && vertical > by)) {
        from = null
        return null
      }
      claimed ||= by >= SWIPE.claim
      return claimed ? Math.max(0, by) : null
    },
    end() {
      const back = from !== null && claimed && by >= SWIPE.open
      from = null
      return back
    },
  }
}

/**
 * Lets a finger pull the screen of a detail aside to go back. `ready` says whether there is a way back now; returns what ends it. Nothing
 * waits for it: the style of `data-swipes` leaves sideways moves to it, except where the page is zoomed and needs them itself.
 */
export function listenForSwipe(app: HTMLElement, ready: () => boolean, back: () => void): () => void {
  const swipe = makeSwipe()
  const rtl = getComputedStyle(app).direction === 'rtl'
  const pane = () => app.querySelector<HTMLElement>('.pane')
  const zoomed = () => (visualViewport?.scale ?? 1) > 1.05
  const zoom = () => void app.toggleAttribute('data-swipes', !zoomed())
  const rest = () => {
    app.removeAttribute('data-swipe')
    pane()?.style.removeProperty('translate')
  }
  const at = (touch: Touch): [number, number] => [rtl ? innerWidth - touch.clientX : touch.clientX, touch.clientY]
  let on = false
  const start = (event: TouchEvent) => {
    rest()
    on = event.touches.length === 1 && ready() && !zoomed() && !document.querySelector('dialog[open], .pop') && swipe.start(...at(event.touches[0]!))
  }
  const move = (event: TouchEvent) => {
    if (!on) return
    const by = event.touches.length === 1 ? swipe.move(...at(event.touches[0]!)) : null
    if (by === null) {
      if (event.touches.length > 1) on = false
      return rest()
    }
    app.setAttribute('data-swipe', '')
    pane()?.style.setProperty('translate', `${rtl ? -by : by}px`)
  }
  const end = (event: TouchEvent) => {
    if (!on) return
    on = false
    rest()
    if (swipe.end() && event.type === 'touchend') back()
  }
  const heard = [['touchstart', start], ['touchmove', move], ['touchend', end], ['touchcancel', end]] as const
  for (const [name, hear] of heard) app.addEventListener(name, hear, { passive: true })
  visualViewport?.addEventListener('resize', zoom)
  zoom()
  return () => {
    for (const [name, hear] of heard) app.removeEventListener(name, hear)
    visualViewport?.removeEventListener('resize', zoom)
    app.removeAttribute('data-swipes')
    rest()
  }
}
