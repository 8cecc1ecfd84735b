import type { Drawing } from './render'

/** More lines than this fold to `FOLD_TO` (design/LANGUAGE.md §8, code). */
export const FOLD_OVER = 40

export interface CodeNodes {
  figure: HTMLElement
  /** Holds one text node while the block grows. */
  code: HTMLElement
  /** Called when the number of lines is known anew; shows or hides the fold. */
  lines: (n: number) => void
}

/**
 * A code block: head with language and copy, text, and a fold that the style sheet closes unless the block was watched while it grew.
 * What a press does is decided by the transcript (`data-do`), so that thousands of blocks carry no listener.
 */
export function renderCode(drawing: Drawing, info: string, text: string): CodeNodes {
  const { document, words } = drawing
  const { language, title } = readInfo(info)
  const figure = document.createElement('figure')
  figure.className = 'tx-code'
  if (language) figure.dataset.lang = language

  const head = document.createElement('figcaption')
  const name = document.createElement('span')
  name.className = 'grow cut'
  name.textContent = title
  const copy = document.createElement('button')
  copy.type = 'button'
  copy.className = 'ib s tx-copy'
  copy.dataset.do = 'copy-code'
  copy.setAttribute('aria-label', words.copy)
  head.append(name, copy)

  const pre = document.createElement('pre')
  pre.tabIndex = 0
  pre.setAttribute('aria-label', words.code(title))
  pre.setAttribute('role', 'group')
  const code = document.createElement('code')
  code.textContent = text
  pre.append(code)
  figure.append(head, pre)

  let fold: HTMLButtonElement | null = null
  const lines = (n: number) => {
    if (n <= FOLD_OVER) return
    if (!fold) {
      fold = document.createElement('button')
      fold.type = 'button'
      fold.className = 'tx-fold'
      fold.dataset.do = 'fold-code'
      fold.setAttribute('aria-expanded', 'false')
      fold.dataset.less = words.showLess
      figure.classList.add('tx-folds')
      figure.append(fold)
    }
    fold.dataset.more = words.showAll(n)
    fold.textContent = fold.dataset.more
  }
  lines(countLines(text))
  return { figure, code, lines }
}

/** ` ```js title="x" ` and ` ```path/to/file.ts ` both occur; the first word is the language unless it is a file name. */
export function readInfo(info: string): { language: string; title: string } {
  const first = info.trim().split(/[\s{,]/)[0] ?? ''
  const named = /(?:title|file(?:name)?)="?([^"\s]+)"?/.exec(info)?.[1]
  if (/[\\/]|\w\.\w/.test(first)) return { language: first.split('.').at(-1)!.toLowerCase(), title: first }
  return { language: first.toLowerCase(), title: named ?? first.toLowerCase() }
}

export function countLines(text: string): number {
  let n = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) n++
  return n
}
