const LONE = /\p{Surrogate}/gu

/**
 * Words as they are sent to Hermes: half characters are left out, because one of them fails the whole turn (recording 10). Nothing else is changed: what
 * begins with `/` is an ordinary message to `prompt.submit`, which knows no commands.
 */
export function wellFormedWords(text: string): string {
  return text.replace(LONE, '')
}
