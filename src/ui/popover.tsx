import { onCleanup, onMount, type JSX } from 'solid-js'

/** What a popover needs to know of its place: where to hang and how to leave. */
export interface PopoverProps {
  anchor: HTMLElement
  /** Which edge of the anchor it shares; above or below is chosen by room. */
  align?: 'start' | 'end'
  role: 'menu' | 'dialog'
  label: string
  class?: string
  onClose: () => void
  /** It is on screen: the focus may enter. */
  onOpen?: () => void
  onKey?: (key: KeyboardEvent) => void
  ref?: (element: HTMLDivElement) => void
  children: JSX.Element
}

const GAP = 6

/** The place of a float of size `float` at `anchor` inside `view`: beside the anchor, never outside the view. All in CSS px. */
export function placeOf(anchor: { left: number; right: number; top: number; bottom: number }, float: { width: number; height: number }, view: { width: number; height: number }, align: 'start' | 'end') {
  const below = view.height - anchor.bottom - GAP
  const above = anchor.top - GAP
  const under = below >= float.height || below >= above
  const top = under ? Math.min(anchor.bottom + GAP, view.height - float.height - GAP) : Math.max(GAP, anchor.top - GAP - float.height)
  const wanted = align === 'start' ? anchor.left : anchor.right - float.width
  return { top: Math.max(GAP, top), left: Math.max(GAP, Math.min(wanted, view.width - float.width - GAP)), room: Math.max(160, under ? below : above) - GAP }
}

/**
 * A float in the top layer, hung at an anchor (on phones: a sheet at the foot, by style). A press outside, Esc or leaving by Tab closes
 * it; the opener gets the focus back when it still is inside.
 */
export function Popover(props: PopoverProps) {
  let panel!: HTMLDivElement
  onMount(() => {
    const anchor = props.anchor
    const rtl = getComputedStyle(anchor).direction === 'rtl'
    const place = () => {
      const align = props.align ?? 'start'
      const { top, left, room } = placeOf(anchor.getBoundingClientRect(), panel.getBoundingClientRect(), { width: innerWidth, height: innerHeight }, rtl ? (align === 'start' ? 'end' : 'start') : align)
      panel.style.setProperty('--top', `${top}px`)
      panel.style.setProperty('--left', `${left}px`)
      panel.style.setProperty('--room', `${room}px`)
    }
    // Where there is no top layer, a fixed place does.
    if ('showPopover' in panel) panel.showPopover()
    place()
    props.onOpen?.()
    const outside = (press: Event) => {
      const target = press.target
      if (target instanceof Node && !panel.contains(target) && !anchor.contains(target)) props.onClose()
    }
    addEventListener('pointerdown', outside, true)
    addEventListener('resize', place)
    const sizes = new ResizeObserver(place)
    sizes.observe(panel)
    onCleanup(() => {
      removeEventListener('pointerdown', outside, true)
      removeEventListener('resize', place)
      sizes.disconnect()
      if (panel.contains(document.activeElement) || document.activeElement === document.body) anchor.focus()
    })
  })
  return (
    <div
      ref={(element) => {
        panel = element
        props.ref?.(element)
      }}
      popover="manual"
      // A press on something in it that takes no focus stays in it: else the page behind would take the focus, and the float would close before the press was over.
      tabindex="-1"
      class="pop"
      classList={{ [props.class ?? 'plain']: true }}
      role={props.role}
      aria-label={props.label}
      onKeyDown={(key) => {
        // What lies under the float in the document does not hear its keys.
        key.stopPropagation()
        if (key.key === 'Escape') {
          key.preventDefault()
          props.onClose()
          return
        }
        props.onKey?.(key)
      }}
      onFocusOut={(leave) => {
        const to = leave.relatedTarget
        if (to instanceof Node && !panel.contains(to) && to !== props.anchor) props.onClose()
      }}
    >
      {props.children}
    </div>
  )
}
