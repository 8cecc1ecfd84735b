/** How much of a text is looked at, in UTF-16 units: an answer may be long, its first sentence is near its beginning. */
const LOOK = 2000

/**
 * The first sentence of a Markdown text as one line of plain words, at most `length` UTF-16 units, never ending in half a character.
 * Marks of headings, lists, quotes, emphasis, code and links are left out; code blocks and rules are passed over. Empty when there are no words.
 */
export function firstSentence(text: string, length: number): string {
  let fence = ''
  for (const raw of text.slice(0, LOOK).split(/\r?\n/)) {
    const mark = /^\s*(```|~~~)/.exec(raw)?.[1]
    if (mark && (fence === '' || fence === mark)) {
      fence = fence ? '' : mark
      continue
    }
    if (fence) continue
    const words = plain(raw)
    if (!/[\p{L}\p{N}]/u.test(words)) continue
    return clip(/^.*?(?:[.!?…](?=\s)|[。！？])/u.exec(words)?.[0] ?? words, length)
  }
  return ''
}

/** One line of at most `length` UTF-16 units, shortened with an ellipsis, never ending in half a character. */
export function clip(text: string, length: number): string {
  const line = text.slice(0, 4 * length).replace(/\s+/gu, ' ').trim()
  if (line.length <= length) return line
  return `${line.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '').trimEnd()}…`
}

function plain(line: string): string {
  return line
    .replace(/^\s*(?:(?:>|#{1,6}(?=\s)|[-*+](?=\s)|\d{1,9}[.)](?=\s))\s*)+/, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\*{1,3}|~~|`+|(?<![\p{L}\p{N}])_{1,3}|_{1,3}(?![\p{L}\p{N}])/gu, '')
    .trim()
}
