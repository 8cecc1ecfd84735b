/**
 * A copy without the keys whose value is `undefined`. What the fold keeps must be the same whether an event came from memory or
 * through JSON, which drops such keys.
 */
export function present<T extends object>(value: T): T {
  const copy = {} as Record<string, unknown>
  for (const [key, held] of Object.entries(value)) if (held !== undefined) copy[key] = held
  return copy as T
}
