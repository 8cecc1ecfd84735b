import { createEffect, createSignal, on, type Accessor } from 'solid-js'
import { quickGet, quickSet } from './app-parts'
import type { QuickShelf } from './composer/drafts'
import { applyLook, LOOK_KEY, paintBar, parseLook, type Look } from './settings/look'
import { createMedia } from './ui/media'

/** The look of this device and what changes part of it; it is kept, and put on the page. */
export function createLook(quick: QuickShelf): [Accessor<Look>, (part: Partial<Look>) => void] {
  const [look, setLook] = createSignal<Look>(parseLook(quickGet(quick, LOOK_KEY)))
  createEffect(
    on(
      look,
      (now, before) => {
        if (before) quickSet(quick, LOOK_KEY, JSON.stringify(now))
        applyLook(now, document.documentElement)
      },
    ),
  )
  const dark = createMedia('(prefers-color-scheme: dark)')
  createEffect(on(dark, () => paintBar(document), { defer: true }))
  return [look, (part) => setLook((before) => ({ ...before, ...part }))]
}
