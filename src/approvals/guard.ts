/**
 * A card takes no press in its first moment, so that a press meant for something else does not answer it (design/LANGUAGE.md §8). The
 * moment starts anew for each request and each time the card is opened.
 */
export const GUARD_MS = 400

export interface Guard {
  /** A request came into sight. */
  shown(): void
  /** True when presses count. */
  armed(): boolean
}

export function makeGuard(now: () => number): Guard {
  let since = Infinity
  return {
    shown: () => {
      since = now()
    },
    armed: () => now() - since >= GUARD_MS,
  }
}
