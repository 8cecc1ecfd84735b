import { t } from '../../i18n'

/** Limits of the sidebar's width, CSS px (design/LANGUAGE.md §3). */
export const SIDE = { min: 240, max: 440, step: 16 } as const

/** A width within the limits; anything else than a number is none. */
export function sideWidth(text: string | null): number | null {
  const width = Math.round(Number(text))
  return text && Number.isFinite(width) ? Math.max(SIDE.min, Math.min(SIDE.max, width)) : null
}

/** Gives the sidebar its width, or its usual one. Toasts keep clear of it, too: hence the root. */
export function applySideWidth(width: number | null): void {
  const { style } = document.documentElement
  if (width === null) style.removeProperty('--side-w')
  else style.setProperty('--side-w', `${width}px`)
}

/** The edge of the sidebar: dragged with a pointer, moved with the arrows, set back by a double press. `onWidth` gets what is to be kept, null for the usual width. */
export function Divider(props: { width: number | null; onWidth: (width: number | null) => void }) {
  let bar!: HTMLDivElement
  const shown = () => Math.round(bar.parentElement!.querySelector('.side')!.getBoundingClientRect().width)
  const sign = () => (getComputedStyle(bar).direction === 'rtl' ? -1 : 1)
  const to = (width: number) => sideWidth(String(width))
  return (
    <div
      ref={bar}
      class="divider"
      role="separator"
      tabindex="0"
      aria-orientation="vertical"
      aria-label={t('shell.sidebar.width')}
      aria-valuemin={SIDE.min}
      aria-valuemax={SIDE.max}
      aria-valuenow={props.width ?? 304}
      onPointerDown={(press) => {
        if (press.button !== 0) return
        press.preventDefault()
        bar.setPointerCapture(press.pointerId)
        const from = press.clientX
        const before = shown()
        let width = to(before)
        const move = (moved: PointerEvent) => applySideWidth((width = to(before + sign() * (moved.clientX - from))))
        const end = () => {
          bar.removeEventListener('pointermove', move)
          bar.removeEventListener('lostpointercapture', end)
          if (width !== to(before)) props.onWidth(width)
        }
        bar.addEventListener('pointermove', move)
        bar.addEventListener('lostpointercapture', end)
      }}
      onDblClick={() => props.onWidth(null)}
      onKeyDown={(key) => {
        const by = { ArrowLeft: -SIDE.step * sign(), ArrowRight: SIDE.step * sign(), Home: -SIDE.max, End: SIDE.max }[key.key]
        if (by === undefined) return
        key.preventDefault()
        props.onWidth(to(shown() + by))
      }}
    />
  )
}
