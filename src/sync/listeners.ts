/** Who is told of a value. */
export interface Listeners<T> {
  /** Returns what ends it. */
  add(listener: (value: T) => void): () => void
  tell(value: T): void
}

export function makeListeners<T>(): Listeners<T> {
  const all = new Set<(value: T) => void>()
  return {
    add(listener) {
      all.add(listener)
      return () => all.delete(listener)
    },
    tell(value) {
      for (const listener of all) listener(value)
    },
  }
}
