/** A command in pieces that may break between lines: at blanks outside quotes, so that an argument stays in one piece. Joined by blanks it is the command again. */
export function argumentsOf(command: string): string[] {
  const pieces: string[] = []
  let piece = ''
  let quote = ''
  for (const char of command) {
    if (quote) {
      if (char === quote) quote = ''
    } else if (char === '"' || char === "'") quote = char
    if (char === ' ' && !quote) {
      pieces.push(piece)
      piece = ''
    } else piece += char
  }
  pieces.push(piece)
  return pieces
}

/** Lines of a unified diff with what they are: added, deleted, a head, or context. */
export function diffLines(diff: string): { kind: 'a' | 'd' | 'h' | ''; text: string }[] {
  return diff.replace(/\n$/, '').split('\n').map((text) => ({
    kind: /^(@@|diff |index |---|\+\+\+)/.test(text) ? 'h' : text.startsWith('+') ? 'a' : text.startsWith('-') ? 'd' : '',
    text: text === '' ? ' ' : text,
  }))
}
