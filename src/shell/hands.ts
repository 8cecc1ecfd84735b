import { createEffect, createSignal, onCleanup } from 'solid-js'
import { t } from '../../i18n'

/** What hands do with the frame is not needed for reading: it comes this long after the start, ms. */
const SETTLED_MS = 1500

export interface HandsParts {
  later: (ms: number, run: () => void) => () => void
  frame: () => HTMLElement | undefined
  fingers: () => boolean
  /** A swipe from the edge leads somewhere now. */
  swipes: () => boolean
  back: () => void
  /** The sidebar has an edge to pull at. */
  pulls: () => boolean
  /** The sidebar is so wide now, px; null gives it its own width. */
  show: (width: number | null) => void
  /** Hands let go of the edge: the width to keep. */
  keep: (width: number | null) => void
}

/** The swipe back and the edge of the sidebar; the parts that hold them are loaded after the first paint. */
export function createHands(parts: HandsParts): void {
  const [settled, setSettled] = createSignal(false)
  onCleanup(
    parts.later(SETTLED_MS, () => {
      setSettled(true)
      const app = parts.frame()
      if (!parts.fingers() || !app) return
      void import('./swipe').then(({ listenForSwipe }) => listenForSwipe(app, parts.swipes, parts.back), () => undefined)
    }),
  )
  createEffect(() => {
    if (!settled() || !parts.pulls()) return
    let remove: (() => void) | undefined
    let gone = false
    onCleanup(() => {
      gone = true
      remove?.()
    })
    void import('./divider').then(
      ({ addDivider }) => {
        const side = parts.frame()?.querySelector<HTMLElement>('.side')
        if (!gone && side) remove = addDivider(side, { label: t('shell.sidebar.width'), show: parts.show, keep: parts.keep })
      },
      () => undefined,
    )
  })
}
