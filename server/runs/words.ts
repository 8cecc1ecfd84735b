import { wellFormed } from './wellformed'

/** Bound of foreign words on an error card, UTF-16 units (settlement.md §0). */
export const WORDS_LIMIT = 1200

/** What a thrown thing says, bounded. Never a stack. */
export function wordsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return wellFormed(text.length > WORDS_LIMIT ? text.slice(0, WORDS_LIMIT - 1) + '…' : text)
}
