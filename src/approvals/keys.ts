import { onCleanup, onMount } from 'solid-js'

export interface AnswerKeys {
  /** A card stands open. */
  active: () => boolean
  /** It is inside the card. */
  inside: (target: Node) => boolean
  allow: () => void
  refuse: () => void
  /** The n-th choice, from 1. */
  number: (n: number) => void
  fold: () => void
}

/**
 * The keys of a card (design/LANGUAGE.md §9): Enter allows outside of text and of other controls, Ctrl Backspace refuses where there is no
 * text to delete, digits choose, Esc folds. Nothing counts under a dialog or a menu.
 */
export function listenForAnswers(keys: AnswerKeys): void {
  onMount(() => {
    const idle = () => !keys.active() || document.querySelector('dialog[open], .pop') !== null
    const onKey = (key: KeyboardEvent) => {
      if (idle() || key.isComposing) return
      const plain = !key.ctrlKey && !key.metaKey && !key.altKey
      if (key.key === 'Backspace' && (key.ctrlKey || key.metaKey) && !hasText(key.target)) {
        key.preventDefault()
        keys.refuse()
      } else if (key.key === 'Enter' && plain && !key.shiftKey && key.target === document.body) {
        key.preventDefault()
        keys.allow()
      } else if (plain && /^[1-9]$/.test(key.key) && !isText(key.target)) {
        // A digit that opens a field must not stand in it.
        key.preventDefault()
        keys.number(Number(key.key))
      }
    }
    // Before anybody else: the Esc that folds a card is not half of the two that stop a run.
    const onEscape = (key: KeyboardEvent) => {
      if (key.key !== 'Escape' || key.isComposing || idle()) return
      // A field elsewhere, such as that of a new title, has its own use for it.
      if (key.target instanceof HTMLInputElement && !keys.inside(key.target)) return
      key.preventDefault()
      key.stopPropagation()
      keys.fold()
    }
    addEventListener('keydown', onKey)
    addEventListener('keydown', onEscape, true)
    onCleanup(() => {
      removeEventListener('keydown', onKey)
      removeEventListener('keydown', onEscape, true)
    })
  })
}

function isText(target: EventTarget | null): boolean {
  return target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement || (target instanceof HTMLElement && target.isContentEditable)
}

/** Ctrl Backspace deletes a word where there is one. */
function hasText(target: EventTarget | null): boolean {
  return (target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement) && target.value !== ''
}
