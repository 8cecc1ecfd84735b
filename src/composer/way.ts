/**
 * How a message goes to the server. While a run is live it is a word into it (`steer`), waits for its turn (`queue`), or stops the run and goes
 * next (`interrupt`); these do different things and are always written out (design/LANGUAGE.md §8).
 */
export type BusyWay = 'steer' | 'queue' | 'interrupt'
export type Way = 'send' | BusyWay

export const BUSY_WAYS: readonly BusyWay[] = ['steer', 'queue', 'interrupt']

/** The way that is usual on this device; anything else than one of the three is the usual one of new installs (spec/frontend.md §2.6). */
export function parseWay(text: string | null): BusyWay {
  return BUSY_WAYS.find((way) => way === text) ?? 'steer'
}

/** What became of a message that the server has answered. */
export type Delivered =
  /** `say`: words for the person where it went another way than was asked. `chat`: the one that it made. */
  | { taken: true; say?: string; chat?: string }
  /** The server keeps nothing of it. */
  | { taken: false; why: string }
