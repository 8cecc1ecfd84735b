/** Time as sync knows it (law 13). */
export interface Clock {
  /** ms since the epoch. */
  now(): number
  /** Runs something once after `ms`; gives what calls it off. */
  after(ms: number, run: () => void): () => void
  /** Runs something once when the page has nothing better to do; gives what calls it off. */
  idle(run: () => void): () => void
}

/** What happens around a page and bears on its connection. Each subscription gives what ends it. */
export interface Surroundings {
  visible(): boolean
  onVisibility(listener: () => void): () => void
  /** The page came back from somewhere, or the network did: whatever connection there was is not to be trusted. */
  onDoubt(listener: () => void): () => void
  /** The page may be frozen or closed now: write what is not written. */
  onLeaving(listener: () => void): () => void
}
