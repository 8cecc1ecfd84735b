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

/** Lines of a unified diff with what they are: added, deleted, a head, or context. */
export function diffLines(diff: string): { kind: 'a' | 'd' | 'h' | ''; text: string }[] {
  return diff.replace(/\n$/, '').split('\n').map((text) => ({
    kind: /^(@@|diff |index |---|\+\+\+)/.test(text) ? 'h' : text.startsWith('+') ? 'a' : text.startsWith('-') ? 'd' : '',
    text: text === '' ? ' ' : text,
  }))
}
