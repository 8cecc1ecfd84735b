import { onCleanup } from 'solid-js'

/** What the keys of design/LANGUAGE.md §9 do; each says whether it did something. */
export interface KeyActions {
  newChat: () => void
  messageBox: () => void
  sidebar: () => void
  settings: () => void
  /** To the next (1) or previous (−1) chat of the list. */
  chat: (by: 1 | -1) => void
  nextNeeding: () => void
  question: (by: 1 | -1) => void
  /** Esc: closes what is open. True when something was. */
  leave: () => boolean
  /** Esc twice within 0.8 s, with nothing open. */
  stop: () => void
}

export const TWICE_MS = 800

/** Listens on the page; single letters count only outside text, and nothing counts under a dialog or a menu. */
export function listenForKeys(page: Window, actions: KeyActions, now: () => number): void {
  let lastEscape = -Infinity
  const onKey = (key: KeyboardEvent) => {
    if (key.defaultPrevented || key.isComposing || page.document.querySelector('dialog[open], .pop')) return
    const mod = key.ctrlKey || key.metaKey
    const run = (action: () => void) => {
      key.preventDefault()
      action()
    }
    if (mod && key.shiftKey && key.key.toLowerCase() === 'o') return run(actions.newChat)
    if (mod && !key.shiftKey && key.key === '/') return run(actions.messageBox)
    if (mod && !key.shiftKey && key.key.toLowerCase() === 'b') return run(actions.sidebar)
    if (mod && !key.shiftKey && key.key === ',') return run(actions.settings)
    if (mod || key.altKey) return
    if (key.key === 'Escape') {
      if (actions.leave()) return key.preventDefault()
      const at = now()
      if (at - lastEscape <= TWICE_MS) {
        lastEscape = -Infinity
        return run(actions.stop)
      }
      lastEscape = at
      return
    }
    if (isText(key.target)) return
    if (key.key === 'j' || key.key === 'J') return run(() => actions.chat(1))
    if (key.key === 'k' || key.key === 'K') return run(() => actions.chat(-1))
    if (key.key === 'n' || key.key === 'N') return run(actions.nextNeeding)
    if (key.key === '[') return run(() => actions.question(-1))
    if (key.key === ']') return run(() => actions.question(1))
  }
  page.addEventListener('keydown', onKey)
  onCleanup(() => page.removeEventListener('keydown', onKey))
}

function isText(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || (target instanceof HTMLElement && target.isContentEditable)
}
