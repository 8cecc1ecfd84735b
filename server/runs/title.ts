import type { SessionHead, TitleBy } from '../contract/session'
import { wellFormed } from './wellformed'

/** Length of a provisional title in UTF-16 units (settlement.md §0). */
export const PROVISIONAL_TITLE_LENGTH = 64
/** Length of any title. */
export const TITLE_LENGTH = 80

/** The title a chat has until a better one comes: the beginning of its first message, on one line (settlement.md §2.1, §3.13). */
export function provisionalTitle(text: string): string {
  return shorten(text, PROVISIONAL_TITLE_LENGTH)
}

/** One line of at most `length` units that ends with a whole character. */
export function shorten(text: string, length: number): string {
  const line = text.replace(/\s+/gu, ' ').trim()
  if (line.length <= length) return wellFormed(line)
  const end = /[\uD800-\uDBFF]/.test(line[length - 1]!) ? length - 1 : length
  return wellFormed(line.slice(0, end)).trimEnd()
}

const RANK: Record<TitleBy, number> = { provisional: 0, model: 1, agent: 2, person: 3 }

/** A title never replaces one of a higher rank: a person's beats all others (spec/log.md §3). */
export function mayTitle(head: Pick<SessionHead, 'titleBy'>, by: TitleBy): boolean {
  return RANK[by] >= RANK[head.titleBy]
}
