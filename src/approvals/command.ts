/**
 * A command in pieces: arguments, and the blanks and line ends between them. Joined they are the command again. A line may break between
 * pieces, and within a piece only where it does not fit, so that an argument stays together; a quoted text of several lines is plain text.
 */
export function argumentsOf(command: string): string[] {
  const pieces: string[] = []
  let piece = ''
  let quote = ''
  for (const char of command) {
    if (quote) {
      if (char === quote) quote = ''
    } else if (char === '"' || char === "'") quote = char
    if ((char === ' ' || char === '\n') && !quote) {
      pieces.push(piece, char)
      piece = ''
    } else piece += char
  }
  pieces.push(piece)
  return pieces.filter((one) => one !== '')
}

export interface Piece { text: string; blank: boolean; marked: boolean }

/** The same pieces with the part that made it ask marked, where the agent named it and it stands in the command. */
export function markedPieces(pieces: readonly string[], command: string, trigger?: string): Piece[] {
  const from = trigger ? command.indexOf(trigger) : -1
  const to = from < 0 ? -1 : from + trigger!.length
  const out: Piece[] = []
  let at = 0
  for (const piece of pieces) {
    const blank = piece === ' ' || piece.includes('\n')
    const cuts = [...new Set([0, Math.min(Math.max(from - at, 0), piece.length), Math.min(Math.max(to - at, 0), piece.length), piece.length])]
    for (let i = 1; i < cuts.length; i++) {
      const text = piece.slice(cuts[i - 1], cuts[i])
      out.push({ text, blank, marked: at + cuts[i - 1]! >= from && at + cuts[i]! <= to })
    }
    at += piece.length
  }
  return out
}

/** Lines of a unified diff with what they are: added, deleted, a head, or context. */
export function diffLines(diff: string): { kind: 'a' | 'd' | 'h' | ''; text: string }[] {
  return diff.replace(/\n$/, '').split('\n').map((text) => ({
    kind: /^(@@|diff |index |---|\+\+\+)/.test(text) ? 'h' : text.startsWith('+') ? 'a' : text.startsWith('-') ? 'd' : '',
    text: text === '' ? ' ' : text,
  }))
}
