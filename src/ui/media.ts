import { createSignal, onCleanup, type Accessor } from 'solid-js'

/** Follows a media query. False where there is none to ask. */
export function createMedia(query: string): Accessor<boolean> {
  const list = globalThis.matchMedia?.(query)
  const [matches, set] = createSignal(list?.matches ?? false)
  if (list) {
    const read = () => set(list.matches)
    list.addEventListener('change', read)
    onCleanup(() => list.removeEventListener('change', read))
  }
  return matches
}
