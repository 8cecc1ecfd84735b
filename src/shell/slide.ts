import { createEffect, on, type Accessor } from 'solid-js'

/** A list that slid over the page takes the focus, and gives it back to what opened it. */
export function createSlide(open: Accessor<boolean>, frame: () => HTMLElement | undefined): void {
  createEffect(
    on(
      open,
      (now) => {
        const app = frame()
        const inside = app?.querySelector('.chats')?.contains(document.activeElement)
        if (now) app?.querySelector<HTMLElement>('.chats a[tabindex="0"]')?.focus({ preventScroll: true })
        else if (inside) app?.querySelector<HTMLElement>('.sect a')?.focus({ preventScroll: true })
      },
      { defer: true },
    ),
  )
}
