/** Limits of the sidebar's width, its usual width and a step of the arrows, CSS px (design/LANGUAGE.md §3). */
export const SIDE = { min: 240, max: 440, usual: 304, step: 16 } as const

/** A width within the limits; anything else than a number is none. */
export function sideWidth(text: string | null): number | null {
  const width = Math.round(Number(text))
  return text && Number.isFinite(width) ? Math.max(SIDE.min, Math.min(SIDE.max, width)) : null
}

export interface DividerParts {
  label: string
  /** What the width becomes while the edge is moved, and null for the usual one. */
  show: (width: number | null) => void
  /** What is to be kept of it. */
  keep: (width: number | null) => void
}

/**
 * Makes the edge of the sidebar one that can be dragged, moved with the arrows, and set back by a double press; returns what ends it. It
 * comes after the first paint, as plain nodes, so that nothing of it is loaded before.
 */
export function addDivider(side: HTMLElement, parts: DividerParts): () => void {
  const bar = document.createElement('div')
  const shown = () => Math.round(side.getBoundingClientRect().width)
  const sign = () => (getComputedStyle(side).direction === 'rtl' ? -1 : 1)
  const tell = () => bar.setAttribute('aria-valuenow', String(shown()))
  const set = (width: number | null, kept: boolean) => {
    parts.show(width)
    if (kept) parts.keep(width)
    tell()
  }
  const facts = { class: 'divider', role: 'separator', tabindex: 0, 'aria-orientation': 'vertical', 'aria-label': parts.label, 'aria-valuemin': SIDE.min, 'aria-valuemax': SIDE.max }
  for (const [name, value] of Object.entries(facts)) bar.setAttribute(name, String(value))
  bar.addEventListener('pointerdown', (press) => {
    if (press.button !== 0) return
    press.preventDefault()
    bar.setPointerCapture(press.pointerId)
    const from = press.clientX
    const before = shown()
    let width: number | null = null
    const move = (moved: PointerEvent) => set((width = sideWidth(String(before + sign() * (moved.clientX - from)))), false)
    bar.addEventListener('pointermove', move)
    bar.addEventListener(
      'lostpointercapture',
      () => {
        bar.removeEventListener('pointermove', move)
        if (width !== null) parts.keep(width)
      },
      { once: true },
    )
  })
  bar.addEventListener('dblclick', () => set(null, true))
  bar.addEventListener('keydown', (key) => {
    const by = { ArrowLeft: -SIDE.step * sign(), ArrowRight: SIDE.step * sign(), Home: -SIDE.max, End: SIDE.max }[key.key]
    if (by === undefined) return
    key.preventDefault()
    set(sideWidth(String(Math.max(1, shown() + by))), true)
  })
  side.append(bar)
  tell()
  return () => bar.remove()
}
