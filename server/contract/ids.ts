/**
 * Identity is minted at birth (law 3): every id is `<kind>_<time><random>`, sortable by time of birth,
 * made from a clock and a random source that are passed in. Ids are never guessed from text.
 */
export type IdKind = 'ses' | 'trn' | 'run' | 'row' | 'apr' | 'clr' | 'sec' | 'str' | 'que' | 'att' | 'evt'

/** Milliseconds since the epoch. */
export type Clock = () => number
/** A float in [0, 1), as `Math.random` gives. */
export type Random = () => number
/** Makes one id of a kind. Two ids of one minter are never equal, also within one millisecond. */
export type Mint = (kind: IdKind) => string

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

/** Ids of foreign origin (imports, the original's clients) are accepted only in this shape: it is safe as a path part and in a URL. */
export const PATH_SAFE_ID = /^[A-Za-z0-9_-]{1,128}$/

export function isPathSafeId(id: unknown): id is string {
  return typeof id === 'string' && PATH_SAFE_ID.test(id)
}

export function makeMint(now: Clock, random: Random): Mint {
  let last = 0
  let count = 0
  return (kind) => {
    const time = Math.max(now(), last)
    count = time === last ? count + 1 : 0
    last = time
    let tail = ''
    for (let i = 0; i < 10; i++) tail += DIGITS[Math.floor(random() * 36)]
    return `${kind}_${base36(time, 9)}${base36(count, 3)}${tail}`
  }
}

function base36(n: number, width: number): string {
  return Math.floor(n).toString(36).padStart(width, '0')
}

/**
 * The place after `last` in display order: a string compared by code unit (spec/log.md §4).
 * `''` means "before everything" and is never given out. Keys are a length digit and a base-36 integer, so
 * that appending is always possible and a key between two neighbours can be made by suffixing.
 */
export function posAfter(last: string): string {
  if (last === '') return '10'
  const width = DIGITS.indexOf(last[0]!)
  const next = parseInt(last.slice(1, 1 + width), 36) + 1
  const digits = next.toString(36)
  return DIGITS[digits.length] + digits
}

/**
 * Places for rows that come between `after` and the place that follows it, in order: `after` with a suffix, which no place made by `posAfter` has (spec/log.md §4).
 * `after` is the last place before the gap, so nothing stands between it and the first of them.
 */
export function posBehind(after: string, count: number): string[] {
  const places: string[] = []
  let suffix = ''
  for (let i = 0; i < count; i++) places.push(after + (suffix = posAfter(suffix)))
  return places
}

/** Display order of two positions: by code unit, never by locale. */
export function comparePos(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
