/** Bytes of a stored name in UTF-8, below what any file system takes, with room for a number. */
const LONGEST = 200
const UNNAMED = 'file'

/**
 * A name that is safe as a file's name, made from one that a client claims (spec/server.md §11): the last part of a path, everything but letters, digits, `_`, `.` and
 * `-` becomes `_`; never empty, `.` or `..`; at most 200 bytes, and its ending survives the cut. Its letters may be of any script.
 */
export function safeName(claimed: string): string {
  const last = claimed.split(/[/\\]/).findLast((part) => part !== '') ?? ''
  const safe = last.normalize('NFC').replace(/[^\p{L}\p{M}\p{N}_.-]/gu, '_')
  if (/^\.*$/.test(safe)) return UNNAMED
  const { stem, ending } = partsOf(safe)
  return cut(stem, LONGEST - Buffer.byteLength(ending)) + ending
}

/** The n-th other name where this one is taken: `a.txt`, `a-1.txt`, `a-2.txt`. */
export function otherName(name: string, n: number): string {
  const { stem, ending } = partsOf(name)
  return n === 0 ? name : `${stem}-${n}${ending}`
}

/** What follows the last dot belongs to the ending, if it is short; a dot at the beginning begins a stem. */
function partsOf(name: string): { stem: string; ending: string } {
  const ending = /(?<=.)\.[^.]{1,16}$/u.exec(name)?.[0] ?? ''
  return { stem: name.slice(0, name.length - ending.length), ending }
}

function cut(text: string, bytes: number): string {
  let size = 0
  let kept = ''
  for (const character of text) {
    size += Buffer.byteLength(character)
    if (size > bytes) break
    kept += character
  }
  return kept
}
