import { onCleanup } from 'solid-js'
import type { Stretch } from '../worker/colours'

/** Gives the stretches of a text, or null; rejects when the worker cannot be had. */
export type Colourer = (text: string, language: string) => Promise<Stretch[] | null>

/**
 * Colours complete code blocks when they come near the sight. Only colours change: no size, no text. Until the worker answers, and where
 * there is none, the block is plain. Ends with its owner.
 */
export function createHighlights(colourer: Colourer): (code: HTMLElement, language: string) => void {
  if (typeof IntersectionObserver !== 'function') return () => {}
  const languages = new WeakMap<Element, string>()
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue
        observer.unobserve(target)
        const text = target.textContent ?? ''
        void colourer(text, languages.get(target) ?? '').then(
          (stretches) => {
            if (stretches && target.isConnected && target.textContent === text) paint(target, text, stretches)
          },
          // A worker that cannot be loaded leaves the text plain; the page is whole without it.
          () => {},
        )
      }
    },
    { rootMargin: '50%' },
  )
  onCleanup(() => observer.disconnect())
  return (code, language) => {
    if (language === '' || !code.textContent) return
    languages.set(code, language)
    observer.observe(code)
  }
}

/** Puts the same text in, in coloured pieces. */
export function paint(code: Element, text: string, stretches: readonly Stretch[]): void {
  const document = code.ownerDocument
  const pieces = document.createDocumentFragment()
  let at = 0
  for (const [length, colour] of stretches) {
    const piece = text.slice(at, at + length)
    at += length
    if (colour === ' ') pieces.append(piece)
    else {
      const span = document.createElement('span')
      span.className = `hl-${colour}`
      span.textContent = piece
      pieces.append(span)
    }
  }
  if (at < text.length) pieces.append(text.slice(at))
  code.replaceChildren(pieces)
}
